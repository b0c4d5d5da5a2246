/** Writes docs/errors.md from the tables of codes. `node scripts/docs.ts --check` only compares. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { taskErrorCodes } from '../src/contract/errors.ts';
import { problemCodes } from '../src/contract/problems.ts';

const file = join(import.meta.dirname, '..', 'docs', 'errors.md');

export function errorsPage(): string {
  const problems = Object.entries(problemCodes).map(
    ([code, { status, title, next }]) => `### ${code}\n${status} · ${title}. ${next}\n`,
  );
  const tasks = Object.entries(taskErrorCodes).map(
    ([code, { by, title, next }]) => `### ${code}\nSaid by the ${by} · ${title}. ${next}\n`,
  );
  return [
    '# Errors by code',
    '',
    '<!-- Made by `npm run docs` from src/contract/problems.ts and src/contract/errors.ts. -->',
    '',
    'Match on `code`; `detail` and `message` are for people and may change. A control plane serves the same page at `/failures`.',
    '',
    '## Answers of the control plane',
    'HTTP answers with `application/problem+json`: `{type, title, status, code, detail, hint, requestId, …}`.',
    '',
    ...problems,
    '## How a task failed',
    '`error.code` of a task. A handler may use codes of its own (`[A-Z][A-Z0-9_]*`).',
    '',
    ...tasks,
    '## Exit codes',
    'See [operations.md](operations.md).',
    '',
  ].join('\n');
}

if (import.meta.main) {
  const page = errorsPage();
  if (!process.argv.includes('--check')) writeFileSync(file, page);
  else if (readFileSync(file, 'utf8') !== page) {
    process.stderr.write('docs/errors.md is out of date: run `npm run docs` and commit it.\n');
    process.exitCode = 1;
  }
}
