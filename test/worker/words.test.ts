import { expect, it } from 'vitest';
import { type Play, returned } from '../../sim/carrier.ts';
import { noAnswer, refused } from '../../sim/wire-words.ts';
import { type ReportOf, START_IN_OUTCOME } from '../../src/contract/index.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import type { LogLine } from '../../src/ports/carrier.ts';
import { SimWorld } from './sim-rig.ts';

/** A world with one pure attempt whose handler does what the test says; ops as they were sent. */
async function speaking(
  script: (play: Play, world: SimWorld) => Promise<unknown>,
  prepare: (world: SimWorld) => void = () => {},
) {
  const world = new SimWorld();
  const one = world.transport.offer({ type: 'demo/hello', leaseMs: 30_000 });
  prepare(world);
  await world.start({
    scripts: { 'demo/hello': async (play) => returned((await script(play, world)) ?? null) },
  });
  await world.until(() => one.ended, 300_000);
  const progress = world.transport
    .sent('progress')
    .map(({ report }) => report) as ReportOf<'progress'>[];
  const logs = world.transport.sent('log').map(({ report }) => report) as ReportOf<'log'>[];
  return { world, one, ops: one.sent.map(({ report }) => report.op), progress, logs };
}

/** Its outcomes may carry their start. */
function carries({ transport }: SimWorld): void {
  transport.features = [START_IN_OUTCOME];
}

function lines(...texts: string[]): LogLine[] {
  return texts.map((text) => ({ at: '2026-01-01T00:00:00Z', level: 'info', text }));
}

it('sends the start of a pure attempt within a second of its beginning', async () => {
  const { world, one } = await speaking((_, { clock }) => clock.sleep(3_000));
  const [start] = world.transport.sent('start');
  expect((start?.at ?? Infinity) - (one.grantedAt ?? 0)).toBeLessThanOrEqual(1_010);
  world.check();
});

it('sends the start of a pure attempt with the next report, if that is sooner', async () => {
  const { world, ops, one } = await speaking(async (play, { clock }) => {
    await clock.sleep(300);
    play.listener.progress({ percent: 10 });
    await clock.sleep(2_000);
  });
  expect(ops.filter((op) => op !== 'renew').slice(0, 2)).toEqual(['start', 'progress']);
  expect(one.sent[0]?.call).toBe(one.sent[1]?.call);
  world.check();
});

it('sends start and result of a short pure attempt in one call', async () => {
  const { world, one } = await speaking(async () => {});
  expect(one.sent.map(({ report }) => report.op)).toEqual(['start', 'complete']);
  expect(one.sent[0]?.call).toBe(one.sent[1]?.call);
  world.check();
});

it('sends one report of a short pure attempt where an outcome may carry its start', async () => {
  const { world, one } = await speaking(async () => {}, carries);
  expect(one.sent.map(({ report }) => report)).toEqual([
    expect.objectContaining({ op: 'complete', start: {} }),
  ]);
  world.check();
});

it('sends a start before what its handler said, and that before an outcome that could carry it', async () => {
  const { world, ops, one } = await speaking(async (play) => {
    play.listener.log(lines('a'));
  }, carries);
  expect(ops).toEqual(['start', 'log', 'complete']);
  expect(one.sent.map(({ report }) => 'start' in report)).toEqual([false, false, false]);
  world.check();
});

it('lets only an outcome carry its start', async () => {
  const world = new SimWorld();
  carries(world);
  const one = world.transport.offer({ type: 'demo/hello' });
  await world.start({ scripts: { 'demo/hello': () => ({ how: 'died', exitCode: 1 }) } });
  await world.until(() => one.ended, 300_000);
  expect(one.sent.map(({ report }) => report.op)).toEqual(['start', 'lost']);
  world.check();
});

it('sends an outcome without an answer again with its start, also where that is no feature any more', async () => {
  const { world } = await speaking(
    async () => {},
    (given) => {
      carries(given);
      given.transport.onReport(
        'complete',
        () => {
          given.transport.features = [];
          return noAnswer('cut');
        },
        3,
      );
    },
  );
  const sent = world.transport.sent('complete').map(({ report }) => JSON.stringify(report));
  expect(sent).toHaveLength(4);
  expect(new Set(sent)).toEqual(new Set([expect.stringContaining('"start":{}')]));
  world.check();
});

it('sends a start again that was not answered', async () => {
  const { world } = await speaking(
    (_, { clock }) => clock.sleep(8_000),
    ({ transport }) => transport.onReport('start', () => noAnswer('cut'), 2),
  );
  const starts = world.transport.sent('start');
  expect(starts.length).toBe(3);
  expect(new Set(starts.map(({ report }) => JSON.stringify(report))).size).toBe(1);
  world.check();
});

it('ends as superseded where a start that is no gate is told so', async () => {
  const world = new SimWorld();
  world.transport.offer({ type: 'demo/hello' });
  world.transport.onReport('start', () => refused(409, 'SESSION_SUPERSEDED'));
  await world.start({ scripts: { 'demo/hello': world.works(5_000) } });
  expect((await world.ended()).why).toBe('superseded');
  expect(world.transport.sent('complete').length).toBe(1);
  world.check();
});

it('sends the latest progress only, one at a time, counted up', async () => {
  const { world, progress } = await speaking(
    async (play, { clock }) => {
      for (let percent = 1; percent <= 100; percent++) {
        play.listener.progress({ percent });
        await clock.sleep(20);
      }
      await clock.sleep(1_500);
    },
    ({ transport }) => {
      transport.latencyMs = 150;
    },
  );
  expect(progress.map(({ n }) => n)).toEqual(progress.map((_, i) => i + 1));
  expect(progress.length).toBeLessThanOrEqual(6);
  expect(progress.at(-1)?.percent).toBe(100);
  world.check();
});

it('repeats a progress that got no answer with the same number and body', async () => {
  let n = 0;
  const { world, progress } = await speaking(
    async (play, { clock }) => {
      play.listener.progress({ percent: 1, checkpoint: { at: 1 } });
      await clock.sleep(600);
      play.listener.progress({ percent: 2 });
      await clock.sleep(20_000);
    },
    ({ transport }) =>
      transport.onReport('progress', () => (++n === 1 ? 'never' : noAnswer('cut')), 2),
  );
  expect(progress.map((one) => one.n)).toEqual([1, 1, 1, 2]);
  expect(new Set(progress.slice(0, 3).map((one) => JSON.stringify(one))).size).toBe(1);
  expect(progress.at(-1)).toMatchObject({ percent: 2 });
  world.check();
});

it('keeps a checkpoint that a later progress lacks', async () => {
  const { progress } = await speaking(async (play, { clock }) => {
    play.listener.progress({ percent: 1 });
    play.listener.progress({ percent: 2, checkpoint: { at: 2 } });
    play.listener.progress({ percent: 3 });
    await clock.sleep(3_000);
  });
  expect(progress.at(-1)).toMatchObject({ percent: 3, checkpoint: { at: 2 } });
});

it('waits as long as a progress is told to, without holding up the renewals', async () => {
  const { world, progress } = await speaking(
    async (play, { clock }) => {
      play.listener.progress({ percent: 1 });
      await clock.sleep(30_000);
    },
    ({ transport }) =>
      transport.onReport(
        'progress',
        () => refused(429, 'RATE_LIMITED', { retryAfterMs: 12_000 }),
        1,
      ),
  );
  const [first, second] = world.transport.sent('progress');
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(12_000);
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeLessThanOrEqual(13_300);
  expect(progress.length).toBe(2);
  world.check();
});

it('drops a progress that is refused for good, says so, and goes on', async () => {
  const { world, progress, one } = await speaking(
    async (play, { clock }) => {
      play.listener.progress({ percent: 1, checkpoint: 'too large' });
      await clock.sleep(2_000);
      play.listener.progress({ percent: 2 });
      await clock.sleep(2_000);
    },
    ({ transport }) => transport.onReport('progress', () => refused(413, 'PAYLOAD_TOO_LARGE'), 1),
  );
  expect(progress.map(({ n }) => n)).toEqual([1, 2]);
  expect(world.log.of('report.dropped').length).toBe(1);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('keeps log lines in order and bounded, and says how many were left out', async () => {
  const count = workerDefaults.logLinesWaiting + 500;
  const { world, logs } = await speaking(async (play, { clock }) => {
    play.listener.log(lines('first'));
    await clock.sleep(1);
    play.listener.log(lines(...Array.from({ length: count }, (_, i) => `line ${i}`)));
    await clock.sleep(20_000);
  });
  expect(logs.map(({ n }) => n)).toEqual(logs.map((_, i) => i + 1));
  const texts = logs.flatMap((one) => one.lines.map(({ text }) => text));
  expect(texts[0]).toBe('first');
  expect(texts[1]).toMatch(/500 lines were left out/);
  expect(texts.slice(2)).toEqual(
    Array.from({ length: workerDefaults.logLinesWaiting }, (_, i) => `line ${i + 500}`),
  );
  for (const one of logs) expect(one.lines.length).toBeLessThanOrEqual(200);
  world.check();
});

it('cuts a line that would have its whole report refused', async () => {
  const { logs } = await speaking(async (play, { clock }) => {
    play.listener.log(lines('x'.repeat(100_000), 'short \ud800'));
    await clock.sleep(2_000);
  });
  expect(logs[0]?.lines[0]?.text.length).toBeLessThanOrEqual(8_192);
  expect(logs[0]?.lines[1]?.text).toBe('short \ufffd');
});

it('sends what was not sent yet before the report, in the same call', async () => {
  const { world, one } = await speaking(async (play, { clock }) => {
    play.listener.progress({ percent: 1 });
    play.listener.log(lines('a'));
    await clock.sleep(100);
    play.listener.progress({ percent: 99, checkpoint: 7 });
    play.listener.log(lines('b', 'c'));
    await clock.sleep(100);
  });
  const last = one.sent.slice(-3);
  expect(last.map(({ report }) => report.op)).toEqual(['progress', 'log', 'complete']);
  expect(new Set(last.map(({ call }) => call)).size).toBe(1);
  expect(last[0]?.report).toMatchObject({ n: 2, percent: 99, checkpoint: 7 });
  expect(last[1]?.report).toMatchObject({ n: 2, lines: [{ text: 'b' }, { text: 'c' }] });
  world.check();
});

it('waits for words that are on their way instead of sending them twice at once', async () => {
  const { world, one, logs } = await speaking(
    async (play, { clock }) => {
      play.listener.log(lines('a'));
      await clock.sleep(1);
      play.listener.log(lines('b'));
    },
    ({ transport }) => {
      transport.latencyMs = 400;
    },
  );
  expect(logs.map(({ n, lines: [line] }) => [n, line?.text])).toEqual([
    [1, 'a'],
    [2, 'b'],
  ]);
  expect(one.sent.at(-1)?.report.op).toBe('complete');
  world.check();
});

it('does not let words that hang hold a result up for long', async () => {
  const { world, one } = await speaking(
    async (play) => {
      play.listener.log(lines('a'));
    },
    ({ transport }) => transport.onReport('log', () => 'never', 1),
  );
  const complete = world.transport.sent('complete')[0]?.at ?? Infinity;
  expect(complete - (one.grantedAt ?? 0)).toBeLessThan(2_100);
  world.check();
});

it('repeats what was unanswered when the handler ended, with the same numbers, until the report is answered', async () => {
  const { world, one } = await speaking(
    async (play, { clock }) => {
      play.listener.progress({ percent: 1 });
      await clock.sleep(50);
      play.listener.progress({ percent: 2 });
      play.listener.log(lines('a'));
      await clock.sleep(10);
      play.listener.log(lines('b'));
    },
    ({ transport }) => {
      transport.onCall(
        (call) => call.kind === 'batch' && JSON.stringify(call.request).includes('"complete"'),
        () => noAnswer('cut'),
        3,
      );
    },
  );
  const tries = [...new Set(world.transport.sent('complete').map(({ call }) => call))];
  expect(tries.length).toBe(4);
  const bodies = tries.map((call) => JSON.stringify(call.request));
  expect(new Set(bodies).size).toBe(1);
  expect(one.ended?.op).toBe('complete');
  world.check();
});

it('never sends words of an attempt after its report was answered', async () => {
  const { world, one } = await speaking(async (play, { clock }) => {
    play.listener.log(lines('a'));
    await clock.sleep(700);
    play.listener.log(lines('b'));
  });
  await world.advance(10_000);
  expect(one.sent.at(-1)?.report.op).toBe('complete');
  world.check();
});

it('opens the gate of another handler although words of one hang', async () => {
  const world = new SimWorld();
  const { transport } = world;
  for (let i = 0; i < 8; i++) transport.offer({ type: 'demo/hello' });
  transport.onReport('progress', () => 'never');
  await world.start({
    maxConcurrent: 10,
    handlers: [
      { type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure', effectGate: 'start' },
      { type: 'x/y', schemaVersion: 1, effectSafety: 'non-idempotent', effectGate: 'start' },
    ],
    scripts: {
      'demo/hello': async (play) => {
        await world.clock.sleep(
          play.job.attemptId.length * 7 + Number(play.job.attemptId.slice(4)),
        );
        play.listener.progress({ percent: 1 });
        await world.clock.sleep(30_000);
        return returned(1);
      },
    },
  });
  await world.until(() => transport.sent('progress').length >= 4);
  const guarded = transport.offer({ type: 'x/y', effectSafety: 'non-idempotent' });
  transport.hint({ kind: 'wake', types: ['x/y@1'] });
  await world.until(() => guarded.ended, 1_000);
  expect(guarded.ended?.op).toBe('complete');
  world.check();
});
