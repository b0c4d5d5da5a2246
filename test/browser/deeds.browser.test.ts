/** What people do on the pages, in a real browser: with the keyboard alone, with scripts off, signed in, and while things happen. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlayedWorker } from './api.ts';
import { findChromium, launch, NO_CHROMIUM, Window } from './chromium.ts';
import { pressOn, tabTo, typeInto } from './keyboard.ts';
import { type BrowserWorld, openWorld } from './world.ts';

const chromium = findChromium();

describe.skipIf(chromium === undefined)(
  chromium === undefined ? `deeds in a browser: ${NO_CHROMIUM}` : 'deeds in a browser',
  { timeout: 120_000 },
  () => {
    let browser: Browser;
    let world: BrowserWorld;
    let worker: PlayedWorker;

    beforeAll(async () => {
      world = await openWorld();
      browser = await launch(chromium as string);
      worker = new PlayedWorker(world.api, 'garage');
      const schema = {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' } },
      };
      await worker.present({
        handlers: [
          {
            type: 'demo/hello',
            schemaVersion: 1,
            effectSafety: 'pure',
            effectGate: 'start',
            inputSchema: schema,
          },
        ],
      });
    }, 120_000);
    afterAll(async () => {
      await browser?.close();
      await world?.stop();
    });

    const status = async (id: string) =>
      (await world.api.call('operator', 'GET', `/tasks/${id}`)).status as string;
    const submit = async (type = 'demo/hello') =>
      (
        await world.api.call('producer', 'POST', '/tasks', {
          type,
          schemaVersion: 1,
          input: { name: 'Ada' },
          policy: { maxAttempts: 1 },
        })
      ).id as string;
    /** A task that this worker ended so. */
    const ended = async (op: 'fail' | 'unknown') => {
      const type = `ends/${op}-${Math.random().toString(36).slice(2)}`;
      const id = await submit(type);
      const care = op === 'unknown' ? { effectSafety: 'non-idempotent' } : {};
      const [attempt] = await worker.claim(type, 1, care);
      await worker.report(attempt, 'start');
      await worker.report(attempt, op, { error: { code: 'PRINTER_OFF', message: 'It is off.' } });
      return id;
    };
    const taskOf = (window: Window) => /tsk_\w+/.exec(window.page.url())?.[0] ?? '';
    const open = async (path: string, options = {}) => {
      const window = await Window.open(browser, world.url, options);
      expect(await window.go(path)).toBe(200);
      return window;
    };
    const leave = async (window: Window) => {
      expect(window.findings).toEqual([]);
      await window.close();
    };

    it('the keyboard alone skips to the content and submits a task', async () => {
      const window = await open('/tasks');
      const { page } = window;
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('main');
      await pressOn(page, 'main a[href="/submit"]');
      await page.waitForURL('**/submit');
      await pressOn(page, 'main a[href^="/submit?type=demo"]');
      await page.waitForURL('**/submit?*');
      await typeInto(page, 'main form input[name]:not([type=hidden])', 'Ada');
      await pressOn(page, 'main form button');
      await page.waitForURL('**/tasks/tsk_*');
      expect(await status(taskOf(window))).toBe('queued');
      await leave(window);
    });

    it.each([
      ['cancel', submit, 'cancelled', []],
      ['retry', () => ended('fail'), 'queued', []],
      ['resolve', () => ended('unknown'), 'failed', ['input[value=failed]']],
    ] as const)('the keyboard alone does it: %s', async (action, make, becomes, choices) => {
      const id = await make();
      const window = await open(`/tasks/${id}`);
      const { page } = window;
      await pressOn(page, `main a[href$="/tasks/${id}/${action}"]`);
      await page.waitForURL(`**/${action}`);
      // Nothing has happened before it is said what will.
      expect(await status(id)).not.toBe(becomes);
      for (const choice of choices) {
        // One of several is reached by the arrows.
        await tabTo(page, `main input[name=resolution]`);
        for (let at = 0; at < 5; at++) {
          if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(choice)})`))
            break;
          await page.keyboard.press('ArrowDown');
        }
      }
      await typeInto(page, 'main textarea[name=reason]', 'The printer is on again');
      await pressOn(page, 'main form button');
      await page.waitForURL(`**/tasks/${id}`);
      expect(await status(id)).toBe(becomes);
      expect(await page.locator('main').textContent()).toContain('The printer is on again');
      await leave(window);
    });

    it('the keyboard alone drains a worker', async () => {
      const other = new PlayedWorker(world.api, 'to-drain');
      await other.present();
      const window = await open('/workers');
      const { page } = window;
      await pressOn(page, 'main a[href="/workers/to-drain"]');
      await page.waitForURL('**/workers/to-drain');
      await pressOn(page, 'main a[href="/workers/to-drain/drain"]');
      await page.waitForURL('**/drain');
      await pressOn(page, 'main form button');
      await page.waitForURL('**/workers/to-drain');
      expect((await other.present()).drain).toBe(true);
      await leave(window);
    });

    it('with scripts off a task is cancelled on a phone', async () => {
      const id = await submit();
      const window = await open(`/tasks/${id}`, { javaScript: false, width: 390 });
      const { page } = window;
      await page.locator(`main a[href$="/tasks/${id}/cancel"]`).first().click();
      await page.locator('main form button').click();
      await page.waitForURL(`**/tasks/${id}`);
      expect(await status(id)).toBe('cancelled');
      await leave(window);
    });

    it('what happens shows by itself: in the list, on the page of the task, and for who cannot see', async () => {
      const id = await submit('live/task');
      const window = await open('/tasks');
      const { page } = window;
      await page.locator('#live-state', { hasText: 'Live' }).waitFor();
      const next = await submit('live/another');
      await page.locator(`main a[href="/tasks/${next}"]`).first().waitFor();
      await window.go(`/tasks/${id}`);
      await page.locator('#live-state', { hasText: 'Live' }).waitFor();
      const [attempt] = await worker.claim('live/task', 1);
      await worker.report(attempt, 'start');
      await worker.report(attempt, 'complete', { result: { greeting: 'Hello, Ada!' } });
      await page.locator('main', { hasText: 'succeeded' }).waitFor();
      await leave(window);
    });

    it('where a key is needed nothing is shown without it, and the keyboard alone signs in and out', async () => {
      const locked = await openWorld({ pages: 'key' });
      try {
        const window = await Window.open(browser, locked.url);
        const { page } = window;
        for (const path of ['/', '/tasks', '/workers', '/submit']) {
          await window.go(path);
          expect(new URL(page.url()).pathname).toBe('/sign-in');
        }
        await typeInto(page, '#key', 'il_wrong');
        await page.keyboard.press('Enter');
        await page.locator('main', { hasText: 'This key is not taken' }).waitFor();
        await typeInto(page, '#key', locked.api.keys.operator);
        await page.keyboard.press('Enter');
        await page.waitForURL((url) => url.pathname !== '/sign-in');
        const [cookie] = await window.context.cookies();
        expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
        await window.go('/tasks');
        await pressOn(page, 'header form[action="/sign-out"] button');
        await page.locator('main', { hasText: 'signed out' }).waitFor();
        await window.go('/tasks');
        expect(new URL(page.url()).pathname).toBe('/sign-in');
        await leave(window);
      } finally {
        await locked.stop();
      }
    });
  },
);
