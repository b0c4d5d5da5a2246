/** Planted into how a worker takes the answers to its reports. */
const ANSWER = 'src/core/report-answer.ts';
const LOOP = 'src/worker/report-loop.ts';
const JUDGE = 'src/wire/judge.ts';
const PAUSE = 'src/wire/retry-after.ts';
const DOOR = 'src/wire/door.ts';

export const faults = [
  {
    name: 'a report without an answer is given up',
    file: ANSWER,
    find: "  if (answer.kind === 'no-answer') return { kind: 'keep', because: 'no-answer', why: answer.why };",
    replace: "  if (answer.kind === 'no-answer') return { kind: 'done' };",
    cases: [
      'reports/lost-answer',
      'reports/foreign-page',
      'reports/empty-answer',
      'reports/strange-answer',
      'reports/not-accepted',
      'reports/redirect-elsewhere',
      'spool/outage',
    ],
  },
  {
    name: 'a report is sent again with other words',
    file: 'src/worker/send-reports.ts',
    find: '  if (ctx.stopped) return reports.map(() => notSent(ctx));\n',
    replace:
      "  if (ctx.stopped) return reports.map(() => notSent(ctx));\n  const sentAt = ctx.ports.clock.now();\n  reports = reports.map((one) => (one.op === 'complete' ? { ...one, sentAt } : one));\n",
    cases: ['reports/lost-answer'],
  },
  {
    name: 'an acceptance without the word accepted counts',
    file: 'src/contract/worker-calls.ts',
    find: 'accepted: z.literal(true),',
    replace: 'accepted: z.unknown(),',
    cases: ['reports/not-accepted'],
  },
  {
    name: 'the acceptance of another report counts',
    file: 'src/transports/interlock.ts',
    find: 'if (attemptId === report.attemptId && fence === report.fence && op === report.op) return answer;',
    replace: 'if (attemptId && fence && op) return answer;',
    and: [
      {
        file: ANSWER,
        find: "    return { kind: 'keep', because: 'no-answer', why: 'the answer was for another report' };",
        replace: "    return { kind: 'done' };",
      },
    ],
    cases: ['reports/other-acceptance'],
  },
  {
    name: 'a replayed acceptance is none',
    file: ANSWER,
    find: '      value.op === report.op\n    )',
    replace: '      value.op === report.op &&\n      value.replayed !== true\n    )',
    cases: ['reports/replayed'],
  },
  {
    name: 'any success is an acceptance, whatever its status',
    file: 'src/transports/interlock.ts',
    find: 'const OK = { statuses: [200] } as const;',
    replace: 'const OK = { statuses: [200, 202, 204] } as const;',
    cases: ['reports/strange-answer'],
  },
  {
    name: 'an answered report stays on disk',
    file: 'src/worker/on-disk.ts',
    find: 'held.record) this.#writes.answered(held);',
    replace: 'held.record) return;',
    cases: ['reports/once'],
  },
  {
    name: 'bytes that nobody asked for end the worker',
    file: 'src/wire/connections.ts',
    find: '      peer.sockets.delete(socket);',
    replace:
      '      peer.sockets.delete(socket);\n      if (connection.calls > 0 && socket.bytesRead > connection.readBytes) process.exit(70);',
    cases: ['reports/doubled-answer'],
  },
  {
    name: 'redirects are followed to any origin',
    file: DOOR,
    find: 'if (target.origin !== this.address.origin)',
    replace: 'if (target.origin === undefined)',
    cases: ['reports/redirect-elsewhere'],
  },
  {
    name: 'redirects are not followed',
    file: DOOR,
    find: 'const REDIRECTS = new Set([301, 302, 303, 307, 308]);',
    replace: 'const REDIRECTS = new Set<number>();',
    cases: ['reports/redirect-within'],
  },
  {
    name: 'redirects are followed with a GET',
    file: DOOR,
    find: '      url = this.#follow(response.status, location, url, followed);',
    replace:
      "      url = this.#follow(307, location, url, followed);\n      Object.assign(init, { method: 'GET', body: undefined });",
    cases: ['reports/redirect-method', 'reports/redirect-within'],
  },
  {
    name: 'a control plane that is busy has refused for good',
    file: ANSWER,
    find: 'if (status === 400 || status === 413 || status === 422 || ofThisAttempt)',
    replace:
      'if (status === 400 || status === 413 || status === 422 || status >= 425 || ofThisAttempt)',
    cases: ['reports/busy'],
  },
  {
    name: 'Retry-After counts milliseconds',
    file: PAUSE,
    find: 'return boundedWait(Number(text) * 1_000);',
    replace: 'return boundedWait(Number(text));',
    cases: ['reports/retry-after-seconds'],
  },
  {
    name: 'a Retry-After with a date is ignored',
    file: PAUSE,
    find: '  if (!HTTP_DATE.test(text)) return undefined;\n',
    replace: '  return undefined;\n',
    cases: ['reports/retry-after-date', 'reports/retry-after-huge'],
  },
  {
    name: 'a Retry-After that is junk is a long one',
    file: PAUSE,
    find: '  if (!HTTP_DATE.test(text)) return undefined;\n',
    replace:
      '  if (!HTTP_DATE.test(text)) return header === null ? undefined : workerDefaults.retryAfterMaxMs;\n',
    cases: ['reports/retry-after-junk'],
  },
  {
    name: 'a Retry-After beyond what a timer holds is none',
    file: PAUSE,
    find: '  return Math.min(Math.max(0, Math.ceil(ms)), workerDefaults.retryAfterMaxMs);',
    replace: '  return ms > 2 ** 31 ? 0 : Math.max(0, Math.ceil(ms));',
    cases: ['reports/retry-after-huge'],
  },
  {
    name: 'a report that has to wait holds up all others',
    file: LOOP,
    find: "    const asked = result.kind === 'ok' ? undefined : result.retryAfterMs;\n    pending.notBefore",
    replace:
      "    const asked = result.kind === 'ok' ? undefined : result.retryAfterMs;\n    this.#line.unanswered(asked);\n    pending.notBefore",
    cases: ['reports/retry-after-seconds', 'reports/retry-after-huge'],
  },
  {
    name: 'a report that waits is not renewed',
    file: 'src/core/attempt-state.ts',
    find: "return !(state.phase === 'spooled' && state.report?.op === 'lost');",
    replace: "return state.phase !== 'spooled';",
    cases: ['reports/renews-while-waiting', 'reports/durable-decides'],
  },
  {
    name: 'renewals wait as long as Retry-After says',
    file: 'src/worker/renew-loop.ts',
    find: '      // It was answered: the next one keeps to its third',
    replace:
      '      if (result.retryAfterMs !== undefined)\n        held.renewAt = this.#ctx.ports.clock.now() + result.retryAfterMs;\n      // It was answered: the next one keeps to its third',
    cases: ['reports/renewals-told-to-wait'],
  },
  {
    name: 'a refused key drops the report',
    file: ANSWER,
    find: "    return { kind: 'keep', because: 'key', why };",
    replace: "    return { kind: 'refused' };",
    cases: ['reports/key-refused', 'reports/key-refused-statuses', 'reports/key-refused-claims'],
  },
  {
    name: 'claims go on while a report of ours is known to nobody',
    file: LOOP,
    find: 'foreign === 0 ?',
    replace: 'foreign >= 0 ?',
    cases: ['reports/key-refused-claims'],
  },
  {
    name: 'an op that is not known is refused for good',
    file: ANSWER,
    find: "  if (problem.code === 'UNSUPPORTED_OPERATION') return { kind: 'keep', because: 'operation', why };\n",
    replace: '',
    cases: ['reports/unsupported-operation'],
  },
  {
    name: 'nothing follows a report that was refused',
    file: ANSWER,
    find: "      : { kind: 'refused', followUp: smallReport(report, why, facts.spool) };",
    replace: "      : { kind: 'refused' };",
    cases: [
      'reports/refused-result',
      'reports/refused-by-proxy',
      'reports/refused-failure',
      'reports/refused-404',
      'reports/refused-follow-up',
      'reports/refused-lost',
      'reports/one-refused',
    ],
  },
  {
    name: 'a report that is refused with 422 is sent again',
    file: ANSWER,
    find: 'if (status === 400 || status === 413 || status === 422 || ofThisAttempt)',
    replace: 'if (status === 400 || status === 413 || ofThisAttempt)',
    cases: ['reports/refused-result', 'reports/refused-failure', 'reports/one-refused'],
  },
  {
    name: 'a 413 of a proxy is no refusal',
    file: JUDGE,
    find: "  413: 'PAYLOAD_TOO_LARGE',\n",
    replace: '',
    cases: ['reports/refused-by-proxy'],
  },
  {
    name: 'what follows a refused result does not say that the handler returned',
    file: ANSWER,
    find: 'details: { handlerReturned: !uncalled, ',
    replace: 'details: { ',
    cases: ['reports/refused-result', 'reports/refused-404'],
  },
  {
    name: 'an attempt that its own project does not know is asked for again',
    file: ANSWER,
    find: "    problem.kind === 'attempt' &&",
    replace: "    problem.kind === 'never' &&",
    cases: ['reports/refused-404'],
  },
  {
    name: 'a refused follow-up has a follow-up',
    file: ANSWER,
    find: '    return facts.followUp\n',
    replace: '    return facts.followUp && problem.status === 0\n',
    cases: ['reports/refused-follow-up'],
  },
  {
    name: 'what follows a refused lost is as large as before',
    file: ANSWER,
    find: '        ...(report.killed ? { killed: true } : {}),\n',
    replace: '        ...report,\n',
    cases: ['reports/refused-lost'],
  },
  {
    name: 'a lost that came too late is sent again',
    file: ANSWER,
    find: "    return { kind: 'stale', recorded: false };\n  if (report.op === 'lost'",
    replace: "    return { kind: 'keep', because: 'busy', why: '' };\n  if (report.op === 'lost'",
    cases: ['reports/late-lost'],
  },
  {
    name: 'a stale report is sent again',
    file: ANSWER,
    find: "    return { kind: 'stale', recorded: problem.recorded === true };",
    replace: "    return { kind: 'keep', because: 'busy', why: '' };",
    cases: ['reports/stale'],
  },
  {
    name: 'nothing follows a report that contradicts the control plane',
    file: ANSWER,
    find: "  return { kind: 'refused', followUp: lostReport(report, reasonOfLoss(report), begun) };",
    replace: "  return begun ? { kind: 'refused' } : { kind: 'refused' };",
    cases: ['reports/conflict'],
  },
  {
    name: 'a stale renewal drops the report that waits',
    file: 'src/core/attempt-ending.ts',
    find: "  return event.kind === 'report-answered' ? answered(state, event.verdict) : [state, []];",
    replace:
      "  if (event.kind === 'stale') return becomeStale(state);\n  return event.kind === 'report-answered' ? answered(state, event.verdict) : [state, []];",
    and: [
      {
        file: 'src/worker/pending-report.ts',
        find: 'if (this.inFlight || this.waitsForWords) return',
        replace:
          "if (this.inFlight || this.waitsForWords || this.held.state.phase === 'stale') return",
      },
    ],
    cases: ['reports/durable-decides'],
  },
  {
    name: 'what the answer to a batch lacks is done',
    file: 'src/worker/send-reports.ts',
    find: "  if (whole.kind === 'ok') return reports.map((_, i) => whole.value[i] ?? missing(ctx));",
    replace:
      "  if (whole.kind === 'ok')\n    return reports.map(({ attemptId, fence, op }, i) =>\n      whole.value[i]?.kind === 'no-answer' || !whole.value[i]\n        ? { kind: 'ok', value: { accepted: true, attemptId, fence, op }, sentAt: 0 } as never\n        : (whole.value[i] ?? missing(ctx)),\n    );",
    cases: ['reports/batch-short'],
  },
  {
    name: 'a batch that is refused whole refuses each report',
    file: 'src/worker/send-reports.ts',
    find: "  if (whole.kind === 'refused' && refusesWhole(whole.status)) {",
    replace: "  if (whole.kind === 'refused' && refusesWhole(-whole.status)) {",
    cases: ['reports/batch-refused'],
  },
];
