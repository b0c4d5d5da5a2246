/** Header, main, footer. */
export const LAYOUT = `.skip { position: absolute; left: -999rem; top: 0; padding: 0.75rem 1rem; background: var(--ground); z-index: 2; }
.skip:focus { left: 0; }
body > header { border-bottom: 1px solid var(--line); background: var(--raised); }
.bar, main, footer { width: 100%; max-width: 80rem; margin: 0 auto; padding: 0 1rem; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1.5rem; padding-block: 0.5rem; }
.brand { font-weight: 700; color: inherit; text-decoration: none; padding: 0.5rem 0; }
.bar nav ul { display: flex; flex-wrap: wrap; gap: 0 0.25rem; list-style: none; margin: 0; padding: 0; }
.bar nav a { display: block; padding: 0.6rem 0.6rem; color: inherit; text-decoration: none; border-bottom: 3px solid transparent; }
.bar nav a:hover { text-decoration: underline; }
.bar nav a[aria-current] { border-bottom-color: var(--accent); font-weight: 600; }
.account { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 1rem; margin-left: auto; font-size: 0.9rem; }
.account p, .account form, .account .who { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.5rem; margin: 0; }
.account select { max-width: 14rem; }
.account a, .account button { padding-block: 0.4rem; }
.label { color: var(--faint); }
.top { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.25rem 1rem; }
.top h1 { margin-bottom: 0.5rem; }
main { flex: 1; padding-block: 0.5rem 2rem; }
footer { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.5rem; border-top: 1px solid var(--line); font-size: 0.9rem; color: var(--faint); }
#live-state[data-state]::before { content: "○ "; }
#live-state[data-state="live"]::before { content: "● "; color: var(--good); }
#live-state[data-state="polling"]::before { content: "◐ "; }
@media (max-width: 40rem) {
  .bar nav { order: 3; width: 100%; }
  .bar nav ul { gap: 0; justify-content: space-between; }
  .bar nav a { padding-inline: 0.25rem; font-size: 0.95rem; }
  .account { margin-left: 0; }
}
`;
