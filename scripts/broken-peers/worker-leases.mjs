/** Planted into how a worker keeps leases, and passes gates. */
const RENEWS = 'src/core/attempt-state.ts';
const LOOP = 'src/worker/renew-loop.ts';
const RUNNING = 'src/core/attempt-running.ts';
const CLAIMED = 'src/core/attempt-claimed.ts';
const GATES = 'src/worker/gates.ts';

export const faults = [
  {
    name: 'renewals come at three quarters of the lease',
    file: 'src/core/defaults.ts',
    find: 'renewShare: 1 / 3,',
    replace: 'renewShare: 3 / 4,',
    cases: ['leases/a-third'],
  },
  {
    name: 'nothing is renewed while its handler runs',
    file: RENEWS,
    find: 'if (isOver(state) || state.stuck || state.staleSeen) return false;',
    replace: "if (isOver(state) || state.phase === 'running') return false;",
    cases: ['leases/a-third', 'leases/busy-handlers', 'hints/silent'],
  },
  {
    name: 'nothing is renewed while its report waits for its answer',
    file: RENEWS,
    find: 'if (isOver(state) || state.stuck || state.staleSeen) return false;',
    replace: "if (isOver(state) || state.phase === 'spooled') return false;",
    cases: ['leases/stuck-report'],
  },
  {
    name: 'nothing is renewed while it waits for its gate',
    file: RENEWS,
    find: 'if (isOver(state) || state.stuck || state.staleSeen) return false;',
    replace: "if (isOver(state) || state.phase === 'claimed') return false;",
    cases: ['leases/before-the-gate'],
  },
  {
    name: 'a `lost` that waits for its answer is renewed',
    file: RENEWS,
    find: "return !(state.phase === 'spooled' && state.report?.op === 'lost');",
    replace: 'return true;',
    cases: ['leases/lost-is-let-go'],
  },
  {
    name: 'a renewal that hangs holds back the next',
    file: LOOP,
    find: '        void this.#renew(due);',
    replace: '        await this.#renew(due);',
    cases: ['leases/stuck-renewal'],
  },
  {
    name: 'renewals keep to Retry-After',
    file: LOOP,
    find: '      if (!isBusy(status) || result.retryAfterMs !== undefined) return;',
    replace:
      '      held.renewAt = this.#ctx.ports.clock.now() + (result.retryAfterMs ?? 0);\n      if (!isBusy(status) || result.retryAfterMs !== undefined) return;',
    cases: ['leases/no-retry-after'],
  },
  {
    name: 'a lease is counted from the answer to its claim',
    file: 'src/worker/claim-loop.ts',
    find: 'take(answer.value.attempts, leasesFrom, max)',
    replace: 'take(answer.value.attempts, clock.now(), max)',
    cases: ['leases/counted-from-the-send'],
  },
  {
    name: 'idempotent handlers go on when their lease has run out',
    file: RUNNING,
    find: "return state.effectSafety === 'pure' || state.gate === 'open'",
    replace: "return state.effectSafety !== 'non-idempotent' || state.gate === 'open'",
    cases: ['leases/outage-stops', 'leases/expired'],
  },
  {
    name: 'every handler is stopped when its lease has run out',
    file: RUNNING,
    find: "return state.effectSafety === 'pure' || state.gate === 'open'",
    replace: "return state.phase === 'claimed'",
    cases: ['leases/outage-goes-on', 'leases/expired'],
  },
  {
    name: 'STALE_ATTEMPT to a renewal is no word',
    file: LOOP,
    find: "if (problem.code === 'STALE_ATTEMPT') this.#attempts.feed(held, { kind: 'stale' });\n      else ",
    replace: '',
    cases: ['leases/stale'],
  },
  {
    name: 'a handler begins before its start was accepted',
    file: CLAIMED,
    find: '      if (guardedByStart(state)) {',
    replace: '      if (asking) {',
    cases: [
      'gates/start-asked-again',
      'gates/start-refused',
      'gates/start-stale',
      'gates/start-stays-expired',
      'sessions/superseded-start',
    ],
  },
  {
    name: 'an effect begins unasked',
    file: RUNNING,
    find: "if (state.gate === 'none' || state.gate === 'open') return",
    replace: 'if (state.begun) return',
    cases: [
      'gates/effect-asked-again',
      'gates/effect-refused',
      'gates/effect-stale',
      'gates/effect-stays-expired',
    ],
  },
  {
    name: 'a refusal opens a gate',
    file: GATES,
    find: "return isBusy(status) ? 'no-answer' : 'refused';",
    replace: "return isBusy(status) ? 'no-answer' : 'accepted';",
    cases: ['gates/start-refused', 'gates/effect-refused'],
  },
  {
    name: 'no answer opens a gate',
    file: GATES,
    find: "return result.kind === 'ok' ? 'accepted' : 'no-answer';",
    replace: "return 'accepted';",
    cases: ['gates/start-asked-again', 'gates/effect-asked-again'],
  },
  {
    name: 'a start that was told LEASE_EXPIRED is not asked again',
    file: CLAIMED,
    find: 'if (state.askedAgain || state.draining)',
    replace: "if (state.phase === 'claimed')",
    cases: ['gates/start-expired'],
  },
  {
    name: 'a gate that is told LEASE_EXPIRED is asked for ever',
    file: CLAIMED,
    find: "[{ ...state, askedAgain: true }, [{ do: 'ask-gate', op: 'start', after: 'renewal' }]]",
    replace: "[state, [{ do: 'ask-gate', op: 'start', after: 'renewal' }]]",
    and: [
      {
        file: RUNNING,
        find: "[{ ...state, askedAgain: true }, [{ do: 'ask-gate', op: 'effect', after: 'renewal' }]]",
        replace: "[state, [{ do: 'ask-gate', op: 'effect', after: 'renewal' }]]",
      },
    ],
    cases: ['gates/start-stays-expired', 'gates/effect-stays-expired'],
  },
  {
    name: 'a handler that waits at its gate goes on when its lease has run out',
    file: RUNNING,
    find: "return state.effectSafety === 'pure' || state.gate === 'open'",
    replace: "return state.effectSafety === 'pure' || state.gate !== 'shut'",
    cases: ['gates/late-answer'],
  },
  {
    name: 'every handler waits for the answer to its start',
    file: CLAIMED,
    find: "return state.gate === 'shut' && state.effectGate === 'start';",
    replace: "return state.effectGate === 'start';",
    cases: ['gates/no-gate'],
  },
  {
    name: 'an unknown effect safety is taken for pure',
    file: 'src/contract/effects.ts',
    find: ".catch('non-idempotent')",
    replace: ".catch('pure')",
    cases: ['gates/unknown-safety'],
  },
];
