import { describe, expect, it } from 'vitest';
import {
  complete,
  effectGate,
  fail,
  failRetryable,
  failUncalled,
  idempotent,
  log,
  pure,
  type Said,
  start,
  startGate,
  TaskWorld,
  unknown,
} from './task-world.ts';

const safeties = { pure, idempotent, effectGate };
const outcomes = { complete, fail, failRetryable, failUncalled, unknown };
const codeHash = 'c'.repeat(64);

/** The task, its attempt without what the lease says, and the journal, after these reports. */
function played(safety: typeof pure, said: readonly Said[]) {
  const world = new TaskWorld();
  world.claim(safety);
  for (const one of said) world.say(one);
  const { leaseUntilMs: _, end, ...attempt } = world.latest;
  return { task: world.task, attempt: { ...attempt, end: end?.op }, journal: world.journal };
}

describe('an outcome that carries its start', () => {
  for (const [name, safety] of Object.entries(safeties))
    for (const [how, outcome] of Object.entries(outcomes))
      it(`is a start and then the outcome: ${how}, ${name}`, () => {
        const apart = played(safety, [{ ...start, codeHash }, outcome]);
        expect(played(safety, [{ ...outcome, start: { codeHash } }])).toEqual(apart);
        expect(apart.journal[2]).toMatchObject({ kind: 'started', data: { codeHash } });
      });

  it('says nothing more of an attempt that a start or a word of its handler has counted', () => {
    for (const before of [start, log(1)])
      expect(played(pure, [before, { ...complete, start: { codeHash } }]).journal).toEqual(
        played(pure, [before, complete]).journal,
      );
  });

  it('opens no gate', () => {
    for (const outcome of [complete, fail])
      expect(played(startGate, [{ ...outcome, start: { codeHash } }])).toEqual(
        played(startGate, [outcome]),
      );
  });

  it('is recorded without its start where the attempt was lost', () => {
    const world = new TaskWorld();
    world.claim(pure);
    world.pass(3_600_000).sweep();
    expect(world.say({ ...complete, start: {} })).toMatchObject({ more: { recorded: true } });
    expect(world.journal.map(({ kind }) => kind)).not.toContain('started');
  });
});
