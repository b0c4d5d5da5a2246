/** How a page updates itself while somebody uses it: what is theirs stays, and how things stand is said in words. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, launch, NO_CHROMIUM, Window } from './chromium.ts';
import { type BrowserWorld, openWorld } from './world.ts';

const chromium = findChromium();

describe.skipIf(chromium === undefined)(
  chromium === undefined ? `live updates: ${NO_CHROMIUM}` : 'live updates',
  { timeout: 120_000 },
  () => {
    let browser: Browser;
    let world: BrowserWorld;

    beforeAll(async () => {
      world = await openWorld();
      browser = await launch(chromium as string);
    }, 120_000);
    afterAll(async () => {
      await browser?.close();
      await world?.stop();
    });

    const submit = async () =>
      (
        await world.api.call('producer', 'POST', '/tasks', {
          type: 'live/task',
          schemaVersion: 1,
          input: {},
        })
      ).id as string;
    const says = (page: Page, words: string) =>
      page.locator('#live-state', { hasText: words }).waitFor();

    it('leave open folds, what was typed, the focus and the place where one reads', async () => {
      await submit();
      const window = await Window.open(browser, world.url, { height: 400 });
      const { page } = window;
      await window.go('/tasks');
      await says(page, 'Live');
      await page.evaluate(
        `for (const fold of document.querySelectorAll('main details')) fold.open = true`,
      );
      const field = page.locator('main details input:not([type=checkbox], [type=hidden])').first();
      await field.fill('half a wo');
      await page.evaluate('window.field = document.activeElement');
      const state = `({
        folds: [...document.querySelectorAll('main details')].every((fold) => fold.open),
        typed: window.field.value,
        focus: window.field === document.activeElement,
        place: window.scrollY,
      })`;
      const before = await page.evaluate(state);
      expect(before).toMatchObject({ folds: true, typed: 'half a wo', focus: true });
      const next = await submit();
      await page.locator(`main a[href="/tasks/${next}"]`).first().waitFor({ state: 'attached' });
      expect(await page.evaluate(state)).toEqual(before);
      expect(window.findings).toEqual([]);
      await window.close();
    });

    it('leave their connection to others while nobody sees the page', async () => {
      const window = await Window.open(browser, world.url);
      const { page } = window;
      await window.go('/tasks');
      await says(page, 'Live');
      // Chromium without a screen shows all of its windows: it is told that this one is hidden.
      const hide = (hidden: boolean) =>
        page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
          document.dispatchEvent(new Event('visibilitychange'))`);
      const gone = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/live'));
      await hide(true);
      await gone;
      const next = await submit();
      await hide(false);
      await page.locator(`main a[href="/tasks/${next}"]`).first().waitFor({ state: 'attached' });
      await window.close();
    });

    it('say it where one signed out in another tab, and go on nowhere', async () => {
      const locked = await openWorld({ pages: 'key' });
      const window = await Window.open(browser, locked.url);
      const { page } = window;
      await window.go('/sign-in');
      await page.fill('#key', locked.api.keys.operator);
      await page.click('main button');
      await page.waitForURL('**/tasks');
      await says(page, 'Live');
      const other = await window.context.newPage();
      await other.goto(`${locked.url}/workers`);
      await other.click('form[action="/sign-out"] button');
      await says(page, 'You are signed out.');
      expect(await page.getAttribute('#live-state a', 'href')).toBe('/sign-in?to=%2Ftasks');
      await window.close();
      await locked.stop();
    });

    it.each([
      [403, 'You may not see this page any more.'],
      [404, 'What this page shows is not there any more.'],
      [429, 'too many requests; trying again'],
      [500, 'answers, but not with this page; trying again'],
    ])(
      'say what a refusal is (%i), also while hints come, and are live again after it',
      async (status, words) => {
        const window = await Window.open(browser, world.url);
        const { page } = window;
        await window.go('/tasks');
        await says(page, 'Live');
        const updates = (url: URL) => url.pathname === '/tasks';
        await page.route(updates, (route) => route.fulfill({ status, body: 'no' }));
        await submit();
        await says(page, words);
        const next = page.waitForEvent('response', (response) => response.status() === status);
        await submit();
        await next;
        expect(await page.textContent('#live-state')).toContain(words);
        await page.unroute(updates);
        const last = await submit();
        await page.locator(`main a[href="/tasks/${last}"]`).first().waitFor({ state: 'attached' });
        await says(page, 'Live');
        await window.close();
      },
    );

    it('say it where the control plane has gone', async () => {
      const ends = await openWorld();
      const window = await Window.open(browser, ends.url);
      await window.go('/tasks');
      await says(window.page, 'Live');
      await ends.stop();
      await says(window.page, 'cannot be reached; trying again');
      await window.close();
    });
  },
);
