import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Fcp, startFcp } from '../../src/fcp/fcp.ts';
import { HandWorker } from './hand-worker.ts';

let fcp: Fcp;
let worker: HandWorker;

beforeEach(async () => {
  fcp = await startFcp({ pingEveryMs: Infinity });
  worker = new HandWorker(fcp);
});
afterEach(() => fcp.stop());

it('wakes workers when a task is offered, and can be told not to', async () => {
  const stream = await worker.hints();
  await fcp.hints.opened();
  fcp.offer({ type: 'demo/hello', wake: false });
  fcp.offer({ type: 'demo/hello', schemaVersion: 2 });
  expect(await stream.next()).toBe('event: wake\ndata: {"types":["demo/hello@2"]}\n\n');
  expect(fcp.hints.sent).toMatchObject([{ event: 'wake', streams: 1 }]);
  expect(fcp.hints.open[0]).toMatchObject({ workerId: 'hand', sessionId: worker.sessionId });
});

it('pings at the beginning of a stream, however long the pause between two pings', async () => {
  fcp.hints.pingEveryMs = 60_000;
  const stream = await worker.hints();
  expect(await stream.next()).toBe('event: ping\ndata: {}\n\n');
});

it('pings, is silent while muted, and pings again', async () => {
  fcp.hints.pingEveryMs = 10;
  const stream = await worker.hints();
  expect(await stream.next()).toMatch(/^event: ping\ndata: \{\}\n\n/);
  fcp.hints.mute();
  let heard = false;
  const next = stream.next().then((text) => {
    heard = true;
    return text;
  });
  // A ping may have been on its way when it fell silent.
  const after = await Promise.race([next, fcp.quiet('any', 40)]);
  const silent = after === undefined ? next : stream.next();
  expect(fcp.hints.wake('demo/hello@1')).toBe(0);
  if (after === undefined) expect(heard).toBe(false);
  fcp.hints.unmute();
  expect(await silent).toMatch(/^event: ping/);
});

it('tells cancel and drain', async () => {
  const stream = await worker.hints();
  await fcp.hints.opened();
  const task = fcp.offer({ type: 'demo/hello', wake: false });
  const attempt = await worker.takeOne();
  fcp.cancel(task.taskId);
  expect(await stream.next()).toBe(`event: cancel\ndata: {"attemptId":"${attempt.attemptId}"}\n\n`);
  fcp.drain();
  expect(await stream.next()).toBe('event: drain\ndata: {}\n\n');
});

it('drips bytes one by one, so that lines and characters are split', async () => {
  const stream = await worker.hints();
  const [connection] = await fcp.hints.opened();
  const text = '\uFEFFevent: wake\r\ndata: "é€"\r\n\r\n';
  const dripped = connection!.drip(text);
  let heard = await stream.next();
  const first = heard.length;
  const bytes = () => Buffer.byteLength(heard) + (heard.startsWith('\uFEFF') ? 0 : 3);
  while (bytes() < Buffer.byteLength(text)) heard += await stream.next();
  await dripped;
  expect(first).toBeLessThan(4);
  expect(heard.replace('\uFEFF', '')).toBe(text.slice(1));
});

it('sends many megabytes without a line end and notices when nobody reads on', async () => {
  const stream = await worker.hints();
  const [connection] = await fcp.hints.opened();
  await connection!.raw('data: ');
  const flood = connection!.raw('x'.repeat(50_000_000));
  expect((await stream.next()).slice(0, 6)).toBe('data: ');
  stream.close();
  await flood;
  await fcp.until(() => connection!.closedAt);
  expect(fcp.hints.open).toEqual([]);
});

it.each(['fin', 'rst'] as const)('cuts streams (%s) and takes new ones', async (mode) => {
  const stream = await worker.hints();
  await fcp.hints.opened();
  fcp.hints.cut(mode);
  expect(await stream.next()).toBe('');
  await fcp.until(() => fcp.hints.open.length === 0);
  await worker.hints();
  await fcp.hints.opened();
  expect(fcp.hints.connections).toHaveLength(2);
});

it('ends a stream in good order', async () => {
  const stream = await worker.hints();
  const [connection] = await fcp.hints.opened();
  connection!.end();
  expect(await stream.next()).toBe('');
});

it('refuses streams with a status until told otherwise', async () => {
  const closed = await startFcp({ refuseHints: 404 });
  const other = new HandWorker(closed);
  expect((await other.hints()).status).toBe(404);
  closed.hints.refuse(204);
  expect((await other.hints()).status).toBe(204);
  closed.hints.accept();
  expect((await other.hints()).status).toBe(200);
  await closed.stop();
});

it('counts exactly one open stream after a restart', async () => {
  const stream = await worker.hints();
  await fcp.hints.opened();
  await fcp.restart({ mode: 'rst' });
  expect(await stream.next()).toBe('');
  await worker.hints();
  expect(await fcp.hints.opened()).toHaveLength(1);
});
