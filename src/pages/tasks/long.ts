import { cut } from '../../core/detail-words.ts';
import { type Html, html } from '../html.ts';
import { fold, userBlock } from '../parts.ts';

/** What somebody wrote, as a paragraph; a very long one is folded, so that what stands below is found. @param id its own on the page. */
export function longText(id: string, text: string): Html {
  if (text.length <= LONG_CHARS) return userBlock(text);
  return fold(id, html`<span dir="auto">${cut(text, BEGINNING_CHARS)}</span>`, userBlock(text));
}

/** Some lines at a desk, one screen of a phone. */
const LONG_CHARS = 800;
const BEGINNING_CHARS = 400;
