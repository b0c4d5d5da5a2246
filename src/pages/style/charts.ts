/** Task types, workers and the submit form: charts, sentences under a name, fields. */
export const CHARTS = `.chart { display: block; width: 100%; min-width: 6rem; max-width: 24rem; height: 2.5rem; }
.chart { border-top: 1px dashed var(--line); border-bottom: 1px solid var(--edge); }
.plot { max-width: 24rem; }
.edge { display: flex; justify-content: space-between; gap: 0.5rem; color: var(--faint); font-size: 0.8rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.outcomes .low { fill: var(--good); } .outcomes .high { fill: var(--bad); }
.latency .low { fill: var(--accent); } .latency .high { fill: var(--edge); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(16rem, 100%), 1fr)); gap: 0.5rem 2rem; }
.charts > section { min-width: 0; }
.charts .chart { height: 4rem; }
@media (min-width: 48.0625rem) { .cards td:not(.figures) { min-width: 5.5rem; } }
.facts dd p { margin: 0; }
td p, th p { margin: 0.15rem 0; }
td .plot + p { font-size: 0.85rem; color: var(--faint); }
.task-id { font-size: 0.85rem; }
.note { font-size: 0.9rem; color: var(--tone, var(--faint)); }
.spans ul { display: flex; flex-wrap: wrap; gap: 0 1rem; list-style: none; margin: 0; padding: 0; }
.spans a { display: block; padding: 0.5rem 0; }
.spans a[aria-current] { font-weight: 700; color: inherit; text-decoration: none; }
.types { padding: 0; list-style: none; } .types a { display: inline-block; padding: 0.4rem 0.5rem 0.4rem 0; }
.submit { max-width: 46rem; }
.submit fieldset { border: 1px solid var(--line); border-radius: var(--radius); padding: 0.25rem 1rem 0.75rem; min-width: 0; }
.submit legend { font-weight: 600; padding: 0 0.3rem; }
.field { margin: 0.9rem 0; } .field label { display: block; } .field label small { font-weight: 400; color: var(--faint); }
.field input, .field select { width: 100%; } .field p { margin: 0.15rem 0; font-size: 0.9rem; }
.field textarea.code { font-family: var(--mono); font-size: 0.9rem; } .field textarea.plain { min-height: 4rem; }
`;
