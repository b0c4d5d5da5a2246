/** Forms and buttons. What is pressed is at least 44 px high on a touch screen. */
export const FORMS = `button, input, select, textarea { font: inherit; color: var(--text); }
button, .button { display: inline-block; padding: 0.4rem 0.9rem; border: 1px solid var(--edge); border-radius: var(--radius); background: var(--ground); color: var(--text); cursor: pointer; text-decoration: none; }
button:hover, .button:hover { background: var(--wait-ground); }
button.main, .button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
button.danger, .button.danger { border-color: var(--bad); color: var(--bad); }
button[disabled] { opacity: 0.6; cursor: default; }
input, select, textarea { padding: 0.4rem 0.6rem; border: 1px solid var(--edge); border-radius: 0.3rem; background: var(--ground); max-width: 100%; }
input[type="checkbox"], input[type="radio"] { width: 1.1rem; height: 1.1rem; margin: 0 0.4rem 0 0; vertical-align: middle; accent-color: var(--accent); }
textarea { width: 100%; min-height: 6rem; }
label { font-weight: 600; }
.account label { font-weight: 400; color: var(--faint); }
.narrow { max-width: 34rem; }
.narrow input:not([type="checkbox"], [type="radio"]), .narrow select { width: 100%; }
.filters { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: end; margin: 0.75rem 0; }
.filters > * { min-width: 0; max-width: 100%; margin: 0; }
.filters label { display: block; font-size: 0.85rem; }
.actions { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin: 0.75rem 0; }
[aria-invalid="true"] { border-color: var(--bad); border-width: 2px; }
.error { color: var(--bad); }
@media (pointer: coarse) { button, .button, input, select, summary, .bar nav a { min-height: 2.75rem; } summary { padding-block: 0.6rem; } }
`;
