/** Badges, notices, facts, folds, tables that become cards. */
export const PARTS = `.badge { display: inline-block; padding: 0.05em 0.6em 0.1em; border-radius: 1em; font-size: 0.9em; font-weight: 600; }
.mark { margin-inline-end: 0.4em; font-family: var(--sans); }
.good { --tone: var(--good); --tone-ground: var(--good-ground); }
.busy { --tone: var(--busy); --tone-ground: var(--busy-ground); }
.wait { --tone: var(--wait); --tone-ground: var(--wait-ground); }
.warn { --tone: var(--warn); --tone-ground: var(--warn-ground); }
.bad { --tone: var(--bad); --tone-ground: var(--bad-ground); }
.off { --tone: var(--off); --tone-ground: var(--off-ground); }
.badge { color: var(--tone); background: var(--tone-ground); }
.notice { display: flex; gap: 0.25rem; margin: 1rem 0; padding: 0.75rem 1rem; border-radius: var(--radius); border-inline-start: 4px solid var(--tone); background: var(--tone-ground); }
.notice > .mark { color: var(--tone); font-weight: 700; }
.notice > div { flex: 1; min-width: 0; }
.notice p:first-child { margin-top: 0; } .notice p:last-child { margin-bottom: 0; }
.verdict { display: flex; gap: 0.6rem; align-items: baseline; margin: 0.5rem 0 1rem; padding: 0.6rem 1rem; border-radius: var(--radius); background: var(--tone-ground); font-size: 1.15rem; font-weight: 600; }
.verdict > .mark { color: var(--tone); margin: 0; } .verdict > :last-child { min-width: 0; }
.verdict small { display: inline-block; font-size: 1rem; font-weight: 400; }
.id { display: block; color: var(--faint); font-size: 0.8rem; }
.id code { font-size: 1em; }
.card { margin: 1rem 0; padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--raised); }
.card > :first-child { margin-top: 0; } .card > :last-child { margin-bottom: 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: 0.75rem 1.5rem; }
.facts > div { min-width: 0; }
.facts dt { color: var(--faint); font-size: 0.85rem; }
.facts dd { margin: 0; }
details { margin: 0.5rem 0; }
summary { cursor: pointer; padding: 0.4rem 0; }
details > :not(summary) { margin-inline-start: 1rem; }
.jump { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; list-style: none; padding: 0; }
.pager { display: flex; gap: 1.5rem; margin: 1rem 0; }
.pager a { padding: 0.5rem 0; }
.failure { padding: 0.1rem 0.5rem; border-radius: var(--radius); }
.failure h3 { margin-top: 1rem; } .failure p { margin: 0.2rem 0; }
.failure h3 a { color: inherit; text-decoration: none; }
table { border-collapse: collapse; width: 100%; font-size: 0.95rem; }
caption:not(.hidden) { text-align: start; font-weight: 600; padding: 0.25rem 0; }
th, td { text-align: start; vertical-align: top; padding: 0.5rem 0.75rem 0.5rem 0; border-bottom: 1px solid var(--line); }
thead th { font-size: 0.85rem; color: var(--faint); font-weight: 600; }
tbody th { font-weight: 400; }
.group > th { padding: 1.1rem 0 0.4rem; font-weight: 600; }
thead + tbody > .group:first-child > th { padding-top: 0.6rem; }
.group a { margin-inline-start: 0.5rem; font-weight: 400; }
.figures { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media (min-width: 48.01rem) { .figures + :not(.figures) { padding-inline-start: 1rem; } }
.row-bad > th { box-shadow: inset 3px 0 var(--bad); padding-inline-start: 0.75rem; }
.row-warn > th { box-shadow: inset 3px 0 var(--warn); padding-inline-start: 0.75rem; }
@media (max-width: 48rem) {
  .cards thead { display: none; }
  .cards, .cards tbody, .cards tr, .cards th, .cards td, .cards caption:not(.hidden) { display: block; width: 100%; }
  .cards tr { margin: 0.75rem 0; padding: 0.5rem 0.75rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--raised); }
  .cards tr.group { margin: 1rem 0 0; padding: 0; border: 0; background: none; }
  .cards th, .cards td { border: 0; padding: 0.2rem 0; text-align: start; white-space: normal; }
  .cards .row-bad, .cards .row-warn { border-inline-start-width: 4px; }
  .cards .row-bad { border-inline-start-color: var(--bad); } .cards .row-warn { border-inline-start-color: var(--warn); }
  .cards .row-bad > th, .cards .row-warn > th { box-shadow: none; padding-inline-start: 0; }
  .cards td[data-head]::before { content: attr(data-head) ": "; color: var(--faint); }
  .cards td:empty { display: none; }
}
`;
