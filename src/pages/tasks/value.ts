import { numberWords } from '../../core/count-words.ts';
import { cut } from '../../core/detail-words.ts';
import { taskPageDefaults } from '../../core/task-page-defaults.ts';
import { type Html, html } from '../html.ts';
import { fold } from '../parts.ts';

/** An input or a result: folded unless it is short, cut where it is large, with the whole of it as a file. @param href of the file. */
export function valueHtml(
  id: string,
  name: string,
  value: unknown,
  href: string,
  open = false,
): Html {
  const text = jsonText(value);
  const { valueChars, openChars } = taskPageDefaults;
  const large = text.length > valueChars;
  const title = html`${name} <small class="faint">${numberWords(text.length)} characters</small>`;
  const shown = html`<pre class="value" id="${id}-text" dir="ltr" tabindex="0" aria-label="${name}">${large ? cut(text, valueChars) : text}</pre>
<p><button type="button" class="copy" data-copy="${id}-text">Copy${large && ' what is shown'}</button> ${large && html`Only its beginning is shown. `}<a href="${href}" download>Download all of it</a></p>`;
  if (text.length <= openChars)
    return html`<section id="${id}"><h3>${title}</h3>${shown}</section>`;
  return fold(id, title, shown, open && !large);
}

/** Laid out for people. What would turn the direction of a line is written as JSON escapes it. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null, null, 2).replace(
    HIDDEN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const HIDDEN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
