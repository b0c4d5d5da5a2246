import type { Problem } from '../contract/problems.ts';
import { html } from './html.ts';
import type { View } from './page.ts';
import { code, userBlock } from './parts.ts';

/** A refusal in words: what happened, what to do, and its code, which the catalogue explains. @param explained `false`: it does not explain this one. */
export function problemPage(problem: Problem, explained: string | false = problem.code): View {
  const { title = 'Refused', detail, hint, status = 500, issues, requestId } = problem;
  return {
    title,
    status,
    main: html`<h1>${title}</h1>
${detail !== undefined && userBlock(detail)}
${issues && issues.length > 0 && html`<ul>${issues.map(({ path, message }) => html`<li>${path !== '' && code(path)} ${message}</li>`)}</ul>`}
${hint !== undefined && html`<p>${hint}</p>`}
<p class="faint">${explained !== false && html`<a href="/failures#${explained}">${code(explained)}</a>, `}HTTP ${status}${requestId !== undefined && html`, request ${code(requestId)}`}</p>`,
  };
}
