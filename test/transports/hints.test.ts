import { afterEach, describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { workerDefaults } from '../../src/core/defaults.ts';
import type { Hint, HintEnd } from '../../src/ports/transport.ts';
import type { InterlockTransport } from '../../src/transports/interlock.ts';
import { httpPeer } from '../wire/peers.ts';
import { fcpAndTransport, transportTo } from './worker.ts';

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

interface Listening {
  readonly hints: Hint[];
  readonly ended: Promise<HintEnd>;
  readonly stop: AbortController;
  /** Resolves when a hint of this kind has come (so many times). */
  heard(kind: Hint['kind'], times?: number): Promise<void>;
  of(kind: Hint['kind']): Hint[];
}

function listen(transport: InterlockTransport): Listening {
  const hints: Hint[] = [];
  const stop = new AbortController();
  stops.push(stop);
  const waiting: (() => void)[] = [];
  const of = (kind: Hint['kind']) => hints.filter((hint) => hint.kind === kind);
  const ended = transport.hints(
    { workerId: 'w1', sessionId: 'ses_1' },
    (hint) => {
      hints.push(hint);
      for (const tell of waiting.splice(0)) tell();
    },
    stop.signal,
  );
  const heard = async (kind: Hint['kind'], times = 1) => {
    while (of(kind).length < times) await new Promise<void>((tell) => waiting.push(tell));
  };
  return { hints, ended, stop, heard, of };
}

describe('a hint stream', () => {
  it('opens, tells what comes, and ends when the caller says so', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const one = listen(transport);
    await one.heard('open');
    fcp.hints.wake('demo/hello@1');
    fcp.hints.send('cancel', { attemptId: 'att_1' });
    fcp.hints.send('drain', {});
    await one.heard('drain');
    expect(one.hints.filter(({ kind }) => kind !== 'ping')).toEqual([
      { kind: 'open' },
      { kind: 'wake', types: ['demo/hello@1'] },
      { kind: 'cancel', attemptId: 'att_1' },
      { kind: 'drain' },
    ]);
    one.stop.abort();
    expect(await one.ended).toMatchObject({ kind: 'aborted' });
    await fcp.until(() => fcp.hints.open.length === 0);
    expect(fcp.requests('hints')[0]).toMatchObject({
      path: '/api/tasks/v1/hints?workerId=w1&sessionId=ses_1',
      headers: { accept: 'text/event-stream', authorization: 'Bearer il_worker_1' },
    });
  });

  it.each([
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['CR', '\r'],
  ])('gives one wake per hint, dripped byte by byte with %s', async (_, eol) => {
    const { fcp, transport } = await fcpAndTransport();
    const one = listen(transport);
    const [stream] = await fcp.hints.opened();
    const wake = ['event: wake', 'data: {"types":["a/é😀@1"]}', '', ''].join(eol);
    await stream?.drip(`\uFEFF: hello${eol}${wake}event: news${eol}data: 1${eol}${eol}${wake}`);
    await one.heard('wake', 2);
    expect(one.of('wake')).toEqual(Array(2).fill({ kind: 'wake', types: ['a/é😀@1'] }));
    expect(one.of('ping').length).toBeGreaterThan(10);
  });

  it('is reset when 50 MB come without a line end, in bounded memory', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const one = listen(transport);
    const [stream] = await fcp.hints.opened();
    const before = process.memoryUsage().rss;
    const piece = Buffer.alloc(1_048_576, 'x');
    for (let i = 0; i < 50 && stream?.closedAt === undefined; i++) await stream?.raw(piece);
    const end = await one.ended;
    expect(end).toMatchObject({ kind: 'closed', why: expect.stringContaining('65536 characters') });
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1_048_576);
  });

  it('never trusts what a hint says: junk is a look at most', async () => {
    const { fcp, transport } = await fcpAndTransport();
    const one = listen(transport);
    const [stream] = await fcp.hints.opened();
    const junk = ['event: wake\ndata: nonsense', 'event: wake\ndata: {"types":[1,"a@1",{}]}'];
    junk.push(
      'event: cancel\ndata: {}',
      'event: attempt\ndata: {"input":1}',
      'event: drain\ndata:',
    );
    await stream?.raw(`${junk.join('\n\n')}\n\n`);
    await one.heard('drain');
    expect(one.hints.filter(({ kind }) => kind !== 'ping' && kind !== 'open')).toEqual([
      { kind: 'wake', types: [] },
      { kind: 'wake', types: ['a@1'] },
      { kind: 'drain' },
    ]);
  });

  it('counts as silent after 45 s without a byte, not sooner', async () => {
    const clock = new SimulatedClock();
    const { fcp, transport } = await fcpAndTransport({ clock });
    const one = listen(transport);
    await one.heard('open');
    const pings = one.of('ping').length;
    await clock.advance(workerDefaults.hintSilenceMs - 1);
    await fcp.hints.open[0]?.raw(':\n');
    await one.heard('ping', pings + 1);
    await clock.advance(workerDefaults.hintSilenceMs - 1);
    expect(fcp.hints.open).toHaveLength(1);
    await clock.advance(1);
    expect(await one.ended).toMatchObject({ kind: 'silent', why: expect.stringContaining('45 s') });
    await fcp.until(() => fcp.hints.open.length === 0);
    expect(clock.time.nextMs).toBeUndefined();
  });

  it.each(['fin', 'rst'] as const)('ends when the control plane ends it (%s)', async (mode) => {
    const { fcp, transport } = await fcpAndTransport();
    const one = listen(transport);
    await one.heard('open');
    fcp.hints.cut(mode);
    expect(await one.ended).toMatchObject({ kind: 'closed' });
  });

  it('leaves one connection after five restarts, and one wake per hint', async () => {
    const { fcp, transport } = await fcpAndTransport();
    for (const mode of ['fin', 'rst', 'refused', 'rst', 'fin'] as const) {
      const one = listen(transport);
      await one.heard('open');
      await fcp.restart({ mode, downMs: 0 });
      expect(await one.ended).toMatchObject({ kind: 'closed' });
    }
    const last = listen(transport);
    await last.heard('open');
    expect(fcp.hints.open).toHaveLength(1);
    expect(fcp.openSockets).toBe(1);
    fcp.hints.wake('demo/hello@1');
    await last.heard('wake');
    expect(last.of('wake')).toHaveLength(1);
  });
});

describe('no hint stream', () => {
  it.each([503, 401, 404, 204])('is to be had where it is answered %i', async (status) => {
    const { fcp, transport } = await fcpAndTransport();
    fcp.hints.refuse(status);
    expect(await listen(transport).ended).toMatchObject({ kind: 'refused', status });
  });

  it('is to be had from an HTML page, and the page is named', async () => {
    const { fcp, transport } = await fcpAndTransport();
    fcp.on('hints', (_, ctl) => ctl.html(200));
    expect(await listen(transport).ended).toMatchObject({
      kind: 'refused',
      status: 200,
      why: expect.stringContaining('HTML'),
    });
  });

  it('keeps the wait that was asked for', async () => {
    const { fcp, transport } = await fcpAndTransport();
    fcp.on('hints', (_, ctl) => ctl.problem(503, 'UNAVAILABLE', { 'retry-after': '9' }));
    expect(await listen(transport).ended).toMatchObject({ kind: 'refused', retryAfterMs: 9_000 });
  });

  it('comes of a control plane that is not there, or gives no headers', async () => {
    const { fcp, transport } = await fcpAndTransport();
    await fcp.stop();
    expect(await listen(transport).ended).toMatchObject({ kind: 'closed' });
    const clock = new SimulatedClock();
    const mute = await httpPeer(() => {});
    const waiting = listen(transportTo(mute.url, { clock }));
    while (mute.sockets.size === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(workerDefaults.requestTimeoutMs);
    expect(await waiting.ended).toMatchObject({
      kind: 'closed',
      why: expect.stringContaining('10 s'),
    });
  });
});
