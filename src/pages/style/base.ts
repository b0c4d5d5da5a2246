/**
 * Tokens and text. Colours of text have a contrast of at least 4.5 : 1 on each ground they stand on, those of marks and borders of
 * controls 3 : 1, light and dark (`test/pages/contrast.test.ts`).
 */
export const BASE = `:root {
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f6f7f9; --text: #1b1f24; --faint: #57606a; --line: #d0d7de; --edge: #6e7781;
  --link: #0b57b0; --accent: #2457c5; --on-accent: #ffffff; --focus: #0b57b0;
  --good: #116329; --good-ground: #e3f6e6; --busy: #0a4f9e; --busy-ground: #e1effe; --wait: #4d565f; --wait-ground: #eceff2;
  --warn: #7a4a00; --warn-ground: #fff2cf; --bad: #a40e26; --bad-ground: #ffe5e6; --off: #57606a; --off-ground: #eceff2;
  --space: 1rem; --radius: 0.5rem;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) { :root {
  --ground: #14171a; --raised: #1d2125; --text: #e6e9ec; --faint: #a6aeb7; --line: #3a4149; --edge: #8b949e;
  --link: #7cb7ff; --accent: #3d6fe0; --on-accent: #ffffff; --focus: #9ccaff;
  --good: #7ee092; --good-ground: #12301a; --busy: #8cc4ff; --busy-ground: #10294a; --wait: #b6bec7; --wait-ground: #2a3036;
  --warn: #f2c14e; --warn-ground: #3a2b05; --bad: #ff9a9e; --bad-ground: #45161b; --off: #a6aeb7; --off-ground: #2a3036;
} }
*, *::before, *::after { box-sizing: border-box; }
html { font: 100%/1.5 var(--sans); background: var(--ground); color: var(--text); -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; margin: 1.5em 0 0.5em; text-wrap: balance; }
h1 { font-size: 1.6rem; margin-top: 0.5rem; }
h2 { font-size: 1.25rem; }
h3 { font-size: 1.05rem; }
h1 small, h2 small, h3 small { font-weight: 400; color: var(--faint); font-size: 0.85em; }
td, dd, time, .verdict { font-variant-numeric: tabular-nums; }
p, ul, ol, dl, table, pre { margin: 0.5em 0; }
a { color: var(--link); text-underline-offset: 0.15em; }
a:has(> code) { text-underline-offset: 0.3em; }
code, pre, kbd { font-family: var(--mono); font-size: 0.92em; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: var(--radius); padding: 0.75rem; overflow: auto; max-height: 30rem; white-space: pre-wrap; tab-size: 2; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 0.2rem; }
main:focus-visible { outline: none; }
:target { scroll-margin-top: 1rem; background: var(--warn-ground); }
.faint { color: var(--faint); }
.user { white-space: pre-wrap; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (prefers-reduced-motion: no-preference) { .fresh { animation: fresh 1.5s ease-out; } }
@keyframes fresh { from { background: var(--busy-ground); } }
@media print { header nav, form, .skip, footer, .account, .actions, .button, .copy, .pager, .spans, .statuses, #filters { display: none; } }
`;
