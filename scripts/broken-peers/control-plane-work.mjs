/** Planted into how work is given out and taken back: claims, leases, releases, presence, hints, clocks. */
const prolonged = ['renew', 'start', 'progress', 'log', 'claim'].map(
  (by) => `leases/prolonged-by-${by}`,
);
const over = ['pure', 'idempotent', 'before-start', 'before-effect'].map(
  (at) => `leases/over-${at}`,
);

export const faults = [
  {
    name: 'a claim that comes again is a new one',
    file: 'src/control-plane/claim.ts',
    find: 'const name = { project, workerId, sessionId, requestId };',
    replace:
      'const name = { project, workerId, sessionId, requestId: requestId + services.random.fraction() };',
    cases: [
      'history/linearizable',
      'claims/same-request',
      'claims/ended-ones-go',
      'claims/empty-again',
      'claims/cancelled-meanwhile',
      'leases/prolonged-by-claim',
      'lost-answers/claim',
    ],
  },
  {
    name: 'a repeated claim gets attempts that have ended',
    file: 'src/control-plane/claim.ts',
    find: 'if (!found || !isCurrent(found.row.task, found.attempt.attempt)) continue;',
    replace: 'if (!found) continue;',
    cases: ['claims/ended-ones-go'],
  },
  {
    name: 'a repeated claim without live attempts gets new work',
    file: 'src/control-plane/claim.ts',
    find: 'const attempts = await again(tx, services, project, before);',
    replace: `let attempts = await again(tx, services, project, before);
      if (attempts.length === 0)
        attempts = (await grant(tx, services, project, request)).map(({ text }) => text);`,
    cases: ['claims/empty-again', 'claims/ended-ones-go'],
  },
  {
    name: 'request ids of all workers are one name',
    file: 'src/control-plane/claim.ts',
    find: 'const name = { project, workerId, sessionId, requestId };',
    replace: "const name = { project, workerId: 'all', sessionId: 'all', requestId };",
    cases: ['claims/request-id-of-another'],
  },
  {
    name: 'a claim gets one attempt more than max',
    file: 'src/control-plane/claim.ts',
    find: '    max: request.max,\n  });',
    replace: '    max: request.max + 1,\n  });',
    cases: ['claims/max-and-slots'],
  },
  {
    name: 'the slots of a type bound nothing',
    file: 'src/control-plane/claim.ts',
    find: 'want: [...wanted.values()],',
    replace: 'want: [...wanted.values()].map((want) => ({ ...want, slots: 1_000 })),',
    cases: ['claims/max-and-slots', 'claims/slots-of-each-type'],
  },
  {
    name: 'a claim gets tasks of the next version too',
    file: 'src/control-plane/claim.ts',
    find: 'if (!wanted.has(name)) wanted.set(name, want);',
    replace: `wanted.set(name, want);
    const next = { ...want, schemaVersion: want.schemaVersion + 1 };
    wanted.set(typeKey(next.type, next.schemaVersion), next);`,
    cases: ['claims/only-what-is-wanted'],
  },
  {
    name: 'only the first pool of a claim counts',
    file: 'src/control-plane/claim.ts',
    find: 'pools: [...new Set(request.pools)],',
    replace: 'pools: request.pools.slice(0, 1),',
    cases: ['claims/two-pools'],
  },
  {
    name: 'an attempt claimed without a word of its safety counts as idempotent',
    file: 'src/contract/plain-calls.ts',
    find: "word === 'pure' || word === 'idempotent' ? word : 'non-idempotent'",
    replace: "word === 'pure' || word === undefined ? (word ?? 'idempotent') : 'non-idempotent'",
    cases: ['claims/defaults-of-a-want', 'outcomes/lost-right'],
  },
  {
    name: 'presence decides how safe an attempt is',
    file: 'src/control-plane/claim.ts',
    find: 'effectSafety: want.effectSafety,',
    replace: `effectSafety:
        (await tx.handlers(project, workerId)).find(({ type }) => type === task.type)
          ?.effectSafety ?? want.effectSafety,`,
    cases: ['claims/pinned'],
  },
  {
    name: 'priority counts for nothing',
    file: 'src/core/task.ts',
    find: 'return task.createdAtMs - task.priority * taskDefaults.ageingMsPerPoint;',
    replace: 'return task.createdAtMs;',
    cases: ['claims/priority'],
  },
  {
    name: 'the youngest task is given first',
    file: 'src/core/task.ts',
    find: 'return task.createdAtMs - task.priority * taskDefaults.ageingMsPerPoint;',
    replace: 'return -task.createdAtMs - task.priority * taskDefaults.ageingMsPerPoint;',
    cases: ['claims/age'],
  },
  {
    name: 'a task is given before its notBeforeAt',
    file: 'src/core/task.ts',
    find: 'const availableAtMs = Math.max(nowMs, notBeforeMs ?? nowMs);',
    replace: 'const availableAtMs = nowMs;',
    cases: ['claims/not-before'],
  },
  {
    name: 'the answer to a claim has no bound',
    file: 'src/control-plane/claim.ts',
    find: 'if (granted.length > 0 && isLonger(chars, granted, text, limits.batchBytes)) break;',
    replace: '',
    cases: ['claims/answer-bytes'],
  },
  {
    name: 'a task is given to two workers',
    file: 'src/core/task-claim.ts',
    find: "      status: 'running',\n      fence,",
    replace: "      status: fence === 1 ? 'queued' : 'running',\n      fence,",
    cases: ['history/linearizable', 'claims/many-at-once', 'claims/one-for-many'],
  },
  {
    name: 'a repeated claim does not tell of a cancel',
    file: 'src/control-plane/claim.ts',
    find: 'wantsStop(nowMs, task)',
    replace: 'false',
    cases: ['claims/cancelled-meanwhile'],
  },
  {
    name: 'the next attempt does not get the checkpoint',
    file: 'src/control-plane/claim.ts',
    find: "checkpoint: row.task.fence === 0 ? undefined : await tx.payload(row.ref, 'checkpoint'),",
    replace: 'checkpoint: undefined,',
    cases: ['claims/checkpoint', 'replay/old-progress'],
  },
  {
    name: 'a claim may ask for a longer lease than the policy',
    file: 'src/core/task-claim.ts',
    find: 'Math.min(claimMs ?? policyMs, policyMs)',
    replace: '(claimMs ?? policyMs)',
    cases: ['leases/length'],
  },
  {
    name: 'a lease is over after half its time',
    file: 'src/core/task-report-alive.ts',
    find: 'leaseUntilMs: nowMs + attempt.leaseMs',
    replace: 'leaseUntilMs: nowMs + attempt.leaseMs / 2',
    cases: [...over, ...prolonged],
  },
  {
    name: 'no report renews the lease',
    file: 'src/core/task-report-alive.ts',
    find: 'attempt: { ...attempt, leaseUntilMs: nowMs + attempt.leaseMs },',
    replace: 'attempt,',
    cases: [...prolonged, 'leases/batch-of-renewals'],
  },
  {
    name: 'nobody waits for the word of an attempt past its gate',
    file: 'src/core/task-sweep.ts',
    find: 'if (gatePassed(attempt)) return true;',
    replace: '',
    cases: ['leases/grace-past-the-gate', 'leases/expired-still-reports'],
  },
  {
    name: 'nobody waits for the word of the last permitted attempt',
    file: 'src/core/task-sweep.ts',
    find: '&& task.attempts >= task.permitted',
    replace: '&& task.attempts > task.permitted',
    cases: ['leases/grace-of-the-last-attempt', 'leases/gate-on-an-expired-one'],
  },
  {
    name: 'the word of the last attempt is waited for though a cancel is requested',
    file: 'src/core/task-sweep.ts',
    find: '!task.cancelRequested && attempt.countedAtMs',
    replace: 'attempt.countedAtMs',
    cases: ['leases/no-grace-when-cancelled'],
  },
  {
    name: 'an attempt whose lease ran out may say nothing more',
    file: 'src/core/task-report.ts',
    find: "  switch (report.op) {\n    case 'renew':",
    replace: `  if (nowMs >= attempt.leaseUntilMs) return refuse('LEASE_EXPIRED', 'It is over.');
  switch (report.op) {
    case 'renew':`,
    cases: ['leases/expired-still-reports', 'leases/gate-on-an-expired-one'],
  },
  {
    name: 'a gate opens on a lease that ran out',
    file: 'src/core/task-report-alive.ts',
    find: 'if (isGate && nowMs >= attempt.leaseUntilMs) {',
    replace: 'if (isGate && nowMs < 0) {',
    cases: ['leases/gate-on-an-expired-one'],
  },
  {
    name: 'a released task is not queued again',
    file: 'src/core/effect-safety.ts',
    find: "released: { before: 'again-undelivered', past: 'not-releasable' },",
    replace: "released: { before: 'outcome-unknown', past: 'not-releasable' },",
    cases: ['release/queued-again', 'release/begun-left-of-the-gate', 'cancel/released'],
  },
  {
    name: 'an attempt past its gate is taken back',
    file: 'src/core/task-report-terminal.ts',
    find: "  if (report.op === 'release' && gatePassed(attempt)) {",
    replace: `  if (report.op === 'release')
    attempt = { ...attempt, startAccepted: false, effectAccepted: false };
  if (report.op === undefined) {`,
    cases: ['release/not-past-the-gate'],
  },
  {
    name: 'a task may be given back for ever',
    file: 'src/core/task-end.ts',
    find: 'if (undelivered && task.undelivered >= taskDefaults.undeliveredMax) {',
    replace: 'if (undelivered && task.undelivered < 0) {',
    cases: ['release/undeliverable'],
  },
  {
    name: 'presence is answered with instants instead of durations',
    file: 'src/control-plane/routes/worker.ts',
    find: 'offlineAfterMs: services.timing.offlineAfterMs,',
    replace: 'offlineAfterMs: instantText(nowMs + services.timing.offlineAfterMs),',
    cases: ['presence/answer'],
  },
  {
    name: 'handlers are never asked for',
    file: 'src/control-plane/presence.ts',
    find: 'const needHandlers = request.handlers === undefined && !known;',
    replace: 'const needHandlers = false;',
    cases: ['presence/need-handlers'],
  },
  {
    name: 'a worker that said offline is shown as ready',
    file: 'src/control-plane/worker-facts.ts',
    find: "return worker.present?.state === 'offline' || nowMs",
    replace: 'return nowMs',
    cases: ['presence/offline', 'sessions/taken-over-when-offline'],
  },
  {
    name: 'a worker that claims again stays offline',
    file: 'src/control-plane/claim.ts',
    find: "present: back ? { ...present, state: 'ready' } : present,",
    replace: 'present,',
    cases: ['presence/offline'],
  },
  {
    name: 'silence makes no worker offline',
    file: 'src/control-plane/worker-facts.ts',
    find: 'nowMs - worker.lastSeenMs > offlineAfterMs;',
    replace: 'nowMs < 0;',
    cases: ['presence/offline-after'],
  },
  {
    name: 'a renewal is no sign of life',
    file: 'src/control-plane/report.ts',
    find: "if (said.op === 'renew')\n    await",
    replace: 'if (ref === 0)\n    await',
    cases: ['presence/offline-after'],
  },
  {
    name: 'a claim is no sign of life',
    file: 'src/control-plane/claim.ts',
    find: '  await tx.saveWorker(seen);\n',
    replace: '',
    cases: ['presence/claim-is-presence'],
  },
  {
    name: 'views show the session of a worker',
    file: 'src/control-plane/worker-view.ts',
    find: '    workerId: worker.workerId,\n    state: how.state,',
    replace:
      '    workerId: worker.workerId,\n    sessionId: worker.sessionId,\n    state: how.state,',
    cases: ['presence/no-secrets'],
  },
  {
    name: 'no claim is told of a drain',
    file: 'src/control-plane/claim.ts',
    find: 'const drain = worker.drainSessionId === sessionId;',
    replace: 'const drain = false;',
    cases: ['presence/drain'],
  },
  {
    name: 'a drain is kept for later sessions',
    file: 'src/control-plane/sessions.ts',
    find: 'const worker = { project, workerId, keyId: key.id, sessionId, lastSeenMs: tx.nowMs };',
    replace: `const drainSessionId = before?.drainSessionId && sessionId;
  const worker = { project, workerId, keyId: key.id, sessionId, drainSessionId, lastSeenMs: tx.nowMs };`,
    cases: ['presence/drain'],
  },
  {
    name: 'a stream of hints begins with nothing',
    file: 'src/control-plane/streams.ts',
    find: "  stream.send('ping', {});\n",
    replace: '',
    cases: ['hints/ping'],
  },
  {
    name: 'a stream of hints is kept open by nothing',
    file: 'src/control-plane/ping-loop.ts',
    find: 'listener.stream.push(PING);',
    replace: '',
    cases: ['hints/ping'],
  },
  {
    name: 'nobody is woken',
    file: 'src/control-plane/hub.ts',
    find: "listener.stream.send('wake', { types });",
    replace: '',
    cases: ['hints/wake', 'hints/wakes-two-at-most'],
  },
  {
    name: 'everybody is woken',
    file: 'src/control-plane/wake.ts',
    find: 'Math.min(ready.length, tasks * 2)',
    replace: 'ready.length',
    cases: ['hints/wakes-two-at-most'],
  },
  {
    name: 'no worker hears of a cancel',
    file: 'src/control-plane/hub.ts',
    find: "stream.send('cancel', { attemptId: note.attemptId });",
    replace: "stream.send('ping', {});",
    cases: ['hints/cancel'],
  },
  {
    name: 'no worker hears of a drain',
    file: 'src/control-plane/hub.ts',
    find: "stream.send('drain', {});",
    replace: "stream.send('ping', {});",
    cases: ['hints/drain'],
  },
  {
    name: 'leases are told as instants',
    file: 'src/control-plane/report.ts',
    find: "member('leaseMs', verdict.leaseMs)",
    replace: "member('leaseMs', verdict.leaseMs && tx.nowMs + verdict.leaseMs)",
    cases: ['clocks/durations', 'tolerance/accepted'],
  },
  {
    name: 'a report counts from the instant that its worker names',
    file: 'src/control-plane/report.ts',
    find: 'services.store.write((tx) => apply(tx,',
    replace: `services.store.write((tx) => apply(
    typeof raw.sentAt === 'string'
      ? Object.create(tx, { nowMs: { value: Date.parse(raw.sentAt) } })
      : tx,`,
    cases: ['clocks/worker-ahead', 'clocks/worker-behind', 'clocks/retry-after-a-wrong-day'],
  },
  {
    name: 'a worker is seen when its own clock says so',
    file: 'src/control-plane/presence.ts',
    find: 'lastSeenMs: tx.nowMs,',
    replace: 'lastSeenMs: request.sentAt === undefined ? tx.nowMs : Date.parse(request.sentAt),',
    cases: ['clocks/worker-behind'],
  },
];
