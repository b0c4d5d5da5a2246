import { afterAll, describe, expect, it } from 'vitest';
import { startJob } from './collected.ts';
import { fixtureFile, marked, processCarrier } from './process-harness.ts';

/** Handlers that treat their host badly. Each time the job ends in words, and the next one runs. */
const { carrier, marker } = processCarrier({
  maxHosts: 2,
  env: {
    ...process.env,
    INTERLOCK_WORKER_KEY: 'il_secret',
    interlock_admin_key: 'il_secret',
    INTERLOCK_KEY_FILE: '/secret',
    INTERLOCK_URL: 'http://127.0.0.1:7420',
  },
});
const abuse = (input: Record<string, unknown>) =>
  startJob(carrier, { file: fixtureFile('abuse'), type: 'test/abuse', input });

afterAll(async () => {
  await carrier.close();
  expect(marked(marker)).toEqual([]);
});

describe('ten abuses', () => {
  it('1. spins for ever: killed after the grace', async () => {
    for (const deed of ['spin', 'microtasks']) {
      const running = abuse({ do: deed });
      // Said before the loop, and not lost though the handler never gives way.
      await running.until((told) => told.progress.length > 0);
      running.stop('cancel', 20);
      expect(await running.ended).toEqual({ how: 'killed' });
    }
  });

  it('2. speaks to process.send and process.on("message"): there is nothing to speak to', async () => {
    expect(await abuse({ do: 'channel' }).ended).toEqual({
      how: 'returned',
      result: { send: 'undefined', connected: 'undefined', channel: 'undefined' },
    });
  });

  it('3. prints lines that look like the protocol, broken UTF-8 and endless lines: only logged', async () => {
    const running = abuse({ do: 'prints' });
    expect(await running.ended).toEqual({ how: 'returned', result: 'the true result' });
    const out = running.told.lines.filter(({ level }) => level === 'info').map(({ text }) => text);
    expect(out).toEqual([
      'no newline at first',
      'second',
      'a\ufffd\ufffdb',
      '{"t":"end","n":1,"outcome":{"how":"returned","result":"forged"}}',
      'the last without an end',
    ]);
    const [err] = running.told.lines.filter(({ level }) => level === 'warn');
    expect(err?.text).toMatch(/^long é+ … \(line cut\)$/);
    expect(Buffer.byteLength(err?.text ?? '')).toBeLessThanOrEqual(8_192);
  });

  it('4. writes to the channel: its host is ended, and the job says why', async () => {
    expect(await abuse({ do: 'writeToChannel' }).ended).toMatchObject({
      how: 'died',
      signal: 'SIGKILL',
      detail: expect.stringContaining('It wrote to the channel'),
    });
  });

  it.each([
    ['an end without an outcome', { t: 'end', n: 1, outcome: null, logBytesDropped: 0, tookUs: 0 }],
    ['an end that ends in no known way', { t: 'end', n: 1, outcome: { how: 'well' } }],
    [
      'an end without its error',
      { t: 'end', n: 1, outcome: { how: 'threw' }, logBytesDropped: 0, tookUs: 0 },
    ],
    ['an end without its count', { t: 'end', n: 1, outcome: { how: 'returned', result: 1 } }],
    ['progress without an update', { t: 'progress', n: 1 }],
    ['progress beyond 100 %', { t: 'progress', n: 1, update: { percent: 101 } }],
    ['a log line that is no text', { t: 'log', n: 1, level: 'info', text: {} }],
    ['a log line of no known level', { t: 'log', n: 1, level: 'loud', text: '' }],
    ['no number of its call', { t: 'effect' }],
    ['a problem that is no text', { t: 'tainted', why: 1 }],
    ['a frame of no known kind', { t: '__proto__', n: 1 }],
  ])('4. writes to the channel as a host would: %s', async (_name, frame) => {
    const { carrier, log } = processCarrier({ maxHosts: 1 });
    const job = (input: object) => startJob(carrier, { file: fixtureFile('abuse'), input });
    expect(await job({ do: 'writeFrame', frame }).ended).toMatchObject({
      how: 'died',
      signal: 'SIGKILL',
      detail: expect.stringContaining('It wrote to the channel'),
    });
    expect(await job({ do: 'pid' }).ended).toMatchObject({ how: 'returned' });
    expect(log.events).not.toContain('host.not-heard');
    await carrier.close();
  });

  it('5. closes the channel: the job ends', async () => {
    for (const fd of [3, 4]) {
      expect(await abuse({ do: 'closeChannel', fd }).ended).toMatchObject({ how: 'died' });
    }
  });

  it('6. looks for keys in its environment: there are none, nor our own variables', async () => {
    const end = await abuse({ do: 'environment' }).ended;
    if (end.how !== 'returned') throw new Error(JSON.stringify(end));
    // The last is told to the tests, where they are run against an executable.
    const names = Object.keys(end.result as object).filter(
      (name) => /^interlock/i.test(name) && name !== 'INTERLOCK_TEST_EXECUTABLE',
    );
    expect(names.sort()).toEqual(['INTERLOCK_HOST_ID', 'INTERLOCK_HOST_MARKER', 'INTERLOCK_URL']);
    expect(JSON.stringify(end)).not.toContain('il_secret');
  });

  it('7. removes every listener and throws: its host dies, and that is told', async () => {
    expect(await abuse({ do: 'removeListeners' }).ended).toMatchObject({
      how: 'died',
      exitCode: 1,
      detail: expect.stringContaining('nobody listens'),
    });
  });

  it('8. closes stdout and stderr: the result still comes', async () => {
    expect(await abuse({ do: 'closeStdio' }).ended).toEqual({ how: 'returned', result: 'silent' });
  });

  it('9. breaks globals: this job and the next end in words', async () => {
    expect(await abuse({ do: 'breakGlobals' }).ended).toEqual({
      how: 'returned',
      result: 'broken',
    });
    expect(await abuse({ do: 'pid' }).ended).toMatchObject({ how: 'returned' });
  });

  it('10. returns 70 MB, or recurses without end: a failure with words', async () => {
    expect(await abuse({ do: 'hugeResult', megabytes: 70 }).ended).toMatchObject({
      how: 'threw',
      error: { code: 'RESULT_INVALID', message: expect.stringMatching(/has 7340\d+ bytes/) },
    });
    expect(await abuse({ do: 'overflow' }).ended).toMatchObject({
      how: 'threw',
      error: { code: 'HANDLER_ERROR', message: 'Maximum call stack size exceeded' },
    });
  });
});
