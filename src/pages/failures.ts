import { taskErrorCodes } from '../contract/errors.ts';
import { problemCodes } from '../contract/problems.ts';
import { type Html, html } from './html.ts';
import type { View } from './page.ts';

/** The failure catalogue: what the `type` of a problem points to, made from the tables of codes. Open to everybody. */
export function failuresPage(): View {
  const problems = Object.entries(problemCodes).map(([code, { status, title, next }]) =>
    entry(code, `HTTP ${status}`, title, next),
  );
  const errors = Object.entries(taskErrorCodes).map(([code, { by, title, next }]) =>
    entry(code, `said by the ${by}`, title, next),
  );
  return {
    title: 'Failures',
    nav: 'failures',
    main: html`<h1>Failures</h1>
<p>Every code that a call or a task can end with, and what to do next.</p>
<ul class="jump"><li><a href="#calls">Answers to calls</a></li><li><a href="#errors">Errors of tasks</a></li></ul>
<h2 id="calls">Answers to calls</h2>
${problems}
<h2 id="errors">Errors of tasks</h2>
<p>A handler's own codes stand beside these.</p>
${errors}`,
  };
}

function entry(code: string, where: string, title: string, next: string): Html {
  return html`<section id="${code}" class="failure"><h3><a href="#${code}"><code>${code}</code></a> <small>${where}</small></h3><p>${marked(title)}.</p><p>${marked(next)}</p></section>`;
}

/** With `code` marked up. */
function marked(text: string): Html {
  const parts = text.split(/`([^`]+)`/);
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
