/** Planted into how a worker stands to its sessions, its hints, and a control plane that is another or away. */
const WORKER = 'src/worker/worker.ts';
const CONTEXT = 'src/worker/context.ts';
const HINTS = 'src/worker/hint-loop.ts';
const STREAM = 'src/transports/hint-stream.ts';
const LOOP = 'src/worker/claim-loop.ts';
const ANSWER = 'src/core/report-answer.ts';

export const faults = [
  {
    name: 'claims do not name the sessions before',
    file: LOOP,
    find: '...(ports.spool.earlierSessions.length === 0\n',
    replace: '...(ports.spool.earlierSessions.length >= 0\n',
    cases: ['sessions/fresh'],
  },
  {
    name: 'SESSION_SUPERSEDED is overlooked',
    file: WORKER,
    find: "    if (this.#special !== undefined) return;\n    this.#special = { why: 'superseded'",
    replace:
      "    if (this.#special === undefined) return;\n    this.#special = { why: 'superseded'",
    cases: [
      'sessions/superseded-claim',
      'sessions/superseded-presence',
      'sessions/superseded-start',
    ],
  },
  {
    name: 'a superseded worker ends as if all were well',
    file: WORKER,
    find: "    this.#special = { why: 'superseded', detail: why };\n",
    replace: '',
    cases: [
      'sessions/superseded-claim',
      'sessions/superseded-presence',
      'sessions/superseded-start',
    ],
  },
  {
    name: 'a second process on a state folder throws both out with code 0',
    file: 'src/cli/exit-codes.ts',
    find: "'spool-locked': { code: 81,",
    replace: "'spool-locked': { code: 0,",
    cases: ['sessions/second-process'],
  },
  {
    name: 'nothing is claimed without hints',
    file: LOOP,
    find: '    if (workWanted) return Math.max(soonest, this.#withReport());\n',
    replace:
      '    if (workWanted) return Math.max(soonest, this.#withReport());\n    if (!hintsWork) return Number.POSITIVE_INFINITY;\n',
    cases: ['hints/refused', 'hints/silent'],
  },
  {
    name: 'hint streams are opened in a loop',
    file: HINTS,
    find: '      await clock.sleep(pause, this.#abort.signal);',
    replace: '      await clock.sleep(Math.min(pause, 20), this.#abort.signal);',
    cases: ['hints/refused', 'hints/looping'],
  },
  {
    name: 'a hint that is no JSON ends the worker',
    file: STREAM,
    find: '  } catch {\n    return {};\n  }',
    replace:
      '  } catch (error) {\n    queueMicrotask(() => {\n      throw error;\n    });\n    return {};\n  }',
    cases: ['hints/garbage'],
  },
  {
    name: 'a hint stops handlers by itself',
    file: 'src/worker/renew-loop.ts',
    find: '    held.renewAt = Math.min(held.renewAt, soonest);',
    replace: "    this.#attempts.feed(held, { kind: 'cancel-requested' });",
    cases: ['hints/not-the-truth'],
  },
  {
    name: 'any version of the contract will do',
    file: CONTEXT,
    find: 'if (!info.contracts.includes(CONTRACT_VERSION)) {',
    replace: 'if (info.contracts.length === 0) {',
    cases: ['discovery/other-version'],
  },
  {
    name: 'only the first version of `contracts` is looked at',
    file: CONTEXT,
    find: 'if (!info.contracts.includes(CONTRACT_VERSION)) {',
    replace: 'if (info.contracts[0] !== CONTRACT_VERSION) {',
    cases: ['discovery/more-versions'],
  },
  {
    name: 'an unknown field in an answer makes it none',
    file: 'src/contract/worker-calls.ts',
    find: 'export const claimAnswer = z\n  .looseObject({',
    replace: 'export const claimAnswer = z\n  .strictObject({',
    cases: ['discovery/unknown-fields'],
  },
  {
    name: 'a page in place of discovery stops the worker',
    file: 'src/worker/discovery-loop.ts',
    find: "    if (answer.kind === 'ok') {\n",
    replace:
      "    if (answer.kind === 'no-answer') this.#ctx.onOtherContract([]);\n    if (answer.kind === 'ok') {\n",
    cases: ['discovery/foreign-page'],
  },
  {
    name: 'leases are counted on the clock of the control plane',
    file: LOOP,
    find: 'take(answer.value.attempts, leasesFrom, max)',
    replace:
      'take(answer.value.attempts, answer.sentAt + Date.parse(answer.value.serverTime) - clock.wall(), max)',
    cases: ['discovery/skewed-clocks'],
  },
  {
    name: '426 to a report does not pause the claims',
    file: ANSWER,
    find: 'if (status === 401 || status === 403 || status === 404 || status === 426)',
    replace: 'if (status === 401 || status === 403 || status === 404)',
    cases: ['discovery/version-refused'],
  },
  {
    name: 'a report that cannot be sent is put aside',
    file: ANSWER,
    find: "  if (answer.kind === 'no-answer') return { kind: 'keep', because: 'no-answer', why: answer.why };",
    replace: "  if (answer.kind === 'no-answer') return { kind: 'refused' };",
    cases: ['restarts/at-work', 'restarts/torn'],
  },
];
