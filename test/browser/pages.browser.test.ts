/**
 * The pages in a real browser, with the worst data there is: nothing sticks out or is cut at any width, nothing is wrong for people who
 * see, hear or move otherwise, nothing that somebody wrote runs, nothing leaves.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, clipped, findChromium, launch, NO_CHROMIUM, violations, Window } from './chromium.ts';
import { allPages, kindOf } from './crawl.ts';
import { allStops } from './keyboard.ts';
import { type Seeded, seed } from './seed.ts';
import { type BrowserWorld, openWorld } from './world.ts';

const WIDTHS = [1440, 1024, 390, 320];
const chromium = findChromium();

describe.skipIf(chromium === undefined)(
  chromium === undefined ? `pages in a browser: ${NO_CHROMIUM}` : 'pages in a browser',
  { timeout: 120_000 },
  () => {
    let browser: Browser;
    let world: BrowserWorld;
    let seeded: Seeded;
    let pages: string[];

    beforeAll(async () => {
      world = await openWorld();
      [browser, seeded] = await Promise.all([launch(chromium as string), seed(world.api)]);
      const window = await Window.open(browser, world.url);
      pages = await allPages(window, seeded);
      await window.close();
    }, 120_000);
    afterAll(async () => {
      await browser?.close();
      await world?.stop();
    });

    /** One of each kind, for what takes long. */
    const kinds = () => [...new Map(pages.map((path) => [kindOf(path), path])).values()];

    it('no script that somebody wrote runs, nothing is clipped at any width, nothing leaves', async () => {
      const window = await Window.open(browser, world.url);
      const found: string[] = [];
      for (const path of pages) {
        await window.go(path);
        // What is folded has to fit too.
        for (const width of WIDTHS) {
          await window.page.setViewportSize({ width, height: 900 });
          for (const open of [false, true]) {
            await ask(window.page, `folds(${open})`);
            const says = await clipped(window.page);
            found.push(
              ...says.map((what) => `${path} at ${width}${open ? ', unfolded' : ''}: ${what}`),
            );
          }
        }
        if (await ask(window.page, 'ran()')) found.push(`${path}: a script that was written ran`);
      }
      expect(found.slice(0, 25)).toEqual([]);
      expect(window.findings).toEqual([]);
      await window.close();
    });

    it.each([
      ['light', 1440],
      ['dark', 1440],
      ['light', 390],
    ])('axe-core finds nothing: %s, %i px wide', async (scheme, width) => {
      const window = await Window.open(browser, world.url, { dark: scheme === 'dark', width });
      const found: string[] = [];
      for (const path of kinds()) {
        await window.go(path);
        await ask(window.page, 'folds(true)');
        found.push(...(await violations(window.page)).map((what) => `${path}: ${what}`));
      }
      expect(found.slice(0, 25)).toEqual([]);
      await window.close();
    });

    it('every stop of the Tab key is seen, and the first one skips to the content', async () => {
      const window = await Window.open(browser, world.url);
      const found: string[] = [];
      for (const path of kinds()) {
        await window.go(path);
        const stops = await allStops(window.page);
        found.push(
          ...stops.flatMap(({ what, unseen }) => (unseen ? [`${path}: ${what} ${unseen}`] : [])),
        );
        if (!stops[0]?.what.includes('Skip')) found.push(`${path}: begins with ${stops[0]?.what}`);
      }
      expect(found.slice(0, 25)).toEqual([]);
      await window.close();
    });

    it('with scripts off every page is there and says that it does not update itself', async () => {
      const window = await Window.open(browser, world.url, { javaScript: false, width: 390 });
      const found: string[] = [];
      for (const path of kinds()) {
        await window.go(path);
        const heading = await window.page.locator('main h1').first().textContent();
        if (!heading?.trim()) found.push(`${path} has no heading`);
      }
      expect(found.slice(0, 25)).toEqual([]);
      expect(window.findings).toEqual([]);
      await window.go('/tasks');
      expect(await window.page.locator('#live-state').textContent()).toContain('scripts are off');
      await window.close();
    });
  },
);
