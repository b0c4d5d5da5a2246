/** Why nobody outside can see whether a promise is kept, and what of this project checks it instead. */
export interface Unseen {
  /** The rest of a sentence: `Not seen from outside: …`. */
  readonly why: string;
  /** The test file. */
  readonly test: string;
}

/** Promises that no case of a kit can check. A case that can takes its line out of here. */
export const unseen: Readonly<Record<string, Unseen>> = {
  '1.35': {
    why: 'a kit cannot start the control plane again',
    test: 'test/control-plane/fencing.test.ts',
  },
  '2.27': {
    why: 'a worker may tell a change of its state at any time',
    test: 'test/worker/session-and-key.test.ts',
  },
  '2.29': {
    why: 'a kit does not wait for a day',
    test: 'test/control-plane/sessions.test.ts',
  },
  '2.30': {
    why: 'a kit cannot change a handler while a claim is on its way',
    test: 'test/worker/handler-changed.test.ts',
  },
  '4.4': {
    why: 'the handlers that a kit asks for call it only where there is a gate',
    test: 'test/core/attempt.table.test.ts',
  },
  '5.3': {
    why: 'a kit cannot make a disk refuse',
    test: 'test/worker/disk.test.ts',
  },
  '5.7': {
    why: 'the bound is the worker’s own',
    test: 'test/core/attempt-report.test.ts',
  },
  '5.11': {
    why: 'it takes a process that hangs in the kernel',
    test: 'test/carriers/orphans.test.ts',
  },
  '5.22': {
    why: 'it takes a process that hangs in the kernel',
    test: 'test/worker/recovery.test.ts',
  },
  '5.53': {
    why: 'which values a handler can return depends on its language',
    test: 'test/contract/json.test.ts',
  },
  '5.54': {
    why: 'which values a handler can return depends on its language',
    test: 'test/carriers/carrier.cases.ts',
  },
  '5.55': {
    why: 'which texts a handler can hold depends on its language',
    test: 'test/carriers/carrier.cases.ts',
  },
  '5.56': {
    why: 'the handlers that a kit asks for have codes of their own and no schemas',
    test: 'test/carriers/carrier.cases.ts',
  },
  '5.57': {
    why: 'how often is again and again, and how long is a while, is the worker’s own choice',
    test: 'test/worker/type-pauses.test.ts',
  },
  '5.58': {
    why: 'it is told in words, for people',
    test: 'test/worker/disk.test.ts',
  },
  '5.59': {
    why: 'the handlers that a kit asks for say little',
    test: 'test/worker/words.test.ts',
  },
  '6.30': {
    why: 'it is about our clients, and the kits play clients of their own',
    test: 'test/client/operator.test.ts',
  },
  '7.6': {
    why: 'it is about clients, and the kits play clients of their own',
    test: 'test/client/reads.test.ts',
  },
  '9.13': {
    why: 'differences of nanoseconds drown in the network',
    test: 'test/control-plane/constant-time.test.ts',
  },
  '9.21': {
    why: 'that nobody can guess it is a matter of how it is made',
    test: 'test/control-plane/lease-token.test.ts',
  },
  '9.28': {
    why: 'a proxy before it may wait for the sender in its place',
    test: 'test/control-plane/socket-limits.test.ts',
  },
  '9.30': {
    why: 'it takes thousands of connections, which others on that system would feel',
    test: 'test/control-plane/socket-limits.test.ts',
  },
  '9.31': {
    why: 'a kit cannot start the control plane',
    test: 'test/control-plane/serve.test.ts',
  },
};

/** Promises of what version 0.1.0 does not serve: several nodes, files, callbacks, the inference gateway. */
export const unserved: readonly string[] = [
  ...['1.38', '6.43', '6.44', '6.45', '6.46', '6.49', '6.50'],
];
