import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Carrier, Job, JobEnd } from '../../src/ports/carrier.ts';
import { type Collected, startJob } from './collected.ts';

/** One form of the port under test. */
export interface CarrierHarness {
  readonly carrier: Carrier;
  /** What a job must hold so that the carrier finds the fixture of this name. */
  job(fixture: string): Partial<Job>;
  close(): Promise<void>;
}

export const fixtures = [
  'context',
  'echo',
  'gate',
  'json-schema',
  'obeys',
  'progress',
  'returns',
  'standard-schema',
  'throws',
  'waits',
] as const;

/** In the fixture that throws. */
const PLACES = expect.arrayContaining([expect.stringMatching(/throws(@1)?\.mjs:\d+$/)]);

/** What every carrier promises. `cannot`: promises that this form cannot keep, with the reason. */
export function carrierCases(
  name: string,
  make: () => Promise<CarrierHarness>,
  cannot: { kill?: string } = {},
): void {
  describe(`carrier ${name}`, () => {
    let harness: CarrierHarness;
    beforeAll(async () => {
      harness = await make();
    });
    afterAll(() => harness.close());

    const start = (fixture: string, input: unknown = {}, job: Partial<Job> = {}): Collected =>
      startJob(harness.carrier, { ...harness.job(fixture), input, ...job });
    const run = async (fixture: string, input?: unknown, job?: Partial<Job>): Promise<JobEnd> => {
      const running = start(fixture, input, job);
      const end = await running.ended;
      expect(running.told.late).toEqual([]);
      return end;
    };

    it('hands the input over and the result back as JSON', async () => {
      const input = { name: 'Ada', n: 1.1, list: [null, true, 'ü\u0000😀'], deep: { a: {} } };
      const running = start('echo', input);
      expect(await running.ended).toEqual({ how: 'returned', result: input });
      expect(running.told).toMatchObject({ begun: 1, effects: 0, progress: [], lines: [] });
    });

    it('returns before it calls its listener', async () => {
      let inHand = false;
      const running = harness.carrier.start(
        { ...jobOf(harness, 'echo'), input: 1 },
        {
          begun: () => expect(inHand).toBe(true),
          progress() {},
          log() {},
          effectRequested() {},
        },
      );
      inHand = true;
      expect(await running.ended).toEqual({ how: 'returned', result: 1 });
    });

    it('gives the handler its context', async () => {
      const running = start(
        'context',
        {},
        {
          attempt: 3,
          fence: 7,
          effectKey: 'key-1',
          labels: { team: 'red' },
          checkpoint: { at: 5 },
          traceparent: '00-1-2-01',
        },
      );
      const end = await running.ended;
      expect(end).toMatchObject({
        how: 'returned',
        result: {
          attempt: 3,
          fence: 7,
          effectKey: 'key-1',
          schemaVersion: 1,
          labels: { team: 'red' },
          checkpoint: { at: 5 },
          traceparent: '00-1-2-01',
          aborted: false,
          frozen: true,
        },
      });
      expect(running.told.progress).toEqual([
        { percent: 10, message: 'working', checkpoint: { at: 1 } },
      ]);
      expect(running.told.lines.map(({ level, text }) => `${level} ${text}`)).toEqual([
        'info one { two: 2 }',
        'debug d',
        'warn w',
        'error e',
      ]);
      expect(running.told.lines[0]?.at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    });

    it('passes over progress that comes too fast, and delivers the last with all that it holds', async () => {
      const running = start('progress', { updates: 2_000 });
      await running.ended;
      const { progress } = running.told;
      expect(progress.length).toBeLessThan(200);
      expect(Object.assign({}, ...progress)).toEqual({
        percent: 100,
        message: 'last',
        checkpoint: { i: 2_000 },
      });
      expect(running.text()).toContain('A checkpoint was not kept');
    });

    it.each([
      ['undefined', 'The handler threw undefined, not an error.'],
      ['null', 'The handler threw null, not an error.'],
      ['string', 'x'],
      ['emptyString', 'The handler threw "".'],
      ['number', 'The handler threw 42, not an error.'],
      ['object', "The handler threw { status: 500, body: 'nope' }"],
      ['plain', 'plain trouble'],
      ['noMessage', 'TypeError without a message'],
      ['badCode', 'lower'],
      ['surrogate', 'half \ufffd'],
    ])('F44 makes a failure of anything thrown: %s', async (thing, message) => {
      for (const late of [false, true]) {
        expect(await run('throws', { thing, late })).toMatchObject({
          how: 'threw',
          error: { code: 'HANDLER_ERROR', message, retryable: false },
        });
      }
    });

    it('F44 makes a failure of what cannot be read', async () => {
      for (const thing of ['getter', 'revoked']) {
        const end = await run('throws', { thing });
        expect(end).toMatchObject({ how: 'threw', error: { code: 'HANDLER_ERROR' } });
        expect(JSON.stringify(end).length).toBeLessThan(10_000);
      }
    });

    it('F44 cuts a message of 5 MB and details of 100 kB', async () => {
      const end = await run('throws', { thing: 'huge' });
      expect(end).toMatchObject({ how: 'threw', error: { code: 'HANDLER_ERROR' } });
      if (end.how !== 'threw') return;
      expect(end.error.message.length).toBeLessThanOrEqual(8_192);
      expect(end.error.message).toMatch(/^mmm.*\(cut, 5000000 characters\)$/);
      expect(await run('throws', { thing: 'hugeDetails' })).toMatchObject({
        error: { details: { detailsLeftOut: expect.stringContaining('at most') } },
      });
      expect(await run('throws', { thing: 'badDetails' })).toMatchObject({
        error: { details: { detailsLeftOut: expect.stringContaining('details.amount') } },
      });
    });

    it('keeps a code of the handler’s own, details, and a short chain of causes', async () => {
      expect(await run('throws', { thing: 'ownCode' })).toMatchObject({
        how: 'threw',
        error: { code: 'CARD_DECLINED', message: 'the card was declined', retryable: false },
      });
      expect(await run('throws', { thing: 'details' })).toMatchObject({
        error: { details: { order: 7 } },
      });
      expect(await run('throws', { thing: 'cause' })).toMatchObject({
        error: {
          details: {
            causes: [
              { message: 'middle', stack: PLACES },
              { message: 'inner', code: 'ECONNREFUSED', stack: PLACES },
            ],
          },
        },
      });
      expect(await run('throws', { thing: 'aggregate' })).toMatchObject({
        error: { details: { errors: [{ message: 'a' }, { message: 'b' }] } },
      });
    });

    it('tells where in the handler’s own code an ordinary error was thrown', async () => {
      const end = await run('throws', { thing: 'plain' });
      const { stack } = (end.how === 'threw' && end.error.details) as { stack: string[] };
      expect(stack[0]).toMatch(/(^|\/)throws(@1)?\.mjs:\d+$/);
      expect(JSON.stringify(stack)).not.toMatch(/"\/|:\/\/|node_modules|src\/handler/);
    });

    it('writes the stack of an ordinary error to the task’s log', async () => {
      const running = start('throws', { thing: 'plain' });
      await running.ended;
      expect(running.told.lines).toMatchObject([
        { level: 'error', text: expect.stringMatching(/plain trouble\n\s+at .*throws\.mjs/) },
      ]);
    });

    it('knows retryable failures and unknown outcomes, also those of another copy of the package', async () => {
      expect(await run('throws', { thing: 'retryable' })).toEqual({
        how: 'threw',
        error: {
          code: 'BUSY',
          message: 'busy',
          retryable: true,
          retryAfterMs: 1501,
          details: { queue: 3, stack: PLACES },
        },
      });
      expect(await run('throws', { thing: 'retryablePlain' })).toEqual({
        how: 'threw',
        error: {
          code: 'HANDLER_ERROR',
          message: 'busy',
          retryable: true,
          details: { stack: PLACES },
        },
      });
      expect(await run('throws', { thing: 'foreign' })).toMatchObject({
        how: 'threw',
        error: { message: 'from another copy', retryable: true },
      });
      expect(await run('throws', { thing: 'unknown' })).toEqual({
        how: 'unknown',
        error: {
          code: 'OUTCOME_UNKNOWN',
          message: 'no answer from the bank',
          retryable: false,
          details: { stack: PLACES },
        },
      });
    });

    it('writes no stack of an error of ours to the task’s log but where another one led to it', async () => {
      for (const [thing, lines] of [
        ['retryable', []],
        ['unknown', []],
        [
          'unknownCaused',
          [
            {
              level: 'error',
              text: expect.stringMatching(/no answer(?:.|\n)*\n\[cause\]: Error: reset\n/),
            },
          ],
        ],
      ] as const) {
        const running = start('throws', { thing });
        await running.ended;
        expect(running.told.lines).toMatchObject(lines);
      }
    });

    it.each([
      ['nothing', null],
      ['date', { at: '1970-01-01T00:00:00.000Z', list: [null] }],
      ['surrogate', 'half \ufffd'],
      ['zero', 'a\u0000b'],
    ])('makes JSON of the result: %s', async (thing, result) => {
      expect(await run('returns', { thing })).toEqual({ how: 'returned', result });
    });

    it('keeps a field named __proto__ as data', async () => {
      const end = await run('returns', { thing: 'proto' });
      expect(JSON.stringify(end)).toBe('{"how":"returned","result":{"__proto__":1}}');
    });

    it.each([
      ['nan', 'result.items[1] is NaN'],
      ['big', 'result.id is 9007199254740992'],
      ['bigint', 'result is a BigInt'],
      ['map', 'result.m is a Map'],
      ['func', 'result.f is a function'],
      ['cycle', 'result.self.again refers to itself'],
      ['deep', 'is nested deeper'],
    ])('refuses a result that JSON cannot hold, with the path: %s', async (thing, message) => {
      expect(await run('returns', { thing })).toMatchObject({
        how: 'threw',
        error: { code: 'RESULT_INVALID', message: expect.stringContaining(message) },
      });
    });

    it('checks input and result by JSON Schema', async () => {
      expect(await run('json-schema', { name: 'Ada', mail: 'ada@example.org' })).toEqual({
        how: 'returned',
        result: { at: '1970-01-01T00:00:00.000Z' },
      });
      const bad = await run('json-schema', { mail: 'no', list: [1, 'x'], more: 1 });
      // The handler was not called, and who checked it knows that.
      expect(bad).toMatchObject({ how: 'threw', error: { code: 'INPUT_INVALID' }, begun: false });
      if (bad.how !== 'threw') return;
      for (const part of [
        "'name'",
        'input.mail must match format',
        'input.list[1] must be integer',
        '"more"',
      ])
        expect(bad.error.message).toContain(part);
      const after = await run('json-schema', { name: 'bad' });
      expect(after).not.toHaveProperty('begun');
      expect(after).toMatchObject({
        how: 'threw',
        error: {
          code: 'RESULT_INVALID',
          message: expect.stringContaining('result.at must be string'),
        },
      });
    });

    it('checks input by a Standard Schema and hands on what it made', async () => {
      expect(await run('standard-schema', { count: '41' })).toEqual({
        how: 'returned',
        result: 42,
      });
      expect(await run('standard-schema', { count: 41 })).toMatchObject({
        how: 'threw',
        error: {
          code: 'INPUT_INVALID',
          details: { issues: [{ path: 'input.counts[0]', message: 'must be digits' }] },
        },
      });
    });

    it('asks once for the gate of an effect and goes on when it is open', async () => {
      const running = start('gate', {}, { effectGate: 'effect' });
      await running.until((told) => told.effects === 1);
      running.openGate();
      running.openGate();
      expect(await running.ended).toEqual({ how: 'returned', result: 'effect made' });
      expect(running.told.effects).toBe(1);
    });

    it('rejects a refused gate as a failure that may be repeated', async () => {
      const running = start('gate', {}, { effectGate: 'effect' });
      await running.until((told) => told.effects === 1);
      running.refuseGate('The lease has run out.');
      expect(await running.ended).toEqual({
        how: 'threw',
        error: {
          code: 'EFFECT_NOT_BEGUN',
          message: 'The lease has run out.',
          retryable: true,
          details: { name: 'EffectRefusedError' },
        },
      });
    });

    it('has no gate where none was declared', async () => {
      const running = start('gate');
      expect(await running.ended).toEqual({ how: 'returned', result: 'effect made' });
      expect(running.told.effects).toBe(0);
    });

    it('stops a handler that waits for its gate', async () => {
      const running = start('gate', {}, { effectGate: 'effect' });
      await running.until((told) => told.effects === 1);
      running.stop('lease', 60_000);
      expect(await running.ended).toEqual({ how: 'stopped' });
    });

    it.each([
      ['obey', { how: 'stopped' }],
      ['node', { how: 'stopped' }],
      ['plain', { how: 'stopped' }],
      ['socket', { how: 'stopped' }],
      ['return', { how: 'returned', result: { reason: 'cancel' } }],
      ['retry', { how: 'threw', error: { retryable: true, message: 'again please' } }],
      ['unknown', { how: 'unknown', error: { message: 'who knows' } }],
      ['code', { how: 'threw', error: { code: 'MINE' } }],
    ])('reports after a stop what the handler says: %s', async (then, expected) => {
      const running = start('obeys', { then });
      await running.until((told) => told.progress.length > 0);
      running.stop('cancel', 60_000);
      running.stop('drain', 60_000);
      expect(await running.ended).toMatchObject(expected);
      expect(running.told.late).toEqual([]);
    });

    it('never begins what was stopped before', async () => {
      const running = start('echo', 1);
      running.stop('cancel', 60_000);
      expect(await running.ended).toEqual({ how: 'stopped' });
      expect(running.told.begun).toBe(0);
    });

    it('does not begin what it has no handler for', async () => {
      const running = startJob(harness.carrier, {
        ...harness.job('echo'),
        type: 'not/there',
        file: '/nowhere/not/there@1.mjs',
      });
      expect(await running.ended).toMatchObject({
        how: 'not-begun',
        error: { code: 'HANDLER_NOT_LOADED', message: expect.stringContaining('not/there') },
      });
      expect(running.told.begun).toBe(0);
    });

    it('runs many jobs side by side and mixes up nothing', async () => {
      const runs = Array.from({ length: 40 }, (_, n) => run('echo', { n }));
      expect(await Promise.all(runs)).toEqual(
        runs.map((_, n) => ({ how: 'returned', result: { n } })),
      );
    });

    it('kills a handler that ignores its stop, after the grace', async (context) => {
      if (cannot.kill) return context.skip(cannot.kill);
      const running = start('waits');
      await running.until((told) => told.progress.length > 0);
      running.stop('timeout', 60_000);
      // A later stop with less grace is heard too; the reason stays.
      running.stop('drain', 30);
      expect(await running.ended).toEqual({ how: 'killed' });
      expect(running.told.late).toEqual([]);
    });

    it('may be stopped when it is over, and closed twice', async () => {
      const running = start('echo', 1);
      await running.ended;
      running.stop('cancel', 0);
      running.openGate();
      await harness.close();
      await harness.close();
      expect(await running.ended).toEqual({ how: 'returned', result: 1 });
    });
  });
}

function jobOf(harness: CarrierHarness, fixture: string): Job {
  let seen: Job | undefined;
  const spy: Carrier = {
    start: (job) => {
      seen = job;
      return { openGate() {}, refuseGate() {}, stop() {}, ended: new Promise(() => {}) };
    },
    close: async () => {},
  };
  startJob(spy, harness.job(fixture));
  return seen as Job;
}
