import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { SimulatedRandom } from '../../sim/random.ts';
import { defaultPolicy, makeId } from '../../src/contract/index.ts';
import { type AttemptState, claimRank, type TaskState } from '../../src/core/task.ts';
import type {
  KeyRow,
  Note,
  Store,
  TaskRow,
  Transaction,
  WorkerRow,
} from '../../src/ports/store.ts';
import { inserted } from './inserted.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Removes what it left behind. */
  end(): Promise<void>;
}

/** What every store keeps, whatever it is made of. */
export function storeCases(
  name: string,
  open: (given: { clock: SimulatedClock; random: SimulatedRandom }) => OpenedStore,
): void {
  describe(`store ${name}`, () => {
    let clock: SimulatedClock;
    let random: SimulatedRandom;
    let opened: OpenedStore;
    let store: Store;
    let nowMs: number;

    beforeEach(async () => {
      clock = new SimulatedClock();
      random = new SimulatedRandom(11);
      opened = open({ clock, random });
      store = opened.store;
      nowMs = await store.nowMs();
    });
    afterEach(() => opened.end());

    const taskOf = (more: Partial<TaskState> = {}): TaskState => {
      const id = makeId('tsk', nowMs, random.bytes(10));
      return {
        id,
        project: 'p',
        type: 'demo/hello',
        schemaVersion: 1,
        pool: 'default',
        priority: 0,
        labels: {},
        effectKey: id,
        policy: defaultPolicy,
        status: 'queued',
        seq: 1,
        createdAtMs: nowMs,
        queuedAtMs: nowMs,
        availableAtMs: nowMs,
        attempts: 0,
        permitted: 5,
        undelivered: 0,
        losses: 0,
        fence: 0,
        cancelRequested: false,
        operatorSeq: 0,
        operatorFence: 0,
        ...more,
      };
    };
    const insert = (
      task: TaskState,
      more: Partial<Parameters<Transaction['insertTask']>[1]> = {},
    ): Promise<TaskRow> =>
      store.write((tx) =>
        inserted(tx, task, {
          dueAtMs: undefined,
          attention: false,
          rank: claimRank(task),
          inputJson: '{"n":1}',
          ...more,
        }),
      );
    const attemptOf = (task: TaskState, more: Partial<AttemptState> = {}): AttemptState => ({
      id: makeId('att', nowMs, random.bytes(10)),
      taskId: task.id,
      project: task.project,
      fence: 1,
      number: 1,
      workerId: 'w1',
      sessionId: 's1',
      effectSafety: 'non-idempotent',
      effectGate: 'effect',
      leaseMs: 30_000,
      leaseUntilMs: nowMs + 30_000,
      state: 'leased',
      claimedAtMs: nowMs,
      startAccepted: false,
      effectAccepted: false,
      progressN: 0,
      logN: 0,
      ...more,
    });
    const claimable = (more: Partial<Parameters<Transaction['claimable']>[0]> = {}) =>
      store.write(async (tx) =>
        (
          await tx.claimable({
            project: 'p',
            pools: ['default'],
            want: [{ type: 'demo/hello', schemaVersion: 1, slots: 100 }],
            max: 100,
            ...more,
          })
        ).map(({ task }) => task.id),
      );

    it('gives a task back as it was kept', async () => {
      const task = taskOf({
        labels: { 'a"b': 'x\u0000y', ключ: '😀' },
        effectKey: 'with\u0000zero',
        idempotencyKey: "o'clock",
        traceparent: '00-1-2-03',
        priority: -7,
        notBeforeMs: nowMs + 1,
        deadlineMs: nowMs + 2,
        startedAtMs: nowMs + 3,
        finishedAtMs: nowMs + 4,
        attempts: 2,
        undelivered: 3,
        losses: 1,
        fence: 4,
        attemptId: 'att_x',
        workerId: 'w1',
        cancelRequested: true,
        cancelReason: 'no\u0000pe',
        operatorSeq: 5,
        operatorFence: 6,
        status: 'failed',
        error: { code: 'E', message: 'm', retryable: false, effect: 'begun', attempt: 2 },
        progress: { percent: 12.5, message: 'half', atMs: nowMs },
        lateReport: { op: 'complete', atMs: nowMs, resultJson: '{"late":"\\u0000"}' },
      });
      await insert(task, { requestHash: 'h' });
      expect((await store.task('p', task.id))?.task).toEqual(task);
      expect(await store.taskByKey('p', "o'clock")).toMatchObject({ requestHash: 'h' });
      expect(await store.task('other', task.id)).toBeUndefined();
      expect(await store.taskByKey('other', "o'clock")).toBeUndefined();
    });

    it('keeps payloads apart from the task and as the very text', async () => {
      const text = '{"b":1.10,"a":"\\u0000","1":[]}';
      const row = await insert(taskOf(), { inputJson: text });
      expect(await store.payload(row.ref, 'input')).toBe(text);
      expect(await store.payload(row.ref, 'result')).toBeUndefined();
      const saved = await store.write(async (tx) => {
        const loaded = (await tx.task('p', row.task.id)) as TaskRow;
        const next = { ...loaded.task, checkpointJson: '1', resultJson: '"r"' };
        return tx.saveTask(loaded, next, { dueAtMs: undefined, attention: false });
      });
      // A change that says nothing of them leaves them.
      await store.write(async (tx) => {
        const loaded = (await tx.task('p', row.task.id)) as TaskRow;
        await tx.saveTask(
          loaded,
          { ...loaded.task, seq: 9 },
          { dueAtMs: undefined, attention: false },
        );
      });
      expect(await store.payload(saved.ref, 'checkpoint')).toBe('1');
      expect(await store.payload(saved.ref, 'result')).toBe('"r"');
      expect((await store.task('p', row.task.id))?.task.seq).toBe(9);
    });

    it('gives an attempt back as it was kept, with its task', async () => {
      const row = await insert(taskOf());
      const attempt = attemptOf(row.task, {
        state: 'lost',
        countedAtMs: nowMs,
        startAccepted: true,
        effectAccepted: true,
        progressN: 3,
        logN: 4,
        endedAtMs: nowMs + 1,
        end: { op: 'lost', hash: 'h1' },
        late: { op: 'complete', hash: 'h2' },
      });
      await store.write(async (tx) => {
        const kept = await tx.insertAttempt(row, {
          ...attempt,
          state: 'leased',
          endedAtMs: undefined,
        });
        await tx.saveAttempt(kept, attempt);
      });
      const found = await store.attempt('p', attempt.id);
      expect(found?.attempt.attempt).toEqual(attempt);
      expect(found?.row.task).toEqual(row.task);
      expect(await store.attempt('other', attempt.id)).toBeUndefined();
      const named = { ...row, task: { ...row.task, attemptId: attempt.id } };
      expect((await store.latestAttempt(named))?.attempt).toEqual(attempt);
      expect(await store.latestAttempt(row)).toBeUndefined();
    });

    it('undoes a failing command alone, whatever was done beside it', async () => {
      const [first, bad, last] = [taskOf(), taskOf(), taskOf()];
      const facts = { dueAtMs: nowMs, attention: false, rank: 0, inputJson: '1' };
      const done = await Promise.allSettled([
        store.write((tx) => inserted(tx, first, facts)),
        store.write(async (tx) => {
          const row = await inserted(tx, bad, facts);
          await tx.addEvents(row.ref, 1, [{ kind: 'submitted', by: 'k', data: {} }]);
          await tx.saveSession('p', 'w', 's', false);
          throw new Error('no');
        }),
        store.write((tx) => inserted(tx, last, facts)),
      ]);
      expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await store.task('p', first.id)).toBeDefined();
      expect(await store.task('p', bad.id)).toBeUndefined();
      expect(await store.task('p', last.id)).toBeDefined();
      expect(await store.session('p', 'w', 's')).toBeUndefined();
      expect(await store.write(async (tx) => (await tx.due(10)).length)).toBe(2);
    });

    it('keeps and tells the others of a group once, whichever of them fails, written or not', async () => {
      const got: Note[] = [];
      store.subscribe((notes) => got.push(...notes));
      const note = (workerId: string): Note => ({ kind: 'drain', project: 'p', workerId });
      const before = store.stats;
      const facts = { dueAtMs: nowMs, attention: false, rank: 0, inputJson: '1' };
      const tasks = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ ...taskOf(), id }));
      const done = await Promise.allSettled(
        tasks.map((task) =>
          store.write(async (tx) => {
            tx.announce(note(task.id));
            if (task.id === 'b') throw new Error('no');
            // Those before it are there, those that failed are not.
            const seen = (await tx.due(10)).map((row) => row.task.id);
            const { ref } = await inserted(tx, task, facts);
            await tx.addEvents(ref, 1, [{ kind: 'submitted', by: 'k', data: {} }]);
            if (task.id === 'c') throw new Error('no');
            return seen;
          }),
        ),
      );
      expect(
        done.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message)),
      ).toEqual([[], 'no', 'no', ['a'], ['a', 'd']]);
      expect(got).toEqual(['a', 'd', 'e'].map(note));
      expect(store.stats.commands - before.commands).toBe(5);
      expect(store.stats.failures).toBe(before.failures);
      for (const { id } of tasks) {
        const row = await store.task('p', id);
        expect(row !== undefined).toBe(id !== 'b' && id !== 'c');
        if (row) expect(await store.events(row.ref, 0, 10)).toHaveLength(1);
      }
    });

    it('runs commands one after the other in the order they were given', async () => {
      const row = await insert(taskOf());
      const add = () =>
        store.write(async (tx) => {
          const loaded = (await tx.task('p', row.task.id)) as TaskRow;
          await Promise.resolve();
          const next = { ...loaded.task, attempts: loaded.task.attempts + 1 };
          await tx.saveTask(loaded, next, { dueAtMs: undefined, attention: false });
          return next.attempts;
        });
      expect(await Promise.all(Array.from({ length: 50 }, add))).toEqual(
        Array.from({ length: 50 }, (_, i) => i + 1),
      );
    });

    it('takes commands that wait at the same moment into one commit', async () => {
      const before = store.stats;
      await Promise.all(Array.from({ length: 50 }, () => insert(taskOf())));
      expect(store.stats.commands - before.commands).toBe(50);
      expect(store.stats.commits - before.commits).toBeLessThanOrEqual(3);
    });

    it('shows others nothing before it is kept, and a transaction what it wrote itself', async () => {
      const task = taskOf();
      let outside: Promise<TaskRow | undefined> | undefined;
      await store.write(async (tx) => {
        await inserted(tx, task, {
          dueAtMs: undefined,
          attention: false,
          rank: 0,
          inputJson: '1',
        });
        expect(await tx.task('p', task.id)).toBeDefined();
        outside = store.task('p', 'tsk_none');
      });
      expect(await outside).toBeUndefined();
      let seen: unknown = 'not asked';
      const failing = store.write(async (tx) => {
        await tx.saveSession('p', 'w', 'unkept', false);
        seen = store.session('p', 'w', 'unkept');
        await Promise.resolve();
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      expect(await seen).toBeUndefined();
    });

    it('refuses a second task with an id or an idempotency key of the project', async () => {
      const task = taskOf({ idempotencyKey: 'k' });
      await insert(task, { requestHash: 'h' });
      await expect(insert({ ...taskOf(), id: task.id })).rejects.toThrow();
      const again = taskOf({ idempotencyKey: 'k' });
      await expect(insert(again, { requestHash: 'h' })).rejects.toThrow('its idempotency key');
      // It is no failure of the transaction: what else it does is kept, and nothing of the second task.
      expect(await store.task('p', again.id)).toBeUndefined();
      expect((await store.taskByKey('p', 'k'))?.row.task.id).toBe(task.id);
      await insert(taskOf({ idempotencyKey: 'k', project: 'other' }), { requestHash: 'h' });
    });

    it('finds claimable tasks by rank, then age, within pools, types, slots and max', async () => {
      const early = taskOf({ createdAtMs: nowMs - 1_000 });
      const urgent = taskOf({ priority: 5 });
      const same = taskOf({ createdAtMs: nowMs - 1_000 });
      const otherPool = taskOf({ pool: 'gpu', priority: 100 });
      const otherVersion = taskOf({ schemaVersion: 2, priority: 100 });
      const otherProject = taskOf({ project: 'q', priority: 100 });
      for (const task of [early, urgent, same, otherPool, otherVersion, otherProject])
        await insert(task);
      expect(await claimable()).toEqual([urgent.id, early.id, same.id]);
      expect(await claimable({ max: 2 })).toEqual([urgent.id, early.id]);
      expect(await claimable({ max: 0 })).toEqual([]);
      expect(await claimable({ pools: ['gpu', 'default'] })).toEqual([
        otherPool.id,
        urgent.id,
        early.id,
        same.id,
      ]);
      const want = [
        { type: 'demo/hello', schemaVersion: 1, slots: 1 },
        { type: 'demo/hello', schemaVersion: 2, slots: 5 },
        { type: 'demo/none', schemaVersion: 1, slots: 5 },
      ];
      expect(await claimable({ want })).toEqual([otherVersion.id, urgent.id]);
      // The slots of a type are counted over all pools.
      expect(await claimable({ pools: ['gpu', 'default'], want: want.slice(0, 1) })).toEqual([
        otherPool.id,
      ]);
    });

    it('finds the same for a claim that names many pools and types', async () => {
      const pools = ['default', 'gpu', 'a', 'b', 'c'];
      const tasks: TaskState[] = [];
      for (let i = 0; i < 12; i++) {
        const task = taskOf({
          pool: pools[i % 3] as string,
          type: `demo/t${i % 4}`,
          schemaVersion: 1 + (i % 2),
          priority: (i * 5) % 7,
        });
        tasks.push((await insert(task)).task);
      }
      const want = [0, 1, 2].flatMap((t) =>
        [1, 2].map((schemaVersion) => ({ type: `demo/t${t}`, schemaVersion, slots: 2 })),
      );
      const few = await Promise.all(
        want.map((one) => claimable({ pools: ['default', 'gpu'], want: [one] })),
      );
      const order = (ids: string[]) =>
        tasks
          .filter(({ id }) => ids.includes(id))
          .sort((a, b) => claimRank(a) - claimRank(b) || tasks.indexOf(a) - tasks.indexOf(b))
          .map(({ id }) => id);
      expect(await claimable({ pools: ['default', 'gpu'], want })).toEqual(order(few.flat()));
      expect(await claimable({ project: 'q', pools, want })).toEqual([]);
    });

    it('lets nobody claim before its time, after its deadline, or what is not queued', async () => {
      const later = taskOf({ availableAtMs: nowMs + 100 });
      await insert(later);
      await insert(taskOf({ deadlineMs: nowMs }));
      await insert(taskOf({ status: 'running' }));
      expect(await claimable()).toEqual([]);
      expect(await store.nextTimeMs()).toBe(nowMs + 100);
      expect(await store.write((tx) => tx.makeAvailable(10))).toEqual([]);
      await clock.advance(100);
      expect(await store.write((tx) => tx.makeAvailable(10))).toEqual([
        { project: 'p', pool: 'default', type: 'demo/hello', schemaVersion: 1 },
      ]);
      expect(await store.write((tx) => tx.makeAvailable(10))).toEqual([]);
      expect(await claimable()).toEqual([later.id]);
    });

    it('finds what is due, earliest first, and forgets it when it is not any more', async () => {
      const rows: TaskRow[] = [];
      for (const dueAtMs of [nowMs + 30, nowMs + 10, nowMs + 20, undefined])
        rows.push(await insert(taskOf(), { dueAtMs }));
      const due = () => store.write(async (tx) => (await tx.due(2)).map(({ ref }) => ref));
      expect(await due()).toEqual([]);
      expect(await store.nextTimeMs()).toBe(nowMs + 10);
      await clock.advance(25);
      expect(await due()).toEqual([rows[1]?.ref, rows[2]?.ref]);
      await store.write((tx) => tx.saveDue(rows[1] as TaskRow, undefined));
      await store.write((tx) => tx.saveDue(rows[2] as TaskRow, nowMs + 40));
      expect(await due()).toEqual([]);
      expect(await store.nextTimeMs()).toBe(nowMs + 30);
    });

    it('finds queued tasks that are stamped ahead of its clock, in their order, page by page', async () => {
      const ahead = (by: number, more: Partial<TaskState> = {}) =>
        insert(taskOf({ queuedAtMs: nowMs + by, availableAtMs: nowMs + by, ...more }));
      const late = await ahead(3_000);
      const twin = await ahead(2_000);
      const early = await ahead(1_000, { project: 'q', availableAtMs: nowMs + 9_000 });
      const second = await ahead(2_000);
      // It only waits for its notBeforeAt; the next one was created ahead as well.
      await ahead(2_500, { notBeforeMs: nowMs + 2_500 });
      const created = await ahead(2_500, {
        notBeforeMs: nowMs + 2_500,
        createdAtMs: nowMs + 1,
      });
      await ahead(2_500, { status: 'running' });
      await ahead(2_500, { status: 'expired' });
      await ahead(0, { availableAtMs: nowMs + 5_000 });
      const found: number[] = [];
      let after = { queuedAtMs: nowMs, ref: 0 };
      for (let pages = 0; pages < 10; pages++) {
        const rows = await store.write((tx) => tx.queuedAhead(after, 2));
        const last = rows.at(-1);
        if (!last) break;
        found.push(...rows.map(({ ref }) => ref));
        after = { queuedAtMs: last.task.queuedAtMs, ref: last.ref };
      }
      expect(found).toEqual([early, twin, second, created, late].map(({ ref }) => ref));
      await clock.advance(3_000);
      expect(await store.write((tx) => tx.queuedAhead({ queuedAtMs: nowMs, ref: 0 }, 9))).toEqual(
        [],
      );
    });

    it('keeps a new rank', async () => {
      const [first, second] = [await insert(taskOf()), await insert(taskOf())];
      expect(await claimable()).toEqual([first.task.id, second.task.id]);
      await store.write((tx) => tx.saveRank(second, claimRank(second.task) - 1));
      expect(await claimable()).toEqual([second.task.id, first.task.id]);
    });

    it('gives pages newest first, without gap or repetition, also while tasks change', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 25; i++) {
        await clock.advance(1);
        nowMs = await store.nowMs();
        const status = (['queued', 'running', 'succeeded', 'failed'] as const)[i % 4] ?? 'queued';
        ids.push((await insert(taskOf({ status }))).task.id);
      }
      const seen: string[] = [];
      let belowId: string | undefined;
      for (let pages = 0; pages < 10; pages++) {
        const page = await store.tasks({ project: 'p', belowId, limit: 10 });
        seen.push(...page.rows.map(({ task }) => task.id));
        if (page.next === undefined) break;
        belowId = page.next;
        // One that was seen moves to another status.
        const row = page.rows[0] as TaskRow;
        await store.write((tx) =>
          tx.saveTask(
            row,
            { ...row.task, status: 'expired' },
            { dueAtMs: undefined, attention: false },
          ),
        );
      }
      expect(seen).toEqual([...ids].reverse());
      expect(await store.tasks({ project: 'q', limit: 10 })).toEqual({ rows: [] });
    });

    it('filters a list by status, type, version, pool, labels, ids and attention', async () => {
      const found = async (query: Record<string, unknown>) =>
        (await store.tasks({ project: 'p', limit: 50, ...query })).rows.map(({ task }) => task.id);
      const plain = taskOf();
      const labelled = taskOf({ labels: { team: 'a', "we'ird\u0000": '1' } });
      const other = taskOf({ type: 'demo/other', schemaVersion: 3, pool: 'gpu', status: 'failed' });
      await insert(plain);
      await insert(labelled);
      await insert(other, { attention: true });
      const [lowest, ...rest] = [plain.id, labelled.id, other.id].sort();
      expect(await found({ statuses: ['failed'] })).toEqual([other.id]);
      expect(await found({ statuses: ['failed', 'queued'] })).toHaveLength(3);
      expect(await found({ type: 'demo/other' })).toEqual([other.id]);
      expect(await found({ type: 'demo/hello', schemaVersion: 2 })).toEqual([]);
      expect(await found({ pool: 'gpu' })).toEqual([other.id]);
      expect(await found({ labels: [{ name: 'team', value: 'a' }] })).toEqual([labelled.id]);
      expect(await found({ labels: [{ name: 'team', value: 'b' }] })).toEqual([]);
      expect(
        await found({ labels: [{ name: 'team' }, { name: "we'ird\u0000", value: '1' }] }),
      ).toEqual([labelled.id]);
      expect(await found({ labels: [{ name: 'constructor' }] })).toEqual([]);
      expect(await found({ attention: true })).toEqual([other.id]);
      expect((await found({ aboveId: lowest })).sort()).toEqual(rest);
      expect(await found({ belowId: rest[0] })).toEqual([lowest]);
    });

    it('numbers the journal and keeps two writers from the same entry', async () => {
      const { ref } = await insert(taskOf());
      await store.write((tx) =>
        tx.addEvents(ref, 1, [
          { kind: 'submitted', by: 'key:k', data: { text: 'a\u0000b' } },
          { kind: 'leased', attemptId: 'att_1', fence: 1, by: 'worker:w', data: {} },
        ]),
      );
      await clock.advance(5);
      await store.write((tx) => tx.addEvents(ref, 3, [{ kind: 'lost', by: 'sweeper', data: {} }]));
      expect(await store.events(ref, 1, 10)).toEqual([
        {
          seq: 2,
          atMs: nowMs,
          kind: 'leased',
          attemptId: 'att_1',
          fence: 1,
          by: 'worker:w',
          data: {},
        },
        { seq: 3, atMs: nowMs + 5, kind: 'lost', by: 'sweeper', data: {} },
      ]);
      expect((await store.events(ref, 0, 1)).map(({ data }) => data)).toEqual([
        { text: 'a\u0000b' },
      ]);
      await expect(
        store.write((tx) => tx.addEvents(ref, 3, [{ kind: 'lost', by: 'x', data: {} }])),
      ).rejects.toThrow();
      expect(await store.events(ref, 0, 10)).toHaveLength(3);
    });

    it('does what is called without waiting in the order of the calls', async () => {
      const row = await insert(taskOf());
      const said = (kind: 'leased' | 'started') => [{ kind, by: 'worker:w', data: {} }];
      await store.write((tx) => {
        const facts = { dueAtMs: undefined, attention: false };
        return Promise.all([
          tx.addEvents(row.ref, 1, said('leased')),
          tx.saveTask(row, { ...row.task, seq: 1 }, facts),
          tx.addEvents(row.ref, 2, said('started')),
          tx.saveTask(row, { ...row.task, seq: 2 }, facts),
        ]);
      });
      expect((await store.events(row.ref, 0, 9)).map(({ kind }) => kind)).toEqual([
        'leased',
        'started',
      ]);
      expect((await store.task(row.task.project, row.task.id))?.task.seq).toBe(2);
    });

    it('keeps log lines within their bounds, the oldest go', async () => {
      const { ref } = await insert(taskOf());
      const add = (count: number, text: string, bounds = { lines: 20, chars: 1_000 }) =>
        store.write((tx) =>
          tx.addLogs(
            ref,
            1,
            Array.from({ length: count }, () => ({ at: 'now', level: 'info', text })),
            bounds,
          ),
        );
      expect(await store.lastLog(ref)).toBe(0);
      await add(15, 'short');
      await add(15, 'zero\u0000');
      const lines = await store.logs(ref, 0, 100);
      expect(lines.length).toBeLessThanOrEqual(20);
      expect(lines.at(-1)).toEqual({
        n: 30,
        attempt: 1,
        at: 'now',
        level: 'info',
        text: 'zero\u0000',
      });
      await add(3, 'x'.repeat(400));
      const long = await store.logs(ref, 0, 100);
      expect(long.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(1_000);
      expect(long.at(-1)?.n).toBe(33);
      expect(await store.logs(ref, 32, 100)).toHaveLength(1);
      // A single line is kept however long it is.
      await add(1, 'y'.repeat(3_000));
      expect((await store.logs(ref, 0, 100)).map(({ n }) => n)).toEqual([34]);
      expect(await store.lastLog(ref)).toBe(34);
    });

    it('remembers the first answer to an action of a task', async () => {
      const { ref } = await insert(taskOf());
      const action = { kind: 'retry' as const, status: 200, body: '{"a":"\\u0000"}' };
      await store.write((tx) => tx.addAction(ref, 'act', action));
      expect(await store.action(ref, 'act')).toEqual({ ...action, atMs: nowMs });
      expect(await store.action(ref + 1, 'act')).toBeUndefined();
      await expect(store.write((tx) => tx.addAction(ref, 'act', action))).rejects.toThrow();
    });

    it('remembers what a claim got, by project, worker, session and request', async () => {
      const name = { project: 'p', workerId: 'w', sessionId: 's', requestId: 'r' };
      expect(await store.claimed(name)).toBeUndefined();
      await store.write((tx) => tx.addClaim(name, ['att_1', 'att_2']));
      await store.write((tx) => tx.addClaim({ ...name, sessionId: 's2' }, []));
      expect(await store.claimed(name)).toEqual(['att_1', 'att_2']);
      expect(await store.claimed({ ...name, sessionId: 's2' })).toEqual([]);
      for (const other of [{ project: 'q' }, { workerId: 'x' }, { requestId: 'x' }])
        expect(await store.claimed({ ...name, ...other })).toBeUndefined();
    });

    const workerOf = (more: Partial<WorkerRow> = {}): WorkerRow => ({
      project: 'p',
      workerId: 'w1',
      keyId: 'key_1',
      sessionId: 's1',
      lastSeenMs: nowMs,
      ...more,
    });

    it('keeps workers, what they serve and their sessions', async () => {
      const present = {
        atMs: nowMs,
        state: 'full' as const,
        slots: { max: 2, busy: 2 },
        pools: ['default'],
        versions: { node: '24' },
        spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
        handlersHash: 'h',
        openAttempts: 0,
      };
      const handlers = [
        {
          type: 'demo/hello',
          schemaVersion: 1,
          effectSafety: 'pure' as const,
          effectGate: 'start' as const,
        },
      ];
      const worker = workerOf({ present, drainSessionId: 's1' });
      await store.write(async (tx) => {
        await tx.saveWorker(worker);
        await tx.saveHandlers('p', 'w1', handlers);
        await tx.saveWorker(workerOf({ project: 'q' }));
      });
      const { task, ref } = await insert(taskOf());
      await store.write((tx) => tx.insertAttempt({ ref, task }, attemptOf(task)));
      expect(await store.worker('p', 'w1')).toEqual(worker);
      expect(await store.handlers('p', 'w1')).toEqual(handlers);
      expect(await store.handlers('q', 'w1')).toEqual([]);
      expect(await store.workers('p')).toEqual([{ worker, handlers, openAttempts: 1 }]);
      expect(await store.countOpenAttempts('p', 'w1')).toBe(1);
      await store.write((tx) => tx.saveWorker({ ...worker, drainSessionId: undefined }));
      expect((await store.worker('p', 'w1'))?.drainSessionId).toBeUndefined();
      expect(await store.handlers('p', 'w1')).toEqual(handlers);
    });

    it('writes down a sign of life only of the current session and now and then', async () => {
      await store.write((tx) => tx.saveWorker(workerOf()));
      const touch = (sessionId: string) =>
        store.write((tx) => tx.touchWorker('p', 'w1', sessionId, 1_000));
      const seen = async () => (await store.worker('p', 'w1'))?.lastSeenMs;
      await clock.advance(1_000);
      await touch('s1');
      expect(await seen()).toBe(nowMs);
      await clock.advance(1);
      await touch('s0');
      expect(await seen()).toBe(nowMs);
      await touch('s1');
      expect(await seen()).toBe(nowMs + 1_001);
    });

    it('stamps a sign of life from ahead of its clock as of now', async () => {
      const said = { atMs: nowMs + 50, state: 'ready' as const, slots: { max: 1, busy: 0 } };
      const present = { ...said, pools: ['default'], versions: {}, openAttempts: 0 };
      await store.write(async (tx) => {
        for (const [i, ahead] of [-5, 0, 70, 0, 90].entries())
          await tx.saveWorker(workerOf({ workerId: `w${i}`, lastSeenMs: nowMs + ahead, present }));
      });
      let [changed, aheadMs, pages] = [0, 0, 0];
      let before: number | undefined = Number.MAX_SAFE_INTEGER;
      while (before !== undefined && pages++ < 10) {
        const from: number = before;
        const done = await store.write((tx) => tx.stampAsOfNow('workers', from, 2));
        changed += done.changed;
        aheadMs = Math.max(aheadMs, done.aheadMs);
        before = done.next;
      }
      expect([changed, aheadMs]).toEqual([2, 90]);
      const seen = (await store.workers('p')).map(({ worker }) => worker.lastSeenMs - nowMs);
      expect(seen).toEqual([-5, 0, 0, 0, 0]);
      for (const what of ['sessions', 'claims', 'actions'] as const)
        expect(await store.write((tx) => tx.stampAsOfNow(what, 9_999, 10))).toMatchObject({
          changed: 0,
          aheadMs: 0,
        });
    });

    it('forgets what is old, but no session that is current and no worker at work', async () => {
      const { task, ref } = await insert(taskOf());
      const name = { project: 'p', workerId: 'w1', sessionId: 's1', requestId: 'r' };
      await store.write(async (tx) => {
        await tx.saveWorker(workerOf());
        await tx.saveWorker(workerOf({ workerId: 'w2', sessionId: 'z' }));
        await tx.saveSession('p', 'w1', 's0', true);
        await tx.saveSession('p', 'w1', 's1', false);
        await tx.addClaim(name, []);
        await tx.addAction(ref, 'a', { kind: 'cancel', status: 200, body: '{}' });
        await tx.insertAttempt({ ref, task }, attemptOf(task));
      });
      await clock.advance(100);
      await store.write((tx) => tx.addClaim({ ...name, requestId: 'young' }, []));
      expect(await store.write((tx) => tx.forget(nowMs, 10))).toBe(0);
      expect(await store.write((tx) => tx.forget(nowMs + 50, 10))).toBe(4);
      expect(await store.claimed(name)).toBeUndefined();
      expect(await store.claimed({ ...name, requestId: 'young' })).toEqual([]);
      expect(await store.action(ref, 'a')).toBeUndefined();
      expect(await store.session('p', 'w1', 's0')).toBeUndefined();
      expect(await store.session('p', 'w1', 's1')).toEqual({ superseded: false });
      expect(await store.worker('p', 'w1')).toBeDefined();
      expect(await store.worker('p', 'w2')).toBeUndefined();
    });

    it('finds unended attempts, of a worker and of all', async () => {
      const refs: number[] = [];
      for (const project of ['p', 'p', 'q']) {
        const row = await insert(taskOf({ project }));
        const kept = await store.write((tx) => tx.insertAttempt(row, attemptOf(row.task)));
        refs.push(kept.ref);
      }
      const ended = await insert(taskOf());
      await store.write((tx) =>
        tx.insertAttempt(ended, attemptOf(ended.task, { endedAtMs: nowMs, state: 'succeeded' })),
      );
      const ofWorker = await store.openAttempts('p', 'w1');
      expect(ofWorker.map(({ attempt }) => attempt.ref)).toEqual(refs.slice(0, 2));
      const all = (after: number) =>
        store.write(async (tx) =>
          (await tx.openAttemptsAfter(after, 2)).map(({ attempt }) => attempt.ref),
        );
      expect(await all(0)).toEqual(refs.slice(0, 2));
      expect(await all(refs[1] as number)).toEqual(refs.slice(2));
    });

    it('gives the attempts since an instant, and how they went, oldest first', async () => {
      const rows: [TaskRow, TaskRow, TaskRow] = [
        await insert(taskOf({ queuedAtMs: nowMs - 40, availableAtMs: nowMs - 30 })),
        await insert(taskOf({ type: 'demo/Other', schemaVersion: 3 })),
        await insert(taskOf({ project: 'q' })),
      ];
      const [one, two, foreign] = rows;
      const old = attemptOf(one.task, { claimedAtMs: nowMs - 1_000, endedAtMs: nowMs - 900 });
      const now = attemptOf(one.task, { state: 'succeeded', countedAtMs: nowMs, endedAtMs: nowMs });
      const open = attemptOf(two.task, { workerId: 'w2' });
      await store.write(async (tx) => {
        await tx.insertAttempt(one, old);
        await tx.insertAttempt(one, now);
        await tx.insertAttempt(foreign, attemptOf(foreign.task));
        await tx.insertAttempt(two, open);
        const taken: TaskState = { ...one.task, attemptId: now.id };
        await tx.saveTask(one, taken, { dueAtMs: undefined, attention: false });
      });
      const since = await store.attemptsSince('p', nowMs, 100);
      expect(since).toEqual({
        every: 1,
        rows: [
          {
            id: now.id,
            taskId: one.task.id,
            type: 'demo/hello',
            schemaVersion: 1,
            workerId: 'w1',
            state: 'succeeded',
            availableAtMs: nowMs - 30,
            countedAtMs: nowMs,
            endedAtMs: nowMs,
          },
          {
            id: open.id,
            taskId: two.task.id,
            type: 'demo/Other',
            schemaVersion: 3,
            workerId: 'w2',
            state: 'leased',
          },
        ],
      });
      // Of one that was tried again nobody knows any more since when it had waited before.
      expect((await store.attemptsSince('p', 0, 100)).rows[0]).toMatchObject({
        id: old.id,
        availableAtMs: undefined,
      });
      expect((await store.endedAttempts('p', 'w1', 100, 5)).map(({ id }) => id)).toEqual([
        now.id,
        old.id,
      ]);
      expect(await store.endedAttempts('p', 'w1', 100, 1)).toHaveLength(1);
      expect(await store.endedAttempts('p', 'w1', 1, 5)).toEqual([]);
      expect(await store.endedAttempts('p', 'w2', 100, 5)).toEqual([]);
    });

    it('looks at no more attempts than it was told to, evenly spaced', async () => {
      const row = await insert(taskOf());
      await store.write(async (tx) => {
        for (let i = 0; i < 20; i++)
          await tx.insertAttempt(
            row,
            attemptOf(row.task, { claimedAtMs: nowMs + i, fence: i + 1 }),
          );
      });
      const found = await store.attemptsSince('p', nowMs + 10, 4);
      expect(found.every).toBe(3);
      expect(found.rows).toHaveLength(4);
      expect(await store.attemptsSince('p', nowMs + 20, 4)).toEqual({ every: 1, rows: [] });
    });

    it('counts the queue by pool and type', async () => {
      await insert(taskOf({ createdAtMs: nowMs - 500 }));
      await insert(taskOf({ availableAtMs: nowMs + 1_000 }));
      await insert(taskOf({ status: 'running' }));
      await insert(taskOf({ status: 'succeeded' }));
      await insert(taskOf({ pool: 'gpu', status: 'running' }));
      await insert(taskOf({ project: 'q' }));
      const groups = [...(await store.queue('p'))].sort((a, b) => (a.pool < b.pool ? -1 : 1));
      expect(groups).toEqual([
        {
          pool: 'default',
          type: 'demo/hello',
          schemaVersion: 1,
          queued: 2,
          running: 1,
          oldestQueuedAtMs: nowMs - 500,
        },
        {
          pool: 'gpu',
          type: 'demo/hello',
          schemaVersion: 1,
          queued: 0,
          running: 1,
          oldestQueuedAtMs: undefined,
        },
      ]);
    });

    it('counts a status up to a bound', async () => {
      for (let i = 0; i < 4; i++) await insert(taskOf({ status: 'failed' }));
      await insert(taskOf({ status: 'failed', project: 'q' }));
      await insert(taskOf());
      expect(await store.countTasks('p', 'failed', 10)).toBe(4);
      expect(await store.countTasks('p', 'failed', 3)).toBe(3);
      expect(await store.countTasks('p', 'expired', 3)).toBe(0);
    });

    it('groups the newest failures of a time by type, version and code, without those that wait for a decision', async () => {
      const failed = (code: string | undefined, more: Partial<TaskState> = {}) =>
        taskOf({
          status: 'failed',
          finishedAtMs: nowMs,
          ...(code === undefined ? {} : { error: { code, message: 'm', retryable: false } }),
          ...more,
        });
      await insert(failed('TOO_MANY'));
      nowMs++;
      const ids: string[] = [];
      for (const [code, version] of [['A'], ['A'], ['A', 2], [undefined]] as const) {
        ids.push((await insert(failed(code, { schemaVersion: version ?? 1 }))).task.id);
        nowMs++;
      }
      await insert(failed('A'), { attention: true });
      await insert(failed('A', { project: 'q' }));
      // Ended before the time that is asked for.
      await insert(failed('A', { finishedAtMs: nowMs - 10_000 }));
      const hello = { type: 'demo/hello', schemaVersion: 1 };
      expect(await store.failureGroups('p', 6, nowMs - 9_000)).toEqual([
        { ...hello, code: '', tasks: 1, newestId: ids[3] },
        { ...hello, schemaVersion: 2, code: 'A', tasks: 1, newestId: ids[2] },
        { ...hello, code: 'A', tasks: 2, newestId: ids[1] },
      ]);
    });

    it('finds what was lost again and again and is not over, newest first', async () => {
      const [first, second] = [taskOf({ losses: 2 }), taskOf({ losses: 5, status: 'running' })];
      nowMs++;
      for (const task of [
        { ...first, id: makeId('tsk', nowMs - 1, random.bytes(10)) },
        { ...second, id: makeId('tsk', nowMs, random.bytes(10)) },
        taskOf({ losses: 1 }),
        taskOf({ losses: 2, status: 'failed' }),
        taskOf({ losses: 2, project: 'q' }),
      ])
        await insert(task);
      const losses = async (limit: number) =>
        (await store.losingTasks('p', limit)).map(({ task }) => task.losses);
      expect(await losses(10)).toEqual([5, 2]);
      expect(await losses(1)).toEqual([5]);
    });

    it('counts on through changes, undone ones and forgetting', async () => {
      const row = await insert(taskOf());
      const facts = { dueAtMs: undefined, attention: false };
      const counts = async () => (await store.queue('p')).map((g) => [g.queued, g.running]);
      const become = (status: TaskState['status']) =>
        store.write(async (tx) => {
          const loaded = (await tx.task('p', row.task.id)) as TaskRow;
          await tx.saveTask(loaded, { ...loaded.task, status }, facts);
        });
      await become('running');
      expect(await counts()).toEqual([[0, 1]]);
      await become('failed');
      await store.write((tx) => tx.forget(nowMs, 10));
      expect(await counts()).toEqual([]);
      await become('queued');
      expect(await counts()).toEqual([[1, 0]]);
      await store
        .write(async (tx) => {
          await tx.saveTask(row, { ...row.task, status: 'succeeded' }, facts);
          throw new Error('no');
        })
        .catch(() => {});
      expect(await counts()).toEqual([[1, 0]]);
    });

    it('keeps keys by their hash', async () => {
      const key = {
        id: 'key_1',
        project: 'p',
        name: 'garage',
        kind: 'task-worker' as const,
        hash: 'abc',
        createdAtMs: nowMs,
      };
      expect(await store.countKeys()).toBe(0);
      await store.write((tx) => tx.insertKey(key));
      expect(await store.keyByHash('abc')).toEqual(key);
      expect(await store.keyById('key_1')).toEqual(key);
      expect(await store.keyByHash('abd')).toBeUndefined();
      expect(await store.countKeys()).toBe(1);
      await expect(store.write((tx) => tx.insertKey({ ...key, id: 'key_2' }))).rejects.toThrow();
    });

    it('keeps what a key is limited to, its end and its use, and lists keys newest first', async () => {
      const made = (n: number, more: Partial<KeyRow> = {}): KeyRow => ({
        id: `key_${n}`,
        project: 'p',
        name: `key ${n}`,
        kind: 'admin',
        hash: `hash ${n}`,
        createdAtMs: nowMs,
        ...more,
      });
      const limited = made(1, {
        expiresAtMs: nowMs + 100,
        limits: { pools: ['a'], types: ['b/c@1'], workerIdPrefix: 'w', requestsPerMinute: 6 },
      });
      await store.write(async (tx) => {
        await tx.insertKey(limited);
        for (const n of [2, 3, 4]) await tx.insertKey(made(n));
        await tx.insertKey(made(5, { project: 'q' }));
      });
      expect(await store.keyById('key_1')).toEqual(limited);
      const ids = async (belowId?: string) =>
        (await store.keys({ project: 'p', belowId, limit: 2 })).map(({ id }) => id);
      expect([await ids(), await ids('key_3'), await ids('key_1')]).toEqual([
        ['key_4', 'key_3'],
        ['key_2', 'key_1'],
        [],
      ]);
      const usable = (atMs: number) => store.countUsableKeys('p', 'admin', atMs);
      expect([await usable(nowMs + 99), await usable(nowMs + 100)]).toEqual([4, 3]);

      await store.write((tx) => tx.revokeKey('key_3'));
      const revoked = await store.keyById('key_3');
      expect(revoked?.revokedAtMs).toBeGreaterThanOrEqual(nowMs);
      expect(await store.keyByHash('hash 3')).toEqual(revoked);
      await clock.advance(5);
      await store.write(async (tx) => {
        await tx.revokeKey('key_3');
        await tx.revokeKey('key_none');
      });
      expect(await store.keyById('key_3')).toEqual(revoked);
      expect([await usable(nowMs), await store.countRevokedKeys()]).toEqual([3, 1]);
      expect(await store.countKeys()).toBe(5);
      expect(await store.projects()).toEqual(['p', 'q']);

      const stamp = (at: number) =>
        store.write((tx) =>
          tx.stampKeys(
            new Map([
              ['key_1', at],
              ['key_none', at],
            ]),
          ),
        );
      await stamp(nowMs + 7);
      await stamp(nowMs + 6);
      expect((await store.keyById('key_1'))?.lastUsedAtMs).toBe(nowMs + 7);
      await stamp(nowMs + 8);
      expect(await store.keyById('key_1')).toEqual({ ...limited, lastUsedAtMs: nowMs + 8 });
    });

    it('delivers notes after the commit, none of what was undone', async () => {
      const got: Note[] = [];
      const end = store.subscribe((notes) => got.push(...notes));
      const note = (workerId: string): Note => ({ kind: 'drain', project: 'p', workerId });
      await Promise.allSettled([
        store.write(async (tx) => {
          tx.announce(note('a'));
          expect(got).toEqual([]);
        }),
        store.write(async (tx) => {
          tx.announce(note('undone'));
          throw new Error('no');
        }),
        store.write(async (tx) => tx.announce(note('b'))),
      ]);
      expect(got).toEqual([note('a'), note('b')]);
      end();
      await store.write(async (tx) => tx.announce(note('c')));
      expect(got).toHaveLength(2);
    });

    it('has a clock that goes on evenly while the wall clock is moved', async () => {
      clock.jumpWall(-3_600_000);
      await clock.advance(10);
      expect(await store.nowMs()).toBe(nowMs + 10);
      clock.jumpWall(7_200_000);
      expect(await store.write(async (tx) => tx.nowMs)).toBe(nowMs + 10);
    });

    it('finishes what was begun and refuses what comes after its close', async () => {
      const task = taskOf();
      const begun = insert(task);
      const closed = store.close();
      await expect(begun).resolves.toBeDefined();
      await closed;
      await expect(insert(taskOf())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await store.close();
    });
  });
}
