import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { KeyLooks } from '../../src/control-plane/key-looks.ts';
import type { KeyRow } from '../../src/ports/store.ts';

/** Who calls in the same turn shares a look; nobody is let in by one of an earlier turn. */

const key: KeyRow = {
  id: 'key_1',
  project: 'p',
  name: 'k',
  kind: 'admin',
  hash: 'h',
  createdAtMs: 0,
};

/** A store that reads at once and answers when it is told to. */
function made() {
  const keyWatch = { revocations: 0 };
  let now: KeyRow | undefined = key;
  const answers: (() => void)[] = [];
  const store = {
    keyByHash: (): Promise<KeyRow | undefined> => {
      const row = now;
      return new Promise((resolve) => answers.push(() => resolve(row)));
    },
  };
  return {
    looks: new KeyLooks({ store, keyWatch }),
    keyWatch,
    answers,
    becomes: (row: KeyRow | undefined) => {
      now = row;
    },
  };
}
const revoked: KeyRow = { ...key, revokedAtMs: 5 };

it('shares one look among the calls of a turn', async () => {
  const { looks, answers } = made();
  const calls = [looks.byHash('h'), looks.byHash('h'), looks.byHash('h')];
  expect(answers).toHaveLength(1);
  answers[0]?.();
  expect(await Promise.all(calls)).toEqual([key, key, key]);
  await turn();
  void looks.byHash('h');
  expect(answers).toHaveLength(2);
});

it('lets nobody in by a look of an earlier turn whose answer came late', async () => {
  const { looks, answers, becomes } = made();
  const first = looks.byHash('h');
  await turn();
  becomes(revoked);
  answers[0]?.();
  // In the very turn in which the first is answered.
  expect(await first).toEqual(key);
  const second = looks.byHash('h');
  answers[1]?.();
  expect(await second).toEqual(revoked);
});

it('looks again after a revocation that was heard of in the same turn', async () => {
  const { looks, keyWatch, answers, becomes } = made();
  const first = looks.byHash('h');
  becomes(revoked);
  keyWatch.revocations++;
  const second = looks.byHash('h');
  for (const answer of answers) answer();
  expect(await Promise.all([first, second])).toEqual([key, revoked]);
});
