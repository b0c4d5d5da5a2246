import { afterEach, describe, expect, it } from 'vitest';
import { pageDefaults } from '../../src/core/page-defaults.ts';
import { Sessions } from '../../src/pages/session.ts';
import { requestOf } from '../../src/pages/submit-request.ts';
import { World } from '../control-plane/world.ts';
import { BEYOND, FAR, HERE, Visitor } from './visitor.ts';

const worlds: World[] = [];
async function start(place = BEYOND): Promise<World> {
  const world = await World.start({ pages: { place } });
  worlds.push(world);
  return world;
}
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.app.stop();
});
const far = (world: World) => new Visitor(world, { peer: FAR, host: 'tasks.test' });

/** A form whose body tells whether anybody has read it. */
async function sent(world: World, path: string, cookie?: string) {
  let pulled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulled = true;
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request(`http://tasks.test${path}`, {
    method: 'POST',
    body,
    duplex: 'half',
    headers: {
      accept: 'text/html',
      host: 'tasks.test',
      origin: 'http://tasks.test',
      'content-type': 'application/x-www-form-urlencoded',
      ...(cookie && { cookie }),
    },
  });
  const { status } = await world.app.fetch(request, FAR);
  return { status, pulled };
}

describe('a form', () => {
  it('is not read where there is no session it could be of, nor where nobody signed in who could send it', async () => {
    const world = await start();
    expect(await sent(world, '/sign-in')).toEqual({ status: 403, pulled: false });
    const visitor = far(world);
    await visitor.get('/sign-in');
    const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
    expect(await sent(world, '/submit', cookie)).toEqual({ status: 303, pulled: false });
    expect(await sent(world, '/sign-in', cookie)).toEqual({ status: 403, pulled: true });
  });

  it('with more fields than any of ours is refused before they are read', async () => {
    const world = await start(HERE);
    const visitor = new Visitor(world);
    const token = await visitor.token('/sign-in');
    const body = `token=${token}${'&a'.repeat(pageDefaults.formFields)}`;
    for (const path of ['/sign-in', '/submit']) {
      const request = new Request(`http://127.0.0.1:7420${path}`, {
        method: 'POST',
        body,
        headers: {
          accept: 'text/html',
          host: '127.0.0.1:7420',
          'content-type': 'application/x-www-form-urlencoded',
          cookie: [...visitor.cookies].map((pair) => pair.join('=')).join('; '),
        },
      });
      const answer = await world.app.fetch(request, { address: '127.0.0.1', loopback: true });
      expect([path, answer.status]).toEqual([path, 413]);
      expect(await answer.text()).toContain('It has more fields than a form may have.');
    }
  });

  it('may be large only where it holds an input or a result', async () => {
    const world = await start(HERE);
    const visitor = new Visitor(world);
    const large = 'x'.repeat(pageDefaults.formBytes);
    const statusOf = async (path: string) => (await visitor.post(path, { large })).status;
    expect(await statusOf('/sign-in')).toBe(413);
    expect(await statusOf('/project')).toBe(413);
    expect(await statusOf('/tasks/none/cancel')).toBe(413);
    expect(await statusOf('/submit')).toBe(400);
    expect(await statusOf('/tasks/none/resolve')).not.toBe(413);
  });

  it('with more lines of labels than a task can have is told so once', () => {
    const form = new URLSearchParams({ json: '{}', labels: 'no label\n'.repeat(1_000) });
    const made = requestOf(form, { type: 'demo/hello', schemaVersion: 1 }, undefined);
    expect(made.ok || made.issues.get('labels')).toEqual([
      'has 1000 lines; a task has at most 64 labels',
    ]);
  });
});

describe('a sign-out', () => {
  const signedIn = async (world: World) => {
    const visitor = far(world);
    await visitor.signIn(await world.key('admin'));
    expect((await visitor.get('/tasks')).status).toBe(200);
    return visitor;
  };

  it('holds after a restart, which signs everybody out', async () => {
    const world = await start();
    const visitor = await signedIn(world);
    const copy = new Map(visitor.cookies);
    await visitor.post('/sign-out', {}, { from: '/tasks' });
    await world.restart();
    for (const [name, value] of copy) visitor.cookies.set(name, value);
    expect((await visitor.get('/tasks')).status).toBe(303);
  });

  it('is not forgotten for those of people who never signed in', () => {
    const secret = new Uint8Array(32);
    const sessions = new Sessions({ secret, start: secret, epoch: 'e', secure: false });
    const session = (id: string, keys: string[]) => ({ id, keys, begunAtMs: 0, usedAtMs: 0 });
    const signedOut = session('somebody', ['key']);
    sessions.end(signedOut, 0);
    for (let i = 0; i < pageDefaults.endedKept; i++) sessions.end(session(`stranger-${i}`, []), 0);
    expect(sessions.over(signedOut, 0)).toBe(true);
  });
});
