/** Planted into where a control plane takes no more. */
export const faults = [
  {
    name: 'a batch of reports with one that is no object is refused whole',
    file: 'src/control-plane/routes/worker.ts',
    find: "const spans = body.bytes > checkpointBytes ? elements(body.text, 'reports') : [];",
    replace:
      "if (!reports.every(isObject)) return invalid([{ path: 'reports', message: 'must be objects' }]); const spans = body.bytes > checkpointBytes ? elements(body.text, 'reports') : [];",
    cases: ['limits/batch-of-reports'],
  },
  {
    name: 'a head that is too large is called a fault of the server',
    file: 'src/control-plane/socket.ts',
    find: "'431 Request Header Fields Too Large',",
    replace: "'500 Internal Server Error',",
    cases: ['limits/large-head'],
  },
  {
    name: 'an attempt past its timeout is renewed for ten minutes more',
    file: 'src/core/defaults.ts',
    find: 'renewPastTimeoutMs: MINUTE,',
    replace: 'renewPastTimeoutMs: 10 * MINUTE,',
    cases: ['limits/renewed-for-ever'],
  },
];
