/** Planted into how a worker claims, and stops what it claimed. */
const LOOP = 'src/worker/claim-loop.ts';
const CLAIMED = 'src/worker/claimed.ts';
const RUN = 'src/worker/run-attempt.ts';

export const faults = [
  {
    name: 'a claim without an answer is made anew',
    file: LOOP,
    find: 'const request = this.#unanswered ?? this.#request();',
    replace: 'const request = this.#request();',
    cases: ['claims/repeated'],
  },
  {
    name: 'every claim has the same request id',
    file: LOOP,
    find: "requestId: this.#ctx.id('req'),",
    replace: "requestId: 'req_00000000000000000000000000000000',",
    cases: ['claims/fresh-request-ids'],
  },
  {
    name: 'nothing is claimed any more once a claim got no answer',
    file: LOOP,
    find: '      await this.#claim();\n',
    replace: '      await this.#claim();\n      if (this.#failures > 0) return;\n',
    cases: ['claims/garbage', 'claims/repeated', 'restarts/idle', 'restarts/torn'],
  },
  {
    name: 'what an answer brings beyond the free slots waits for one',
    file: CLAIMED,
    find: 'if (this.#ctx.draining || left-- <= 0) {',
    replace: 'if (this.#ctx.draining || left < -99) {',
    and: [{ file: CLAIMED, find: 'if (free-- <= 0) this.#ahead.came(held);', replace: 'free--;' }],
    cases: ['claims/beyond-slots'],
  },
  {
    name: 'claims are for all slots, also those that are taken',
    file: LOOP,
    find: 'return Math.min(this.#attempts.slots.claimable + this.#plan.extra, this.#ctx.limits.claimMax);',
    replace: 'return this.#ctx.settings.maxConcurrent;',
    cases: ['claims/free-slots'],
  },
  {
    name: 'claims are for all that there is room for, whatever the control plane grants at once',
    file: LOOP,
    find: 'this.#plan.extra, this.#ctx.limits.claimMax);',
    replace: 'this.#plan.extra, 10_000);',
    cases: ['claims/told-max', 'claims/refused-max'],
  },
  {
    name: 'an attempt that was here before is begun again',
    file: CLAIMED,
    find: '    if (this.#attempts.had(attempt.attemptId)) {',
    replace: '    if (attempt.attemptId === undefined) {',
    cases: ['claims/known-attempt', 'claims/doubled-attempt'],
  },
  {
    name: 'an attempt without a handler is left to its lease',
    file: CLAIMED,
    find: "      this.#giveBack(attempt, 'no-handler', { leaseMs: attempt.leaseMs, sentAt });\n",
    replace: '',
    cases: ['claims/no-handler'],
  },
  {
    name: 'an attempt that cannot be read is left to its lease',
    file: CLAIMED,
    find: '      this.#unreadable(item, why, sentAt);\n',
    replace: '',
    cases: ['claims/undecodable'],
  },
  {
    name: 'a cancel that comes with the claim is overlooked',
    file: 'src/core/attempt-claimed.ts',
    find: '      if (state.cancelRequested) return giveUp({ ...state, slot: true });\n',
    replace: '',
    and: [
      {
        file: 'src/core/attempt-claimed.ts',
        find: "      if (state.cancelRequested) return giveUp({ ...state, gate: 'open' });\n",
        replace: '',
      },
    ],
    cases: ['claims/cancel-requested'],
  },
  {
    name: '`pollAfterMs` is overlooked',
    file: 'src/core/polling.ts',
    find: 'return Math.max(grown * (1 - workerDefaults.pollJitter * fraction), wish);',
    replace: 'return wish < 0 ? wish : grown * (1 - workerDefaults.pollJitter * fraction);',
    cases: ['claims/poll-after'],
  },
  {
    name: 'a hint cuts the Retry-After of a claim short',
    file: LOOP,
    find: '    if (workWanted) return Math.max(soonest, this.#withReport());\n',
    replace: '    if (workWanted) return Number.NEGATIVE_INFINITY;\n',
    cases: ['claims/retry-after'],
  },
  {
    name: 'claims that bring nothing follow each other at once',
    file: LOOP,
    find: '      this.#fruitlessAt = endedAt;',
    replace: '      this.#fruitlessAt = Number.NEGATIVE_INFINITY;',
    cases: ['claims/pace', 'hints/storm'],
  },
  {
    name: 'a cancel in an answer is overlooked',
    file: 'src/worker/attempts.ts',
    find: 'if (cancelRequested && !held.state.cancelRequested && held.canStop)',
    replace: 'if (cancelRequested && held.state.cancelRequested && held.canStop)',
    cases: ['stops/cancel', 'stops/kill'],
  },
  {
    name: 'a handler that obeyed a cancel is told as lost',
    file: 'src/core/attempt-report.ts',
    find: "      if (facts.stop === 'cancel') return { op: 'cancelled', ...line };\n",
    replace: '',
    cases: ['stops/cancel'],
  },
  {
    name: 'a stopped handler has no grace',
    file: RUN,
    find: 'held.job.stop(reason, graceMs);',
    replace: 'held.job.stop(reason, 0);',
    cases: ['stops/kill', 'stops/last-word'],
  },
  {
    name: '`attemptTimeoutMs` is overlooked',
    file: RUN,
    find: 'const limit = timeLimit(handler.timeoutMs, attempt.policy.attemptTimeoutMs);',
    replace: 'const limit = timeLimit(handler.timeoutMs, null);',
    cases: ['stops/timeout', 'leases/lost-is-let-go'],
  },
  {
    name: 'a drain leaves handlers behind that do not end by themselves',
    file: RUN,
    find: 'held.job.stop(reason, graceMs);',
    replace: "if (reason !== 'drain') held.job.stop(reason, graceMs);",
    and: [
      {
        file: 'src/handler/channel.ts',
        find: "    socket.on('close', endGroup);",
        replace: "    socket.on('close', () => {});",
      },
      {
        file: 'src/worker/worker.ts',
        find: "    if (atOnce) for (const held of this.#run.attempts) held.job?.stop('drain', 0);\n",
        replace: '',
      },
    ],
    cases: ['stops/nothing-left'],
  },
  {
    name: 'handlers of a killed worker are left alone by the next',
    file: 'src/cli/worker-agent.ts',
    find: 'killHosts(oldSessions, {',
    replace: 'killHosts([], {',
    and: [
      {
        file: 'src/handler/channel.ts',
        find: "    socket.on('close', endGroup);",
        replace: "    socket.on('close', () => {});",
      },
    ],
    cases: ['stops/old-handlers'],
  },
];
