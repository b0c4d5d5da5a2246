/**
 * Writes what docs/ tells from code: docs/errors.md from the tables of codes, docs/openapi.json from the table of calls,
 * into docs/contract.md who checks each promise, and into docs/conformance.md what a worker must offer to be judged and
 * which fault each case catches. `node scripts/docs.ts --check` only compares.
 */
import './as-text.mjs';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClientCode, clientCodes } from '../src/cli/client-codes.ts';
import { exitCode } from '../src/cli/exit-codes.ts';
import { taskErrorCodes } from '../src/contract/errors.ts';
import { openApiDocument } from '../src/contract/openapi.ts';
import { problemCodes } from '../src/contract/problems.ts';
import { VERSION } from '../src/contract/version.ts';
import { serverDefaults } from '../src/core/defaults.ts';
import { brokenPeersPage } from './broken-peers-page.ts';
import { conformancePage } from './conformance-page.ts';
import { contractPage } from './contract-page.ts';

const docs = join(import.meta.dirname, '..', 'docs');

/** Each made from what stands in the file now, so that a page can be partly written by hand. */
const pages: Readonly<Record<string, (now: string) => string | Promise<string>>> = {
  'errors.md': errorsPage,
  'openapi.json': openApiText,
  'contract.md': checkedContract,
  'conformance.md': (now) => brokenPeersPage(conformancePage(now)),
};

export function errorsPage(): string {
  const problems = Object.entries(problemCodes).map(
    ([code, { status, title, next }]) => `### ${code}\n${status} · ${title}. ${next}\n`,
  );
  const tasks = Object.entries(taskErrorCodes).map(
    ([code, { by, title, next }]) => `### ${code}\nSaid by the ${by} · ${title}. ${next}\n`,
  );
  const clients = Object.entries<Readonly<Record<string, ClientCode>>>(clientCodes).flatMap(
    ([about, codes]) => [
      `### ${about}`,
      '| code | what it means | then | exit |',
      '|---|---|---|---|',
      ...Object.entries(codes).map(
        ([code, { title, next, exit }]) =>
          `| \`${code}\` | ${title} | ${next} | ${exit ? exitCode(exit) : ''} |`,
      ),
      '',
    ],
  );
  return [
    '# Errors by code',
    '',
    '<!-- Made by `npm run docs` from src/contract/problems.ts, src/contract/errors.ts and src/cli/client-codes.ts. -->',
    '',
    'Match on `code`; `detail` and `message` are for people and may change. A control plane serves the same page at `/failures`.',
    'Commands are called as [operations.md](operations.md) says: `interlock …` is `./bin/interlock …` in a checkout.',
    '',
    '## Answers of the control plane',
    'HTTP answers with `application/problem+json`: `{type, title, status, code, detail, hint, requestId, …}`.',
    '',
    ...problems,
    '## How a task failed',
    '`error.code` of a task. A handler may use codes of its own (`[A-Z][A-Z0-9_]*`).',
    '',
    ...tasks,
    '## Said by commands, workers and the SDK themselves',
    '`code` of a `TaskError` in a program, and of what a command prints (`--json`: `error.code`); *exit* is how a command ends with it.',
    '',
    ...clients,
    '## Exit codes',
    'See [operations.md](operations.md).',
    '',
  ].join('\n');
}

/** What a control plane of this version serves at `/openapi.json`, a line for each member so that a change can be read. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(VERSION, serverDefaults), null, 1)}\n`;
}

/** Loaded when it is needed: the kits bring the whole client with them, and files that are imported as text. */
async function checkedContract(now: string): Promise<string> {
  const { controlPlaneCases } = await import('../src/conformance/control-plane/index.ts');
  const { workerCases } = await import('../src/conformance/worker/index.ts');
  const beside = await import('../src/conformance/unseen.ts');
  return contractPage(now, [...controlPlaneCases, ...workerCases], beside);
}

if (import.meta.main) {
  for (const [name, make] of Object.entries(pages)) {
    const file = join(docs, name);
    const now = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const page = await make(now);
    if (page === now) continue;
    if (process.argv.includes('--check')) {
      process.stderr.write(`docs/${name} is out of date: run \`npm run docs\` and commit it.\n`);
      process.exitCode = 1;
    } else writeFileSync(file, page);
  }
}
