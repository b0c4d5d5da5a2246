import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { World } from './world.ts';

/**
 * The same calls at the same times and with the same chance, once over the memory store and once over SQLite:
 * every answer is the same to the byte, so each store is the other's oracle. On the way: no gap in a journal,
 * no task with two outcomes, no two unended attempts; whatever entry the core gave stands in the journal.
 */

/** Entries that the core gave, of both worlds, by task. */
const given = vi.hoisted(() => new Map<string, string[]>());
const told = vi.hoisted(
  () => (id: string, events: readonly { kind: string; attemptId?: string; data: object }[]) => {
    const texts = events.map(
      ({ kind, attemptId = '', data }) => `${kind} ${attemptId} ${JSON.stringify(data)}`,
    );
    given.set(id, [...(given.get(id) ?? []), ...texts]);
  },
);
vi.mock('../../src/control-plane/change.ts', async (original) => {
  const real = await original<typeof import('../../src/control-plane/change.ts')>();
  return {
    ...real,
    keepChange: ((tx, row, attempt, change) => {
      told(row.task.id, change.events);
      return real.keepChange(tx, row, attempt, change);
    }) satisfies typeof real.keepChange,
    keepNewTask: ((tx, made, facts) => {
      told(made.task.id, made.events);
      return real.keepNewTask(tx, made, facts);
    }) satisfies typeof real.keepNewTask,
  };
});

type Step = (world: World, seen: Seen) => Promise<unknown>;

/** What the calls so far have shown. */
interface Seen {
  readonly tasks: string[];
  // biome-ignore lint/suspicious/noExplicitAny: attempts as they came
  readonly attempts: any[];
  readonly claims: Record<string, unknown>[];
}

const pick = <T>(list: readonly T[], n: number): T | undefined =>
  list[n % Math.max(1, list.length)];

const small = fc.nat(5);
const steps: fc.Arbitrary<{ readonly name: string; readonly run: Step }> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(small, small, small).map(([key, priority, kind]) => ({
      name: `submit ${key} ${priority} ${kind}`,
      run: (async (world, seen) => {
        const reply = await world.call('POST', '/tasks', {
          body: {
            type: `demo/t${kind % 3}`,
            schemaVersion: 1,
            input: { kind },
            priority,
            labels: { kind: String(kind) },
            policy: { maxAttempts: 1 + (kind % 3), lostGraceMs: 20_000, leaseMs: 10_000 },
            ...(key > 3 ? { idempotencyKey: `k${key}` } : {}),
            ...(kind === 4
              ? { notBeforeAt: new Date(world.clock.wall() + 7_000).toISOString() }
              : {}),
          },
        });
        if (reply.status === 201) seen.tasks.push(reply.body.id);
        return reply.text;
      }) satisfies Step,
    })),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(small, small).map(([who, safety]) => ({
      name: `claim ${who} ${safety}`,
      run: (async (world, seen) => {
        const body = world.claimBody(`w${who % 2}`, {
          sessionId: who === 5 ? 'later' : `s${who % 2}`,
          want: [0, 1, 2].map((t) => ({
            type: `demo/t${t}`,
            schemaVersion: 1,
            slots: 2,
            effectSafety: ['pure', 'idempotent', 'non-idempotent'][safety % 3],
            effectGate: safety > 3 ? 'effect' : 'start',
          })),
          max: 1 + (safety % 3),
        });
        seen.claims.push(body);
        const reply = await world.call('POST', '/claims', { body });
        for (const attempt of reply.body.attempts ?? [])
          seen.attempts.push({ ...attempt, sessionId: body.sessionId });
        return reply.text;
      }) satisfies Step,
    })),
  },
  {
    weight: 1,
    arbitrary: small.map((n) => ({
      name: `claim again ${n}`,
      run: (async (world, seen) => {
        const body = pick(seen.claims, n);
        return body && (await world.call('POST', '/claims', { body })).text;
      }) satisfies Step,
    })),
  },
  {
    weight: 14,
    arbitrary: fc
      .tuple(
        fc.nat(20),
        fc.constantFrom(
          'renew',
          'start',
          'effect',
          'progress',
          'complete',
          'fail',
          'unknown',
          'cancelled',
          'lost',
          'release',
        ),
        small,
      )
      .map(([n, op, more]) => ({
        name: `${op} ${n} ${more}`,
        run: (async (world, seen) => {
          const attempt = seen.attempts.at(-1 - (n % Math.max(1, seen.attempts.length)));
          if (!attempt) return undefined;
          const error = { code: 'BROKE', message: 'm', retryable: more % 2 === 0 };
          const fields: Record<string, Record<string, unknown>> = {
            start: { sessionId: attempt.sessionId },
            effect: { sessionId: attempt.sessionId },
            progress: { n: 1 + more, percent: more, checkpoint: { more } },
            complete: { result: { more } },
            fail: { error },
            unknown: { error },
            lost: { reason: more > 3 ? 'drain' : 'host-died', begun: more > 1 },
            release: { reason: more > 3 ? 'drain' : 'no-handler' },
          };
          return (await world.report(attempt, op, fields[op])).text;
        }) satisfies Step,
      })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.nat(20), fc.constantFrom('cancel', 'retry', 'resolve'), small)
      .map(([n, what, more]) => ({
        name: `${what} ${n} ${more}`,
        run: (async (world, seen) => {
          const id = pick(seen.tasks, n);
          if (id === undefined) return undefined;
          const { seq } = await world.task(id);
          const resolution = ['succeeded', 'failed', 'retry', 'late-report'][more % 4];
          const body = {
            actionId: `a${more}`,
            ifSeq: more === 5 ? seq - 1 : seq,
            reason: 'r',
            ...(what === 'retry' ? { acceptRepeatedEffect: more > 2 } : {}),
            ...(what === 'resolve' ? { resolution, result: more } : {}),
          };
          return (await world.call('POST', `/tasks/${id}/${what}`, { body })).text;
        }) satisfies Step,
      })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(1, 3_000, 11_000, 45_000, 400_000).map((ms) => ({
      name: `${ms} ms go by`,
      run: ((world) => world.clock.advance(ms)) satisfies Step,
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constant({ name: 'restart', run: ((world) => world.restart()) satisfies Step }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        '/tasks?limit=2',
        '/tasks?include=input,result',
        '/tasks?needs=attention',
        '/tasks?label=kind=1',
        '/tasks?status=failed,queued',
        '/workers',
        '/types',
        '/doctor',
      )
      .map((path) => ({
        name: path,
        run: (async (world) => (await world.call('GET', path)).text) satisfies Step,
      })),
  },
);

async function begin(folder?: string): Promise<World> {
  if (folder === undefined) return World.start();
  // The same clock and chance as a world makes for itself.
  const clock = new SimulatedClock({ wallMs: Date.UTC(2026, 0, 1) });
  const random = new SimulatedRandom(7);
  const world = new World({
    store: openSqliteStore({ file: join(folder, 'test.db'), clock, random, sync: () => undefined }),
    clock,
    random,
  });
  await world.app.start();
  return world;
}

it('memory and SQLite give the same answers to any calls', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 25, maxLength: 60 }), async (sequence) => {
      const folder = mkdtempSync(join(tmpdir(), 'interlock-agree-'));
      given.clear();
      const [memory, sqlite] = [await begin(), await begin(folder)];
      try {
        const seen = [0, 1].map((): Seen => ({ tasks: [], attempts: [], claims: [] }));
        for (const { name, run } of sequence) {
          const one = await run(memory, seen[0] as Seen);
          const other = await run(sqlite, seen[1] as Seen);
          expect(comparable(other), name).toEqual(comparable(one));
        }
        for (const id of seen[0]?.tasks ?? []) {
          await isSound(sqlite, id);
          const kept = (
            await Promise.all([memory, sqlite].map((world) => entries(world, id)))
          ).flat();
          expect(kept.sort()).toEqual((given.get(id) ?? []).sort());
        }
      } finally {
        await Promise.all([memory.app.stop(), sqlite.app.stop()]);
        await Promise.all([memory.store.close(), sqlite.store.close()]);
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 25 },
  );
}, 120_000);

/** Lease tokens differ with the store's epoch, request ids with the process. */
function comparable(answer: unknown): unknown {
  return typeof answer === 'string'
    ? answer
        .replace(/"leaseToken":"[^"]+"/g, '"leaseToken":"…"')
        .replace(/"requestId":"[^"]+"/g, '"requestId":"…"')
    : answer;
}

async function entries(world: World, id: string): Promise<string[]> {
  const { body } = await world.call('GET', `/tasks/${id}/events`);
  return body.events.map(
    ({ kind, attemptId = '', data }: { kind: string; attemptId?: string; data: object }) =>
      `${kind} ${attemptId} ${JSON.stringify(data)}`,
  );
}

async function isSound(world: World, id: string): Promise<void> {
  const { body } = await world.call('GET', `/tasks/${id}/events`);
  const task = await world.task(id);
  let open: string | undefined;
  let terminal = false;
  for (const [index, event] of body.events.entries()) {
    expect(event.seq).toBe(index + 1);
    if (event.kind === 'leased') {
      expect(open, `two unended attempts of ${id}`).toBeUndefined();
      expect(terminal).toBe(false);
      open = event.attemptId;
    }
    if (['succeeded', 'failed', 'unknown', 'cancelled', 'lost', 'released'].includes(event.kind)) {
      if (event.attemptId !== undefined && event.attemptId === open) open = undefined;
    }
    if (event.kind !== 'late-report' && event.data.status !== undefined) {
      const ends = event.data.status !== 'queued';
      expect(
        terminal &&
          ends &&
          event.kind !== 'resolved' &&
          event.kind !== 'expired' &&
          event.kind !== 'cancelled',
      ).toBe(false);
      terminal = ends;
    }
  }
  expect(task.seq).toBe(body.events.length);
  if (task.status === 'running') expect(open).toBeDefined();
  if (task.status === 'queued') expect(open).toBeUndefined();
}
