/** Planted into claims that wait for work. */
const CLAIM = 'src/control-plane/claim.ts';

export const faults = [
  {
    name: 'no claim waits',
    file: 'src/control-plane/routes/worker.ts',
    find: 'const waits = (asked.waitMs ?? 0) > 0 &&',
    replace: 'const waits = (asked.waitMs ?? 0) > 60_000 &&',
    cases: ['claims-waiting/in-vain', 'claims-waiting/work-comes'],
  },
  {
    name: 'a claim that waits is told of nothing',
    file: 'src/control-plane/app.ts',
    find: 'safely(() => waiting.take(notes))',
    replace: 'safely(() => waiting.take([]))',
    cases: ['claims-waiting/work-comes', 'claims-waiting/superseded', 'claims-waiting/drain'],
  },
  {
    name: 'a claim for nothing is not remembered',
    file: CLAIM,
    find: '    await tx.addClaim(\n',
    replace: '    if (request.max > 0) await tx.addClaim(\n',
    cases: ['claims-waiting/ended'],
  },
  {
    name: 'what a claim that waited has got is not remembered',
    file: CLAIM,
    find: '    await tx.addClaim(\n',
    replace: '    if (waiting === undefined) await tx.addClaim(\n',
    cases: ['claims-waiting/repeated'],
  },
  {
    name: 'a claim waits on whose caller has gone',
    file: 'src/control-plane/claim-wait.ts',
    find: "signal.addEventListener('abort', gone, { once: true });",
    replace: '',
    cases: ['claims-waiting/gone'],
  },
];
