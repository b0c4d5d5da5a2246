/** The short form of `pages.browser.test.ts`, where a Chromium is found: two pages, a desk and a phone. */
import { expect, it } from 'vitest';
import { ask, clipped, findChromium, launch, NO_CHROMIUM, violations, Window } from './chromium.ts';
import { seed } from './seed.ts';
import { openWorld } from './world.ts';

const chromium = findChromium();

it.skipIf(chromium === undefined)(
  `pages stand in a browser, and nothing that is written there runs${chromium === undefined ? ` (${NO_CHROMIUM})` : ''}`,
  { timeout: 60_000 },
  async () => {
    const world = await openWorld();
    const [browser, { failed }] = await Promise.all([launch(chromium as string), seed(world.api)]);
    try {
      const window = await Window.open(browser, world.url);
      for (const path of ['/tasks', `/tasks/${failed}`]) {
        expect(await window.go(path)).toBe(200);
        expect(await violations(window.page)).toEqual([]);
        for (const width of [1440, 320]) {
          await window.page.setViewportSize({ width, height: 900 });
          expect(await clipped(window.page), `${path} at ${width}`).toEqual([]);
        }
        expect(await ask(window.page, 'ran()')).toBe(false);
      }
      expect(window.findings).toEqual([]);
    } finally {
      await browser.close();
      await world.stop();
    }
  },
);
