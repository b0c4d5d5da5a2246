import { expect, same, shown } from '../check.ts';
import { isInstant } from './faults.ts';
import type { ControlPlaneCase } from './index.ts';
import { given } from './steps.ts';

/** The journal of a task, who waits for its next entry, and log lines. */
export const readingJournal: readonly ControlPlaneCase[] = [
  {
    name: 'reading/journal',
    title: 'numbers the entries of a task 1, 2, 3 … and tells them in order, after any of them',
    promises: ['1.1', '6.15'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      (await worker.report(attempt, 'complete', { result: 1 })).is(200);
      const all = await world.events(task.id);
      same(
        all.map(({ seq, kind }) => [seq, kind]),
        [
          [1, 'submitted'],
          [2, 'leased'],
          [3, 'started'],
          [4, 'succeeded'],
        ],
        'the entries of the task',
      );
      for (const { at, by } of all)
        expect(isInstant(at) && typeof by === 'string', `An entry says at ${shown(at)}, by ${by}.`);
      same((await world.task(task.id)).seq, 4, 'the seq of the task');
      for (const after of [0, 1, 3, 4]) {
        const seen = (await world.get(`/tasks/${task.id}/events?after=${after}`)).is(200);
        const { events } = seen.body<{ events: { seq: number }[] }>();
        same(
          events.map(({ seq }) => seq),
          [1, 2, 3, 4].slice(after),
          `the entries after ${after}`,
        );
      }
    },
  },
  {
    name: 'reading/code-hash',
    title: 'tells in the journal which code a worker said that it runs',
    promises: ['5.60'],
    async run(world) {
      const codeHash = 'c0de'.repeat(16);
      for (const op of ['start', 'effect']) {
        const { task, worker, attempt } = await given(world);
        (await worker.report(attempt, op, { codeHash })).is(200);
        const started = (await world.events(task.id)).find(({ kind }) => kind === 'started');
        same(started?.data.codeHash, codeHash, `codeHash of \`started\`, by ${op}`);
      }
      for (const bad of ['C0DE'.repeat(16), 'c0de', 7, null, { hash: codeHash }]) {
        const { task, worker, attempt } = await given(world);
        (await worker.report(attempt, 'start', { codeHash: bad })).is(200);
        const started = (await world.events(task.id)).find(({ kind }) => kind === 'started');
        same(started?.data.codeHash, undefined, `codeHash of a start with ${shown(bad)}`);
      }
    },
  },
  {
    name: 'reading/no-entries',
    title: 'writes no entries for renewals, progress and logs',
    promises: ['6.16'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      const before = await world.events(task.id);
      (await worker.report(attempt, 'renew')).is(200);
      (await worker.report(attempt, 'progress', { n: 1, percent: 50 })).is(200);
      const lines = [{ at: '2026-01-01T00:00:00Z', level: 'info', text: 'hello' }];
      (await worker.report(attempt, 'log', { n: 1, lines })).is(200);
      same(await world.events(task.id), before, 'the journal');
    },
  },
  {
    name: 'reading/wait-for-an-entry',
    title: 'answers a reader that waits for an entry as soon as there is one',
    promises: ['6.15'],
    async run(world) {
      const task = await world.submit();
      const waiting = world.get(`/tasks/${task.id}/events?after=1&waitMs=30000`);
      await world.pause(300);
      const cancel = (await world.post(`/tasks/${task.id}/cancel`, {})).is(200);
      const seen = (await waiting).is(200);
      const { events } = seen.body<{ events: { seq: number; kind: string }[] }>();
      same(events[0]?.kind, 'cancelled', 'the kind of the entry that was waited for');
      const ms = seen.receivedAtMs - cancel.receivedAtMs;
      expect(ms < 20_000, `The reader heard of it ${Math.round(ms)} ms later.`);
    },
  },
  {
    name: 'reading/wait-in-vain',
    title: 'answers a reader that waits in vain with no entries when its time is over',
    promises: ['6.15'],
    async run(world) {
      const task = await world.submit();
      const seen = (await world.get(`/tasks/${task.id}/events?after=1&waitMs=1500`)).is(200);
      same(seen.body().events, [], 'the entries');
      const ms = seen.receivedAtMs - seen.sentAtMs;
      expect(ms >= 1_400, `It waited ${Math.round(ms)} ms; asked was for 1500.`);
      // One that does not look at the number waits 30 s.
      expect(ms < 28_000, `It waited ${Math.round(ms)} ms; asked was for at most 1500.`);
      const over = await world.get(`/tasks/${task.id}/events?after=1&waitMs=30001`);
      over.refuses(400, 'INVALID_REQUEST');
    },
  },
  {
    name: 'reading/logs',
    title: 'gives log lines back in their order, each once',
    promises: ['1.21', '1.37'],
    async run(world) {
      const { task, worker, attempt } = await given(world, { passed: 'start' });
      const line = (text: string) => ({ at: '2026-01-01T00:00:00Z', level: 'warn', text });
      const said = [['a', 'b'], ['c ü\u{1f680}']];
      for (const [n, texts] of said.entries())
        for (let twice = 0; twice < 2; twice++)
          (await worker.report(attempt, 'log', { n: n + 1, lines: texts.map(line) })).is(200);
      const seen = (await world.get(`/tasks/${task.id}/logs`)).is(200);
      const { lines } = seen.body<{
        lines: { text: string; level: string; at: string; attempt: number }[];
      }>();
      same(
        lines.map(({ text, level, at, attempt }) => [text, level, Date.parse(at), attempt]),
        said.flat().map((text) => [text, 'warn', Date.parse(line('').at), 1]),
        'text, level, at and attempt of the log lines of the task',
      );
    },
  },
];
