/** Planted into what a control plane makes of an outcome that carries its start. */
const ALIVE = 'src/core/task-report-alive.ts';

export const faults = [
  {
    name: 'the start of an outcome is left out',
    file: ALIVE,
    find: 'if (start === undefined || isGate)',
    replace: 'if (start !== undefined || isGate)',
    cases: ['carried-start/taken'],
  },
  {
    name: 'the start of an outcome stands in the journal a second time',
    file: ALIVE,
    find: "counts(nowMs, task, attempt, 'start', ",
    replace: "counts(nowMs, task, { ...attempt, countedAtMs: undefined }, 'start', ",
    cases: ['carried-start/once'],
  },
  {
    name: 'the start of an outcome opens a gate',
    file: ALIVE,
    find: 'if (start === undefined || isGate)',
    replace: 'if (start === undefined)',
    cases: ['carried-start/no-gate'],
  },
  {
    name: 'the start of an outcome is part of the report',
    file: 'src/control-plane/report.ts',
    find: 'raw.start !== undefined && outcomeOps.has(op)',
    replace: 'raw.start !== undefined && !outcomeOps.has(op)',
    cases: ['carried-start/same-report'],
  },
  {
    name: 'an outcome is refused whose start cannot be read',
    file: 'src/contract/start-in-outcome.ts',
    find: '  .optional()\n  .catch(undefined)',
    replace: '  .optional()',
    cases: ['carried-start/odd'],
  },
];
