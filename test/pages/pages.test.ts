import { afterEach, describe, expect, it } from 'vitest';
import { problemCodes } from '../../src/contract/problems.ts';
import { assetAddresses } from '../../src/pages/assets.ts';
import { World, type WorldOptions } from '../control-plane/world.ts';
import { HERE, Visitor } from './visitor.ts';

const worlds: World[] = [];
async function start(options: WorldOptions = {}): Promise<World> {
  const world = await World.start({ pages: { place: HERE }, ...options });
  worlds.push(world);
  return world;
}
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.app.stop();
});

const PAGES = ['/tasks', '/task-types', '/workers', '/submit', '/failures', '/sign-in'];

describe('a page', () => {
  it.each(PAGES)(
    '%s has a title, one heading, a way past the navigation, and the navigation',
    async (path) => {
      const page = await new Visitor(await start()).get(path);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.text).toMatch(
        /<html lang="en">[\s\S]+<title>[^<]+ &middot; Interlock Tasks<\/title>/,
      );
      expect(page.text.match(/<h1>/g)).toHaveLength(1);
      expect(page.text).toContain('<a class="skip" href="#main">');
      for (const link of ['/tasks', '/task-types', '/workers', '/failures', '/submit'])
        expect(page.text).toContain(`href="${link}"`);
    },
  );

  it.each(PAGES)(
    '%s may load nothing from elsewhere and runs nothing that stands in it',
    async (path) => {
      const { headers, text } = await new Visitor(await start()).get(path);
      const policy = headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(text).not.toMatch(/<style|\sstyle="|\son\w+="|<script(?![^>]* src="\/assets\/)/);
      expect(text.match(/(?:src|href)="(?!\/|#)[^"]*"/g)).toBeNull();
    },
  );

  it('is the list of tasks where none is named', async () => {
    expect(await new Visitor(await start()).get('/')).toMatchObject({
      status: 303,
      location: '/tasks',
    });
  });

  it('answers HEAD as GET, without a body', async () => {
    const visitor = new Visitor(await start());
    const [head, get] = [await visitor.get('/tasks', {}, 'HEAD'), await visitor.get('/tasks')];
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
    expect((await visitor.get('/live', {}, 'HEAD')).status).toBe(200);
  });

  it('that does not exist is said so in words, with its code; a wrong method with those that fit', async () => {
    const visitor = new Visitor(await start());
    const missing = await visitor.get('/nothing');
    expect(missing.status).toBe(404);
    expect(missing.text).toContain('There is no page /nothing.');
    expect(missing.text).toContain('href="/failures#NOT_FOUND"');
    const wrong = await visitor.get('/tasks', {}, 'DELETE');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(wrong.text).toContain('DELETE is not a method of /tasks');
  });

  it('that fails inside tells nothing of it, and the log does', async () => {
    const world = await start();
    const visitor = new Visitor(world);
    world.store.projects = () => Promise.reject(new Error('secret inside'));
    const page = await visitor.get('/tasks');
    expect(page.status).toBe(500);
    expect(page.text).not.toContain('secret inside');
    expect(world.log).toMatchObject([{ level: 'error', event: 'pages.failed' }]);
  });
});

describe('programs', () => {
  it('hear what they always heard, whatever pages there are', async () => {
    const world = await start();
    const ask = async (path: string, accept: string) => {
      const response = await world.app.fetch(
        new Request(`http://127.0.0.1:7420${path}`, {
          headers: { accept, host: '127.0.0.1:7420' },
        }),
        { address: '127.0.0.1', loopback: true },
      );
      return [response.status, response.headers.get('content-type')];
    };
    const problem = [404, 'application/problem+json'];
    for (const path of ['/', '/tasks', '/workers', '/nothing'])
      expect(await ask(path, 'application/json')).toEqual(problem);
    for (const accept of ['application/json', 'text/html', '*/*']) {
      expect(await ask('/api/nothing', accept)).toEqual(problem);
      expect(await ask('/api/tasks/v1/tasks', accept)).toEqual([401, 'application/problem+json']);
      expect(await ask('/api/tasks/v1', accept)).toEqual([200, 'application/json']);
    }
    expect(await ask('/nothing', '*/*')).toEqual(problem);
  });
});

describe('the catalogue of failures', () => {
  it('is open to everybody and has a place for what each problem points to', async () => {
    for (const access of ['open', 'key', 'off'] as const) {
      const world = await start({ pages: { access, place: { ...HERE, loopback: false } } });
      const page = await new Visitor(world, {
        peer: { address: '192.0.2.7', loopback: false },
      }).get('/failures');
      expect(page.status).toBe(200);
      for (const code of Object.keys(problemCodes)) expect(page.text).toContain(`id="${code}"`);
      expect(page.text).not.toContain('href="/workers"');
    }
  });
});

describe('pages that are switched off', () => {
  it('are not there, but for the catalogue', async () => {
    const visitor = new Visitor(await start({ pages: { access: 'off', place: HERE } }));
    for (const path of ['/', '/tasks', '/sign-in', '/live', '/nothing']) {
      const { status, headers } = await visitor.get(path);
      expect([status, headers.get('content-type')]).toEqual([404, 'application/problem+json']);
    }
    expect(visitor.cookies.size).toBe(0);
  });
});

describe('assets', () => {
  it('may be kept for ever, since their address changes with them', async () => {
    const visitor = new Visitor(await start());
    const page = await visitor.get('/tasks');
    for (const address of Object.values(assetAddresses)) {
      expect(page.text).toContain(`"${address}"`);
      const asset = await visitor.get(address, { accept: '*/*' });
      expect(asset.status).toBe(200);
      expect(asset.headers.get('cache-control')).toContain('immutable');
      expect(asset.headers.getSetCookie()).toEqual([]);
    }
    const older = await visitor.get(assetAddresses.style.replace(/-[0-9a-f]{12}/, '-000000000000'));
    expect([older.status, older.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    expect((await visitor.get('/assets/other-000000000000.css')).status).toBe(404);
  });
});
