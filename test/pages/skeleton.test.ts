import { describe, expect, it } from 'vitest';
import { World } from '../control-plane/world.ts';
import { Visitor } from './visitor.ts';

const place = { loopback: true, behindProxy: false, secure: false };

describe('the pages', () => {
  it.each(['/tasks', '/task-types', '/workers', '/submit', '/failures', '/sign-in'])(
    '%s shows with navigation, title and main part',
    async (path) => {
      const visitor = new Visitor(await World.start({ pages: { place } }));
      const page = await visitor.get(path);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.text).toMatch(/<title>[^<]+ (?:·|&middot;) Interlock Tasks<\/title>/);
      expect(page.text.match(/<h1>/g)).toHaveLength(1);
      expect(page.text).toContain('href="#main"');
      for (const link of ['/tasks', '/task-types', '/workers', '/failures', '/submit'])
        expect(page.text).toContain(`href="${link}"`);
    },
  );

  it('begin at the tasks', async () => {
    const visitor = new Visitor(await World.start({ pages: { place } }));
    expect(await visitor.get('/')).toMatchObject({ status: 303, location: '/tasks' });
  });
});
