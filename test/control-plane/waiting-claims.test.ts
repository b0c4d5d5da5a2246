import { expect, it } from 'vitest';
import type { ClaimRequest } from '../../src/contract/worker-calls.ts';
import { WaitingClaim, WaitingClaims } from '../../src/control-plane/waiting-claims.ts';
import type { Note } from '../../src/ports/store.ts';

/** Who of those that wait is asked for what came, and when. That the answers are right: claim-wait.test.ts. */

const note = (type = 'demo/hello'): Note => ({
  kind: 'available',
  project: 'default',
  pool: 'default',
  type,
  schemaVersion: 1,
});

/** Claims that wait: `looks` says who was asked, in order; `settle` ends the look of one. */
function waitingRoom() {
  const all = new WaitingClaims();
  const looks: string[] = [];
  const open = new Map<string, (found: string | undefined) => void>();
  const wait = (workerId: string, types = ['demo/hello'], slots = 1) => {
    const request: ClaimRequest = {
      workerId,
      sessionId: `ses-${workerId}`,
      requestId: `req-${workerId}`,
      pools: ['default'],
      want: types.map((type) => ({
        type,
        schemaVersion: 1,
        slots,
        effectSafety: 'pure',
        effectGate: 'start',
      })),
      max: 1,
    };
    const claim = new WaitingClaim<string>('default', request, () => {
      looks.push(workerId);
      return new Promise((resolve) => open.set(workerId, resolve));
    });
    all.add(claim);
    claim.foundNothing();
    return claim;
  };
  const settle = async (workerId: string, found?: string) => {
    open.get(workerId)?.(found);
    await new Promise(setImmediate);
  };
  return { all, looks, wait, settle };
}

it('asks two for each task, and others for the next task while those have no answer yet', () => {
  const { all, looks, wait } = waitingRoom();
  for (const name of ['a', 'b', 'c', 'd', 'e']) wait(name);
  all.take([note()]);
  expect(looks).toEqual(['a', 'b']);
  all.take([note()]);
  expect(looks).toEqual(['a', 'b', 'c', 'd']);
});

it('asks once more whoever was asked while it looked', async () => {
  const { all, looks, wait, settle } = waitingRoom();
  wait('a');
  all.take([note()]);
  all.take([note()]);
  expect(looks).toEqual(['a']);
  await settle('a');
  expect(looks).toEqual(['a', 'a']);
});

it('asks the next where one of those asked ends with something else, and nobody where it found nothing', async () => {
  const { all, looks, wait, settle } = waitingRoom();
  for (const name of ['a', 'b', 'c', 'd']) wait(name);
  all.take([note()]);
  // Nothing is left: it was given to somebody.
  await settle('a');
  expect(looks).toEqual(['a', 'b']);
  await settle('b', 'a refusal');
  expect(looks).toEqual(['a', 'b', 'a']);
});

it('asks nobody else where the one that was asked was given it', async () => {
  const { all, looks, wait, settle } = waitingRoom();
  const [a] = [wait('a'), wait('b'), wait('c')];
  all.take([note()]);
  a.gave({ pool: 'default', type: 'demo/hello', schemaVersion: 1 });
  await settle('a', 'a task');
  expect(looks).toEqual(['a', 'b']);
});

it('asks the next where the one that was asked waits no longer', async () => {
  const { all, looks, wait, settle } = waitingRoom();
  const [a] = [wait('a'), wait('b'), wait('c')];
  all.take([note()]);
  a.stop('gone');
  await settle('a');
  expect(looks).toEqual(['a', 'b', 'c']);
});

it('asks nobody for what he has no room for', () => {
  const { all, looks, wait } = waitingRoom();
  wait('a', ['demo/hello'], 0);
  wait('b');
  wait('c', ['demo/other']);
  wait('d');
  all.take([note()]);
  expect(looks).toEqual(['b', 'd']);
});
