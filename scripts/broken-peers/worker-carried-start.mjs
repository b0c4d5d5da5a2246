/** Planted into how a worker lets its outcomes carry their start. */
const PENDING = 'src/worker/pending-report.ts';

export const faults = [
  {
    name: 'outcomes carry their start where that is no feature',
    file: PENDING,
    find: 'features.includes(START_IN_OUTCOME)',
    replace: 'features !== undefined',
    cases: ['gates/start-not-offered'],
  },
  {
    name: 'a start goes in front of the outcome that carries it too',
    file: PENDING,
    find: 'owed.filter((word) => word !== this.#start)',
    replace: 'owed',
    cases: ['gates/start-in-outcome'],
  },
];
