/**
 * Takes the pictures of the pages that docs/pages.md and the README show: `npm run screenshots`. A control plane of its own with the
 * tasks of a small shop, and a Chromium of this machine. Small WebP files in docs/screenshots.
 */
import './as-text.mjs';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/system/clock.ts';
import { findChromium, launch, NO_CHROMIUM, Window } from '../test/browser/chromium.ts';
import { pastClock } from './screenshots/past-clock.ts';
import { HOUR_MS, openShop } from './screenshots/shop.ts';

const folder = join(import.meta.dirname, '../docs/screenshots');
/** Legible where a page shows it 800 pixels wide, and small. */
const QUALITY = 0.82;
const DESK = { width: 1200, height: 860 };
const PHONE = { width: 390, height: 844 };

const chromium = findChromium();
if (chromium === undefined) {
  process.stderr.write(`No pictures: ${NO_CHROMIUM}\n`);
  process.exit(1);
}
// Later than the hook that reads what is imported as text.
const { openWorld } = await import('../test/browser/world.ts');
const clock = pastClock(systemClock(), HOUR_MS);
const world = await openWorld({ clock });
const browser = await launch(chromium);
try {
  const { unknown, running, alive } = await openShop(world.api, clock);
  mkdirSync(folder, { recursive: true });
  for (const [name, path, size, dark] of [
    ['tasks', '/tasks', DESK, false],
    ['tasks-dark', '/tasks', DESK, true],
    ['tasks-phone', '/tasks', PHONE, false],
    ['tasks-phone-dark', '/tasks', PHONE, true],
    ['task', `/tasks/${running}`, DESK, false],
    ['task-phone-dark', `/tasks/${unknown}`, PHONE, true],
    ['resolve-phone', `/tasks/${unknown}/resolve`, PHONE, false],
    ['task-types', '/task-types', DESK, false],
    ['task-type-phone', '/task-type?type=photo/resize&schemaVersion=1', PHONE, false],
    ['workers-dark', '/workers', DESK, true],
    ['workers-phone', '/workers', PHONE, false],
    ['submit', '/submit?type=invoice/render&schemaVersion=2', DESK, false],
  ] as const) {
    const window = await Window.open(browser, world.url, { ...size, dark });
    await alive();
    await window.go(path);
    if (path.split('?')[0] !== '/submit' && !path.endsWith('/resolve'))
      await window.page.locator('#live-state', { hasText: 'Live' }).waitFor();
    const picture = await webp(window, await window.page.screenshot());
    writeFileSync(join(folder, `${name}.webp`), picture);
    process.stdout.write(
      `docs/screenshots/${name}.webp  ${Math.ceil(picture.length / 1024)} KiB\n`,
    );
    await window.close();
  }
} finally {
  await browser.close();
  await world.stop();
}

/** The browser itself knows how to make one. */
async function webp(window: Window, png: Buffer): Promise<Buffer> {
  const page = await window.context.newPage();
  const source = `data:image/png;base64,${png.toString('base64')}`;
  const made = await page.evaluate(`(async () => {
    const image = new Image();
    image.src = ${JSON.stringify(source)};
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', ${QUALITY});
  })()`);
  await page.close();
  return Buffer.from(`${made}`.split(',')[1] ?? '', 'base64');
}
