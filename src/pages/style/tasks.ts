/** Lists of tasks, one task. */
export const TASKS = `.statuses { gap: 0.4rem; } .statuses a { display: inline-block; padding: 0.25rem 0.6rem; border: 1px solid var(--line); border-radius: 1em; font-size: 0.9rem; text-decoration: none; color: inherit; }
.statuses a[aria-current] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); font-weight: 600; }
.labels { display: flex; flex-wrap: wrap; gap: 0.2rem 0.4rem; list-style: none; margin: 0.2rem 0 0; padding: 0; font-size: 0.85em; color: var(--faint); }
.labels li { padding: 0 0.4em; border: 1px solid var(--line); border-radius: 0.3rem; max-width: 100%; }
progress { width: 8rem; max-width: 100%; height: 0.8rem; vertical-align: middle; accent-color: var(--accent); }
.odd { color: var(--warn); }
.compare mark { background: var(--warn-ground); color: var(--warn); font-weight: 700; text-decoration: underline; text-underline-offset: 0.2em; }
.tasks-filter fieldset { border: 1px solid var(--line); border-radius: var(--radius); margin: 0.5rem 0; padding: 0.5rem 0.75rem; min-width: 0; }
.tasks-filter legend { font-weight: 600; padding: 0 0.3rem; }
.choices { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; }
.choices label { font-weight: 400; padding: 0.3rem 0; }
.tasks-filter .error { margin: 0.2rem 0; max-width: 20rem; }
td .button { white-space: normal; }
@media (min-width: 48.01rem) {
  #attention table { table-layout: fixed; }
  #attention thead th:nth-child(1) { width: 28%; }
  #attention thead th:nth-child(3) { width: 9rem; }
  #attention thead th:nth-child(4) { width: 18.5rem; }
  #running th[scope="row"], #list th[scope="row"] { width: 17rem; min-width: 14rem; }
  #running td { min-width: 6rem; }
  #list td { min-width: 4rem; }
  #list td:nth-child(4) { min-width: 6.5rem; }
}
.tasks-filter .filters { align-items: start; }
.tasks-filter .filters > div:not(.actions) { flex: 0 1 14rem; }
.tasks-filter .filters input { width: 100%; }
@media (max-width: 48rem) { .tasks-filter .filters > div:not(.actions) { flex: 1 1 9rem; } }
.tasks-filter .filters > .actions { padding-top: 1.3rem; }
.copy { display: none; font-size: 0.85rem; padding: 0.2rem 0.7rem; }
.scripted .copy { display: inline-block; }
.label-long { margin: 0.5rem 0; }
.label-long > .faint { font-size: 0.85rem; }
.own-id { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.75rem; margin-top: -0.25rem; color: var(--faint); font-size: 0.9rem; }
.values > section > h3, .values > p { margin-top: 0.5rem; }
#facts .facts { grid-template-columns: repeat(auto-fill, minmax(min(9rem, 100%), 1fr)); }
@media (min-width: 64rem) {
  .sides { display: grid; grid-template: auto 1fr / minmax(0, 1fr) 21rem; gap: 0 3rem; align-items: start; }
  .sides > * { grid-column: 1; min-width: 0; }
  .sides > #facts { grid-column: 2; grid-row: 1 / span 2; margin-top: 1.25rem; padding: 0 1.25rem 0.75rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--raised); }
  #facts > h2 { margin-top: 0.75rem; }
  #facts .facts { grid-template-columns: 1fr; gap: 0.4rem; }
  #facts .facts > div { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: 0.75rem; align-items: baseline; }
  .values { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 0 1.5rem; align-items: start; }
  .values > details, .values > section { min-width: 0; }
}
.timeline { list-style: none; padding: 0; border-inline-start: 2px solid var(--line); margin-inline-start: 0.5rem; }
.timeline > li { position: relative; padding: 0.1rem 0 0.6rem 1rem; }
.timeline > li::before { content: ""; position: absolute; inset-inline-start: -0.45rem; top: 0.55rem; width: 0.75rem; height: 0.75rem; border-radius: 50%; background: var(--tone, var(--edge)); border: 2px solid var(--ground); }
.timeline h3 { margin: 0; font-size: 1rem; }
.timeline p { margin: 0.15rem 0; }
.timeline .phases { display: flex; flex-wrap: wrap; gap: 0 1.25rem; color: var(--faint); font-size: 0.9em; margin: 0.15rem 0; padding: 0; list-style: none; }
.log { max-height: 34rem; }
.log .line { display: block; padding-inline-start: 0.5rem; border-inline-start: 3px solid transparent; unicode-bidi: plaintext; }
.log .line.error { border-color: var(--bad); color: inherit; }
.log .line.warn { border-color: var(--warn); background: none; }
.log time, .log .faint { unicode-bidi: isolate; }
.evidence { border-inline-start: 4px solid var(--line); padding-inline-start: 1rem; }
.choices-of-one { border: 0; margin: 1rem 0; padding: 0; min-width: 0; } .choices-of-one legend { padding: 0; font-weight: 600; font-size: 1.25rem; }
.choice { display: block; padding: 0.5rem 0.75rem; margin: 0.5rem 0; border: 1px solid var(--line); border-radius: var(--radius); font-weight: 400; }
.choice strong { font-weight: 600; }
.choice small { display: block; margin-inline-start: 1.5rem; color: var(--faint); }
`;
