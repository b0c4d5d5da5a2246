import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** A Chromium of this machine, and pages that are watched while they are used. */

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
export const NO_CHROMIUM =
  'no Chromium was found: install one (on Debian: apt-get install chromium), or name it with CHROMIUM=<path>';

/** @returns the path of a Chromium: what `CHROMIUM` names, or the first on the PATH. */
export function findChromium(env = process.env): string | undefined {
  if (env.CHROMIUM) return env.CHROMIUM;
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders
    .flatMap((folder) => PROGRAMS.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // As root in a container it has no sandbox; and no name of the outside is ever looked up.
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
}

export interface LookOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  readonly javaScript?: boolean;
}

/** A browser's window on one control plane. What should never happen is found: a script that ran, a request that left. */
export class Window {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly findings: string[] = [];
  readonly #url: string;

  private constructor(url: string, context: BrowserContext, page: Page) {
    this.#url = url;
    this.context = context;
    this.page = page;
    const found = (what: string) => this.findings.push(`${page.url().slice(0, 120)}: ${what}`);
    page.on('dialog', (dialog) => {
      found(`a dialog says ${JSON.stringify(dialog.message())}`);
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => found(`a script failed: ${error.message}`));
    // A violation of the policy is told here too.
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type()) && !isRefusal(message.text()))
        found(`the console says ${message.text().slice(0, 300)}`);
    });
    context.on('request', (request) => {
      if (!request.url().startsWith(`${url}/`) && !request.url().startsWith('data:'))
        found(`a request to ${request.url().slice(0, 200)}`);
    });
  }

  static async open(browser: Browser, url: string, options: LookOptions = {}): Promise<Window> {
    const { width = 1440, height = 900, dark = false, javaScript = true } = options;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      javaScriptEnabled: javaScript,
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(30_000);
    return new Window(url, context, await context.newPage());
  }

  /** @returns the status of the answer. */
  async go(path: string): Promise<number> {
    const answer = await this.page.goto(this.#url + path, { waitUntil: 'load' });
    return answer?.status() ?? 0;
  }

  close(): Promise<void> {
    return this.context.close();
  }
}

/** Chromium tells in the console that an answer was 4xx, which pages of ours may be. */
const isRefusal = (text: string) => /^Failed to load resource: .* status of 4\d\d/.test(text);

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);
const inPage = readFileSync(join(import.meta.dirname, 'in-page.js'), 'utf8').replace(/;\s*$/, '');

/** Calls a function of `in-page.js` there. The policy of the page does not bind what a debugger asks. */
export function ask<T>(page: Page, call: string): Promise<T> {
  return page.evaluate(`${inPage}.${call}`) as Promise<T>;
}

/** What axe-core finds on the page as it is, one line for each kind. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return ask(page, 'violations()');
}

/** What is cut off or sticks out sideways, as the page is now. */
export function clipped(page: Page): Promise<string[]> {
  return ask(page, 'clipped()');
}
