/** Planted into what a worker writes to its disk, and what it makes of it after a crash. */
const recordedNothing = {
  file: 'src/worker/claimed.ts',
  find: 'const written = spool.recordClaim(records);',
  replace: 'const written = Promise.resolve(records);',
};

export const faults = [
  {
    name: 'reports are not written to the disk',
    file: 'src/worker/on-disk.ts',
    find: "'write-report') this.#writes.write(held, effect.report);",
    replace: "'write-report') this.#attempts.feed(held, { kind: 'report-written' });",
    cases: [
      'spool/report-before-sending',
      'spool/accepted-unheard',
      'spool/failure-before-sending',
      'spool/restart-loop',
      'spool/outage-and-restart',
      'signals/nobody-answers',
    ],
  },
  {
    name: 'a claimed attempt is not written to the disk',
    ...recordedNothing,
    cases: [
      'spool/record-before-start',
      'spool/killed-while-running',
      'spool/killed-before-effect',
      'spool/killed-at-the-gate',
      'spool/killed-many',
      'spool/lost-before-sending',
    ],
  },
  {
    name: 'that a handler begins is not written to the disk',
    file: 'src/worker/on-disk.ts',
    find: '      this.#ctx.ports.spool.markBegun(held.attempt.attemptId, host),',
    replace: '      host,',
    cases: ['spool/killed-while-running', 'spool/killed-at-the-gate', 'spool/killed-many'],
  },
  {
    name: 'the lost of a restarted worker is not written to the disk',
    file: 'src/worker/recovery.ts',
    find: '        run.reports.add(run.attempts.addReported(record, report, written));',
    replace:
      "        run.reports.add(run.attempts.addReported(record, { ...report, message: written.file + ctx.id('ses') }, written));",
    cases: ['spool/lost-before-sending'],
  },
  {
    name: 'the lost of a restarted worker tells nothing but its reason',
    file: 'src/worker/recovery.ts',
    find: 'lostAfterRestart(record, record.begun, lostEvidence(record, spool.predecessor, old));',
    replace:
      '((one) => ({ ...one, message: undefined, details: undefined }))(lostAfterRestart(record, record.begun, lostEvidence(record, spool.predecessor, old)));',
    cases: ['spool/evidence'],
  },
  {
    name: 'the lost of a restarted worker says that the one before left in order',
    file: 'src/core/lost-evidence.ts',
    find: '? { went: last.went, pid',
    replace: "? { went: 'in-order', pid",
    cases: ['spool/evidence'],
  },
];
