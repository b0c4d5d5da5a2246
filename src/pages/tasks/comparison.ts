import type { TaskView } from '../../contract/index.ts';
import { typeKey } from '../../contract/type-key.ts';
import {
  type Difference,
  type Fleet,
  nearMisses,
  type Offer,
  settleWords,
  type Wanted,
} from '../../core/near-misses.ts';
import { type Html, html, none } from '../html.ts';
import { code, counted, userText } from '../parts.ts';
import { againLink } from '../submit-again.ts';

/** A task that nobody serves: what to do, and what it asks for beside what is online, letter by letter. */
export interface Comparison {
  readonly wanted: Wanted;
  readonly offers: readonly Offer[];
  /** What settles it, the nearest first. */
  readonly settle: readonly string[];
}

/** @param fleets of the project first, then of those that who looks may see too. */
export function comparisonOf(wanted: Wanted, fleets: readonly Fleet[]): Comparison {
  const offers = nearMisses(wanted, fleets);
  const own = fleets.find(({ project }) => project === wanted.project)?.workers ?? [];
  return { wanted, offers, settle: settleWords(wanted, offers, own) };
}

/** @param task that may be submitted again, as what comes nearest. */
export function comparisonHtml(
  { wanted, offers, settle }: Comparison,
  task?: Pick<TaskView, 'id'>,
): Html {
  // What words can mend: a worker that is offline, or of another project, takes no other task either.
  const other = offers.find(
    ({ differs }) =>
      differs.length > 0 && !differs.includes('offline') && !differs.includes('project'),
  );
  const several = new Set([wanted.project, ...offers.map(({ project }) => project)]).size > 1;
  const cells = (offer: Wanted, differs: readonly Difference[]) => html`
<td data-head="Type">${marked(code(typeKey(offer.type, offer.schemaVersion)), differs, 'name', 'case', 'version')}</td>
<td data-head="Pool">${marked(code(offer.pool), differs, 'pool')}</td>
${several && html`<td data-head="Project">${marked(userText(offer.project), differs, 'project')}</td>`}`;
  return html`<section id="compare" class="compare">
<h2>What to do</h2>
${settle.map((sentence) => html`<p dir="auto">${sentence}</p>`)}
${task && other && html`<p>${againLink(task, other)}, then cancel this one.</p>`}
<table class="cards"><caption>What it asks for, and what comes near</caption>
<thead><tr><th scope="col">Who</th><th scope="col">Type</th><th scope="col">Pool</th>${several && html`<th scope="col">Project</th>`}<th scope="col">Difference</th></tr></thead>
<tbody>
<tr id="compare-wanted"><th scope="row">The task</th>${cells(wanted, [])}<td></td></tr>
${offers.map(
  (offer, index) =>
    html`<tr id="compare-${index}"><th scope="row">${who(offer)}</th>${cells(offer, offer.differs)}<td data-head="Difference">${differenceWords(offer)}</td></tr>`,
)}
${offers.length === 0 && html`<tr id="compare-none"><th scope="row">Workers</th><td data-head="Type">none has a handler of that name, in whatever case or version</td><td></td>${several && html`<td></td>`}<td></td></tr>`}
</tbody></table>
<p><a href="/workers">All workers</a> &middot; <a href="/task-types">All types</a></p>
</section>`;
}

function who({ workers }: Offer): Html {
  const told = workers.slice(0, TOLD);
  const more = workers.length - told.length;
  return html`${told.map((worker, index) => html`${index > 0 && ', '}${userText(worker)}`)}${more > 0 && ` and ${counted(more, 'other')}`}`;
}

/** What differs stands out, and not by its colour alone. */
function marked(text: Html, differs: readonly Difference[], ...kinds: readonly Difference[]): Html {
  return kinds.some((kind) => differs.includes(kind)) ? html`<mark>${text}</mark>` : text;
}

function differenceWords({ differs }: Offer): Html | string {
  if (differs.length === 0) return none;
  return differs.map((one) => WORDS[one]).join(', ');
}

const WORDS: Readonly<Record<Difference, string>> = {
  name: 'a name like it',
  case: 'upper and lower case',
  version: 'version',
  pool: 'pool',
  project: 'project',
  offline: 'offline',
};
const TOLD = 3;
