/** Planted into how a worker lets its claims wait. */
const LOOP = 'src/worker/claim-loop.ts';

export const faults = [
  {
    name: 'claims wait where that is no feature',
    file: LOOP,
    find: 'features.includes(CLAIM_WAIT) &&',
    replace: 'features !== undefined &&',
    cases: ['claims-waiting/not-offered'],
  },
  {
    name: 'claims wait while handlers run',
    file: LOOP,
    find: 'slots.held + slots.waiting === 0 &&',
    replace: 'slots.held + slots.waiting >= 0 &&',
    cases: ['claims-waiting/idle'],
  },
  {
    name: 'a drain leaves a claim waiting',
    file: 'src/worker/waiting-claim.ts',
    find: 'ctx.draining || ctx.stopped || ctx.heldBack',
    replace: 'ctx.heldBack',
    cases: ['claims-waiting/ended'],
  },
  {
    name: 'leases of a claim that waited count from its send',
    file: LOOP,
    find: 'answer.sentAt + (answer.value.waitedMs ?? 0)',
    replace: 'answer.sentAt',
    cases: ['claims-waiting/lease'],
  },
];
