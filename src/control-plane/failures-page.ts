import { taskErrorCodes } from '../contract/errors.ts';
import { problemCodes } from '../contract/problems.ts';

/** The failure catalogue: what the `type` of a problem points to, made from the tables of codes. */
export function failuresPage(): string {
  const problems = Object.entries(problemCodes).map(([code, { status, title, next }]) =>
    entry(code, `HTTP ${status}`, title, next),
  );
  const errors = Object.entries(taskErrorCodes).map(([code, { by, title, next }]) =>
    entry(code, `said by the ${by}`, title, next),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Failures · Interlock Tasks</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
h3 { margin: 1.5rem 0 0 } h3 small { font-weight: normal; color: #595959 } p { margin: .2rem 0 } :target { background: #fff3c4 }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616 } h3 small { color: #a8a8a8 } :target { background: #4a3d00 } }
</style>
</head>
<body>
<h1>Failures</h1>
<p>Every code that a call or a task can end with, and what to do next.</p>
<h2>Answers to calls</h2>
${problems.join('\n')}
<h2>Errors of tasks</h2>
<p>A handler's own codes stand beside these.</p>
${errors.join('\n')}
</body>
</html>
`;
}

function entry(code: string, where: string, title: string, next: string): string {
  return `<section id="${code}"><h3><code>${code}</code> <small>${where}</small></h3><p>${html(title)}.</p><p>${html(next)}</p></section>`;
}

/** Escaped, with \`code\` marked up. */
function html(text: string): string {
  const safe = text.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c] ?? c);
  return safe.replace(/`([^`]+)`/g, '<code>$1</code>');
}
