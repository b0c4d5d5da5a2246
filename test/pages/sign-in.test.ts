import { afterEach, describe, expect, it } from 'vitest';
import { keyKinds } from '../../src/contract/keys.ts';
import { pageDefaults } from '../../src/core/page-defaults.ts';
import { ownAddress } from '../../src/pages/sign-in.ts';
import { World, type WorldOptions } from '../control-plane/world.ts';
import { BEYOND, FAR, HERE, Visitor } from './visitor.ts';

const worlds: World[] = [];
async function start(options: WorldOptions = {}): Promise<World> {
  const world = await World.start({ pages: { place: BEYOND }, ...options });
  worlds.push(world);
  return world;
}
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.app.stop();
});
/** Without the loops of a control plane: hours go by at no cost. */
const still = () => new World({ pages: { place: BEYOND } });
const NEAR = { address: '127.0.0.1', loopback: true };
const far = (world: World) => new Visitor(world, { peer: FAR, host: 'tasks.test' });

describe('at this machine', () => {
  it('nobody has to sign in: whoever looks is an admin of the project', async () => {
    const world = await start({ pages: { place: HERE } });
    const page = await new Visitor(world).get('/tasks');
    expect(page.status).toBe(200);
    expect(page.text).toContain('this machine');
  });

  it.each([
    ['a name that somebody else’s DNS points here', { host: 'evil.test' }, {}],
    ['a name that only begins as ours', { host: 'localhost.evil.test:7420' }, {}],
    ['an address of a network', { host: '192.168.1.5:7420' }, {}],
    ['what a proxy has passed on', {}, { 'x-forwarded-for': '192.0.2.7' }],
    ['… in the standard’s words', {}, { forwarded: 'for=192.0.2.7' }],
    ['… with only its name', {}, { via: '1.1 proxy' }],
    ...[
      'x-forwarded',
      'x-original-url',
      'x-envoy-external-address',
      'fastly-client-ip',
      'x-cluster-client-ip',
      'tailscale-user-login',
      'x-request-id',
      'x-scheme',
      'x-url-scheme',
      'proxy-connection',
      'x-appengine-user-ip',
    ].map((name): [string, object, Record<string, string>] => [
      `… with ${name}`,
      {},
      { [name]: '1' },
    ]),
    [
      'what a page of another site has asked for',
      {},
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    ],
    ['a proxy that runs as another user', { peer: { ...NEAR, ours: async () => false } }, {}],
    ['a foreign name in the first line', { host: 'evil.test' }, { host: '127.0.0.1:7420' }],
    ['another machine', { peer: FAR }, {}],
  ])('%s does not count as it', async (_, from, headers) => {
    const world = await start({ pages: { place: HERE } });
    const page = await new Visitor(world, from).get('/tasks', headers);
    expect(page).toMatchObject({ status: 303, location: '/sign-in?to=%2Ftasks' });
  });

  it.each([
    ['a listener beyond loopback', { loopback: false }],
    ['a proxy in front', { behindProxy: true }],
    ['TLS, which on loopback is spoken for others', { secure: true }],
  ])('%s ends it for all', async (_, more) => {
    const world = await start({ pages: { place: { ...HERE, ...more } } });
    expect((await new Visitor(world).get('/tasks')).status).toBe(303);
  });

  it('whose connection it is counts only where the system tells', async () => {
    const world = await start({ pages: { place: HERE } });
    for (const ours of [true, undefined]) {
      const peer = { ...NEAR, ours: async () => ours };
      expect((await new Visitor(world, { peer }).get('/tasks')).status).toBe(200);
    }
    const peer = { ...NEAR, ours: async () => false };
    expect((await new Visitor(world, { peer }).get('/live')).status).toBe(401);
  });

  it('a key is asked for where that is set', async () => {
    const world = await start({ pages: { access: 'key', place: HERE } });
    expect((await new Visitor(world).get('/tasks')).status).toBe(303);
  });

  it.each(['localhost:7420', '127.0.0.1', '[::1]:7420', 'LOCALHOST:7420'])(
    '%s is it',
    async (host) => {
      const world = await start({ pages: { place: HERE } });
      expect((await new Visitor(world, { host }).get('/tasks')).status).toBe(200);
    },
  );

  it('the projects that have keys can be chosen, and no other', async () => {
    const world = await start({ pages: { place: HERE } });
    for (const project of ['default', 'shop']) await world.key('admin', project);
    const visitor = new Visitor(world);
    expect((await visitor.get('/tasks')).text).toContain('<option value="default" selected>');
    const to = '/tasks?status=failed';
    const switched = await visitor.post('/project', { project: 'shop', to }, { from: '/tasks' });
    expect(switched).toMatchObject({ status: 303, location: '/tasks' });
    expect((await visitor.get('/tasks')).text).toContain('<option value="shop" selected>');
    const none = await visitor.post('/project', { project: 'none', to }, { from: '/tasks' });
    expect(none.status).toBe(404);
  });
});

describe('from elsewhere', () => {
  it('a key opens the pages of its project, and one returns to what was asked for', async () => {
    const world = await start();
    const visitor = far(world);
    const asked = await visitor.get('/tasks?status=failed');
    expect(asked.location).toBe('/sign-in?to=%2Ftasks%3Fstatus%3Dfailed');
    const done = await visitor.signIn(
      await world.key('task-operator', 'shop', 'anna'),
      '/tasks?status=failed',
    );
    expect(done).toMatchObject({ status: 303, location: '/tasks?status=failed' });
    const page = await visitor.get('/tasks');
    expect(page.status).toBe(200);
    expect(page.text).toContain('<bdi>shop</bdi>');
    expect(page.text).toContain('<bdi>anna</bdi>');
  });

  it('the cookie is out of reach for scripts and other sites, short-lived, and holds no key', async () => {
    const world = await start();
    const visitor = far(world);
    const key = await world.key('admin');
    const [line = ''] = (await visitor.signIn(key)).headers.getSetCookie();
    expect(line).toMatch(/^__Host-interlock_session_[0-9a-f]{8}=/);
    for (const flag of [
      'HttpOnly',
      'SameSite=Strict',
      'Path=/',
      'Secure',
      `Max-Age=${pageDefaults.idleMs / 1_000}`,
    ])
      expect(line.split('; ')).toContain(flag);
    const decoded = Buffer.from(line.split(/[=.]/)[1] ?? '', 'base64url').toString();
    expect(decoded).toContain('"keys"');
    for (const text of [line, decoded]) expect(text).not.toContain('il_');
  });

  it('kinds that may not read tasks are refused', async () => {
    const world = await start();
    for (const kind of keyKinds) {
      const { status } = await far(world).signIn(await world.key(kind));
      expect([kind, status]).toEqual([kind, /producer|operator|admin/.test(kind) ? 303 : 403]);
    }
  });

  it('a wrong, revoked or expired key is refused in the same words', async () => {
    const world = await start();
    const admin = await world.key('admin');
    const made = async (body: object) =>
      (
        await world.call('POST', '/keys', {
          key: admin,
          body: { name: 'k', kind: 'admin', ...body },
        })
      ).body;
    const revoked = await made({});
    await world.call('DELETE', `/keys/${revoked.id}`, { key: admin });
    const expired = await made({ expiresInMs: 1 });
    await world.clock.advance(10);
    const pages = [];
    for (const key of ['il_none', 'nonsense', '', revoked.key, expired.key])
      pages.push(await far(world).signIn(key));
    const words = pages.map(
      ({ text }) => /<div class="notice[\s\S]+?<\/div><\/div>/.exec(text)?.[0],
    );
    expect(new Set(words).size).toBe(1);
    expect(pages.every(({ status }) => status === 403)).toBe(true);
    for (const { text } of pages) expect(text).not.toContain(revoked.id);
  });

  it('too many wrong keys from one address are put off and no longer logged, a right one and other addresses are not', async () => {
    const world = await start();
    const visitor = far(world);
    const key = await world.key('admin');
    const statuses = [];
    for (let i = 0; i < 7; i++) statuses.push((await visitor.signIn('il_wrong')).status);
    expect(statuses).toEqual([403, 403, 403, 403, 403, 429, 429]);
    expect(world.log.filter(({ event }) => event === 'pages.sign-in-refused')).toHaveLength(5);
    const peer = { address: '192.0.2.8', loopback: false };
    const other = new Visitor(world, { peer, host: 'tasks.test' });
    expect((await other.signIn('il_wrong')).status).toBe(403);
    expect((await visitor.signIn(key)).status).toBe(303);
    await visitor.post('/sign-out', {}, { from: '/tasks' });
    await world.clock.advance(60_000);
    expect((await visitor.signIn('il_wrong')).status).toBe(403);
  });

  it('no key gets into the log', async () => {
    const world = await start();
    const keys = [await world.key('admin'), await world.key('task-worker'), `il_${'x'.repeat(43)}`];
    for (const key of keys) await far(world).signIn(key);
    expect(world.log.length).toBeGreaterThan(0);
    for (const key of keys) expect(JSON.stringify(world.log)).not.toContain(key);
  });
});

describe('a session', () => {
  it('ends at once when its key is revoked, in words', async () => {
    const world = await start();
    const visitor = far(world);
    const admin = await world.key('admin');
    const { key, id } = (
      await world.call('POST', '/keys', { key: admin, body: { name: 'k', kind: 'admin' } })
    ).body;
    await visitor.signIn(key);
    expect((await visitor.get('/tasks')).status).toBe(200);
    await world.call('DELETE', `/keys/${id}`, { key: admin });
    const out = await visitor.get('/tasks');
    expect(out).toMatchObject({ status: 303, location: '/sign-in?to=%2Ftasks&why=ended' });
    expect((await visitor.get(out.location ?? '')).text).toContain('You were signed out: the key');
  });

  it('ends after an hour in which nobody opened a page, whatever updates itself meanwhile', async () => {
    const world = still();
    const visitor = far(world);
    await visitor.signIn(await world.key('admin'));
    const minutes = (n: number) => world.clock.advance(n * 60_000);
    for (let i = 0; i < 3; i++) {
      await minutes(50);
      expect((await visitor.get('/tasks')).status).toBe(200);
    }
    for (let i = 0; i < 5; i++) {
      await minutes(10);
      await visitor.get('/tasks', { 'interlock-update': '1' });
    }
    await minutes(11);
    expect((await visitor.get('/tasks')).status).toBe(303);
  });

  it('ends after eight hours, however busy', async () => {
    const world = still();
    const visitor = far(world);
    await visitor.signIn(await world.key('admin'));
    let status = 200;
    let halfHours = 0;
    while (status === 200 && halfHours < 40) {
      halfHours++;
      await world.clock.advance(1_800_000);
      status = (await visitor.get('/tasks')).status;
    }
    expect(halfHours).toBe(16);
  });

  it('is over once signed out, for copies of its cookie too, and says nothing to an update but that', async () => {
    const world = await start();
    const [visitor, thief] = [far(world), far(world)];
    await visitor.signIn(await world.key('admin'));
    for (const [name, value] of visitor.cookies) thief.cookies.set(name, value);
    expect((await thief.get('/tasks')).status).toBe(200);
    const out = await visitor.post('/sign-out', {}, { from: '/tasks' });
    expect(out).toMatchObject({ status: 303, location: '/sign-in?why=out' });
    expect((await thief.get('/tasks')).status).toBe(303);
    expect(await thief.get('/tasks', { 'interlock-update': '1' })).toMatchObject({
      status: 401,
      text: '',
    });
  });

  it('cannot be made up, changed, or brought from another control plane', async () => {
    const world = await start();
    const visitor = far(world);
    await visitor.signIn(await world.key('task-producer'));
    const [[name = '', value = ''] = []] = [...visitor.cookies];
    const [payload = '', mac] = value.split('.');
    const forged = JSON.parse(Buffer.from(payload, 'base64url').toString());
    forged.project = 'shop';
    const changed = Buffer.from(JSON.stringify(forged)).toString('base64url');
    for (const bad of [`${changed}.${mac}`, payload, `${payload}.`, `${payload}.x`, '.', '']) {
      visitor.cookies.set(name, bad);
      expect((await visitor.get('/tasks')).status).toBe(303);
    }
    const other = await start({ secret: new Uint8Array(32).fill(9) });
    const there = far(other);
    there.cookies.set(name, value);
    expect((await there.get('/tasks')).status).toBe(303);
  });

  it('of one project sees nothing of another until one signs in there too', async () => {
    const world = await start();
    const visitor = far(world);
    const task = await world.submit();
    await visitor.signIn(await world.key('admin', 'shop'));
    expect((await visitor.get(`/tasks/${task.id}`)).status).toBe(404);
    const refused = await visitor.post(
      '/project',
      { project: 'default', to: '/tasks' },
      { from: '/tasks' },
    );
    expect(refused.status).toBe(404);
    await visitor.signIn(await world.key('admin', 'default'));
    const page = await visitor.get('/tasks');
    for (const project of ['default', 'shop'])
      expect(page.text).toContain(`<option value="${project}"`);
    await visitor.post('/project', { project: 'shop', to: '/tasks' }, { from: '/tasks' });
    expect((await visitor.get('/tasks')).text).toContain('<option value="shop" selected>');
  });
});

describe('a form', () => {
  it.each([
    ['without a token', { token: '' }],
    ['with the token of another session', { token: 'other' }],
    ['from another site', { headers: { origin: 'https://evil.test' } }],
    ['from another port of the same host', { headers: { origin: 'http://tasks.test:9999' } }],
    ['from nowhere that it says', { headers: { origin: 'null' } }],
    [
      'that the browser says came from another site',
      { headers: { 'sec-fetch-site': 'cross-site' } },
    ],
    ['… or from a sister of this one', { headers: { 'sec-fetch-site': 'same-site' } }],
    ['that is sent as something else', { headers: { 'content-type': 'text/plain' } }],
  ])('%s does nothing', async (_, options) => {
    const world = await start();
    const visitor = far(world);
    await visitor.signIn(await world.key('admin'));
    const before = [...visitor.cookies];
    const answer = await visitor.post('/sign-out', {}, { from: '/tasks', ...options });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('Nothing was done.');
    expect([...visitor.cookies]).toEqual(before);
    expect((await visitor.get('/tasks')).status).toBe(200);
  });

  it('at this machine has to show the same', async () => {
    const world = await start({ pages: { place: HERE } });
    const visitor = new Visitor(world);
    await visitor.get('/tasks');
    const to = { project: 'default', to: '/tasks' };
    expect((await visitor.post('/project', to, { token: 'none' })).status).toBe(403);
    const foreign = { headers: { origin: 'https://evil.test' } };
    expect((await visitor.post('/project', to, foreign)).status).toBe(403);
  });

  it('about one project does nothing once another tab has switched to another', async () => {
    const world = await start({ pages: { place: HERE } });
    for (const project of ['default', 'shop']) await world.key('admin', project);
    const visitor = new Visitor(world);
    const submit = {
      type: 'demo/hello',
      schemaVersion: '1',
      input: '{}',
      'about-project': 'default',
    };
    await visitor.post('/project', { project: 'shop', to: '/' }, { from: '/tasks' });
    const answer = await visitor.post('/submit', submit, { from: '/tasks' });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain(
      'It is about project default, and you have switched to shop since.',
    );
  });

  it('that is too large is refused', async () => {
    const world = await start();
    const visitor = far(world);
    const answer = await visitor.post('/sign-in', { key: 'x'.repeat(pageDefaults.formBytes) });
    expect(answer.status).toBe(413);
  });

  it('behind a proxy that asks us for another name is one of ours where the browser says so', async () => {
    const world = await start({
      pages: { place: { loopback: true, behindProxy: true, secure: true } },
    });
    const visitor = new Visitor(world, { host: '127.0.0.1:7420' });
    const key = await world.key('admin');
    const origin = 'https://tasks.test';
    const sent = (headers: Record<string, string>) =>
      visitor.post('/sign-in', { key, to: '/tasks' }, { headers: { origin, ...headers } });
    const refused = await sent({});
    expect(refused.status).toBe(403);
    expect(refused.text).toContain(
      'The browser says it is at https://tasks.test, but the request asked for 127.0.0.1:7420.',
    );
    expect(refused.text).toContain('let it pass the name on');
    expect(refused.text).not.toContain('SCOPE_DENIED');
    expect((await sent({ 'x-forwarded-host': 'tasks.test' })).status).toBe(303);
    expect((await sent({ 'sec-fetch-site': 'same-origin' })).status).toBe(303);
    expect(
      (await sent({ 'sec-fetch-site': 'cross-site', 'x-forwarded-host': 'tasks.test' })).status,
    ).toBe(403);
  });
});

describe('a link from another site', () => {
  it('is asked for once more, since it brings no cookie, and then answered', async () => {
    const world = await start();
    const visitor = far(world);
    const elsewhere = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const first = await visitor.get('/tasks', elsewhere);
    expect(first.status).toBe(200);
    expect(first.text).toContain('http-equiv="refresh" content="0"');
    // Whatever the browser says then.
    expect((await visitor.get('/tasks', elsewhere)).status).toBe(303);
  });
});

describe('where one goes after signing in', () => {
  it.each([
    ['/tasks?status=failed', '/tasks?status=failed'],
    ['/workers/w%201', '/workers/w%201'],
    [null, '/tasks'],
    ['', '/tasks'],
    ['https://evil.test/', '/tasks'],
    ['//evil.test', '/tasks'],
    ['/\\evil.test', '/tasks'],
    ['/\t/evil.test', '/tasks'],
    ['/..//evil.test', '/tasks'],
    ['javascript:alert(1)', '/tasks'],
    ['/sign-out', '/tasks'],
    ['/live', '/tasks'],
  ])('%s → %s', (given, goes) => {
    expect(ownAddress(given)).toBe(goes);
  });
});
