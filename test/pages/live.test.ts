import { afterEach, describe, expect, it } from 'vitest';
import { pageDefaults } from '../../src/core/page-defaults.ts';
import { World } from '../control-plane/world.ts';
import { BEYOND, FAR, HERE, Visitor } from './visitor.ts';

let world: World;
afterEach(() => world.app.stop());

const SSE = { accept: 'text/event-stream' };
type Reader = ReadableStreamDefaultReader<Uint8Array>;
const next = async (reader: Reader) => {
  const { value, done } = await reader.read();
  return done ? 'the end' : new TextDecoder().decode(value);
};
async function listen(visitor: Visitor): Promise<Reader> {
  const { body } = await visitor.get('/live', SSE);
  if (!body) throw new Error('no stream');
  const reader = body.getReader();
  expect(await next(reader)).toContain('event: ping');
  return reader;
}

describe('the stream of a page', () => {
  it('tells of tasks of the project, and of no other', async () => {
    world = await World.start({ pages: { place: BEYOND } });
    const visitor = new Visitor(world, { peer: FAR, host: 'tasks.test' });
    await visitor.signIn(await world.key('admin', 'shop'));
    const reader = await listen(visitor);
    await world.submit();
    const body = { type: 'demo/hello', schemaVersion: 1, input: {} };
    const mine = await world.call('POST', '/tasks', {
      key: await world.key('task-producer', 'shop'),
      body,
    });
    const hint = await next(reader);
    expect(hint).toContain('event: task');
    expect(hint).toContain(mine.body.id);
    expect(hint.match(/event: task/g)).toHaveLength(1);
  });

  it('is open without sign-in at this machine, and outlives that some key is revoked', async () => {
    world = await World.start({ pages: { place: HERE } });
    const reader = await listen(new Visitor(world));
    const admin = await world.key('admin');
    const { id } = (
      await world.call('POST', '/keys', { key: admin, body: { name: 'k', kind: 'admin' } })
    ).body;
    await world.call('DELETE', `/keys/${id}`, { key: admin });
    await world.clock.advance(200_000);
    const task = await world.submit();
    let heard = '';
    while (!heard.includes(task.id)) heard = await next(reader);
    expect(heard).toContain('event: task');
  });

  it('ends when one signs out', async () => {
    world = await World.start({ pages: { place: BEYOND } });
    const visitor = new Visitor(world, { peer: FAR, host: 'tasks.test' });
    await visitor.signIn(await world.key('admin'));
    const reader = await listen(visitor);
    await visitor.post('/sign-out', {}, { from: '/tasks' });
    expect(await next(reader)).toBe('the end');
    expect((await visitor.get('/live', SSE)).status).toBe(401);
  });

  it('ends when its key is revoked', async () => {
    world = await World.start({ pages: { place: BEYOND } });
    const visitor = new Visitor(world, { peer: FAR, host: 'tasks.test' });
    const admin = await world.key('admin');
    const made = (
      await world.call('POST', '/keys', { key: admin, body: { name: 'k', kind: 'admin' } })
    ).body;
    await visitor.signIn(made.key);
    const reader = await listen(visitor);
    await world.call('DELETE', `/keys/${made.id}`, { key: admin });
    expect(await next(reader)).toBe('the end');
  });

  it('ends with its session, and is one of a session', async () => {
    world = await World.start({ pages: { place: BEYOND } });
    const visitor = new Visitor(world, { peer: FAR, host: 'tasks.test' });
    expect((await visitor.get('/live', SSE)).status).toBe(401);
    await visitor.signIn(await world.key('admin'));
    const reader = await listen(visitor);
    await world.clock.advance(3_600_001);
    let heard = '';
    while (heard !== 'the end') heard = await next(reader);
    expect((await visitor.get('/live', SSE)).status).toBe(401);
  });

  it('of one session are so many: of more the oldest ends', async () => {
    world = await World.start({ pages: { place: BEYOND } });
    const visitor = new Visitor(world, { peer: FAR, host: 'tasks.test' });
    await visitor.signIn(await world.key('admin'));
    const readers = [];
    for (let i = 0; i <= pageDefaults.streamsPerSession; i++) readers.push(await listen(visitor));
    expect(await next(readers[0] as (typeof readers)[0])).toBe('the end');
    await visitor.post('/sign-out', {}, { from: '/tasks' });
    for (const reader of readers) expect(await next(reader)).toBe('the end');
  });
});
