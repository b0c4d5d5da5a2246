import { numberWords } from '../../core/count-words.ts';
import { cut } from '../../core/detail-words.ts';
import { taskPageDefaults } from '../../core/task-page-defaults.ts';
import { type Html, html } from '../html.ts';
import { fold } from '../parts.ts';

/** An input or a result: folded, cut where it is large, with the whole of it as a file. @param href of the file. */
export function valueHtml(
  id: string,
  name: string,
  value: unknown,
  href: string,
  open = false,
): Html {
  const text = jsonText(value);
  const { valueChars } = taskPageDefaults;
  const large = text.length > valueChars;
  return fold(
    id,
    html`${name} <small class="faint">${numberWords(text.length)} characters</small>`,
    html`<pre class="value" id="${id}-text" dir="ltr" tabindex="0" aria-label="${name}">${large ? cut(text, valueChars) : text}</pre>
<p><button type="button" class="copy" data-copy="${id}-text">Copy${large && ' what is shown'}</button> ${large && html`Only its beginning is shown. `}<a href="${href}" download>Download all of it</a></p>`,
    open && !large,
  );
}

/** Laid out for people. What would turn the direction of a line is written as JSON escapes it. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value ?? null, null, 2).replace(
    HIDDEN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const HIDDEN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
