import type { Page } from 'playwright-core';
import { ask } from './chromium.ts';

/** What a person does who has only the keyboard. */

/** Tab stops of any page of ours; more means that Tab goes round and round. */
const STOPS_MAX = 400;
/** A list has the same stops in every row. */
const LOOKED_AT = 60;

export interface Stop {
  readonly what: string;
  /** Matches the selector that was asked for. */
  readonly there: boolean;
  /** Why it cannot be seen that it has the focus. */
  readonly unseen?: string;
}

/** Tab until what `selector` names has the focus. @throws Error where it is never reached, or a stop on the way shows no focus. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  const way: string[] = [];
  for (let stops = 0; stops < STOPS_MAX; stops++) {
    const { what, there, unseen } = await stopAt(page, selector);
    if (unseen) throw new Error(`${what} has the focus, and ${unseen}`);
    if (there) return;
    way.push(what);
    if (stops > 0 && what === 'the page') break;
    await page.keyboard.press('Tab');
  }
  throw new Error(
    `Tab does not come to ${selector} on ${page.url()}. It stops at ${way.slice(-60).join(', ')}`,
  );
}

/** Goes there and presses it. @param key Enter for links and buttons, Space for boxes. */
export async function pressOn(page: Page, selector: string, key = 'Enter'): Promise<void> {
  await tabTo(page, selector);
  await page.keyboard.press(key);
}

/** Goes there and types in place of what is there. */
export async function typeInto(page: Page, selector: string, text: string): Promise<void> {
  await tabTo(page, selector);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(text);
}

/** The stops of the page from its beginning, in order; of a long list the first ones. */
export async function allStops(page: Page): Promise<Stop[]> {
  const stops: Stop[] = [];
  for (let at = 0; at < LOOKED_AT; at++) {
    await page.keyboard.press('Tab');
    const stop = await stopAt(page, 'nothing-matches-this');
    if (stop.what === 'the page') break;
    stops.push(stop);
  }
  return stops;
}

function stopAt(page: Page, selector: string): Promise<Stop> {
  return ask(page, `stop(${JSON.stringify(selector)})`);
}
