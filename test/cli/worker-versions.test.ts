import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { carrying, type Fcp, startFcp } from '../../src/fcp/fcp.ts';
import { type Proc, Processes } from '../e2e/processes.ts';
import { temporaryFolder } from './world.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 60_000 });

/** The real `interlock-worker` and a control plane of another version of the contract (7.10, 7.11). */
let processes: Processes;
let fcp: Fcp;
beforeEach(async () => {
  processes = new Processes(temporaryFolder());
  fcp = await startFcp({ waitMs: 30_000 });
});
afterEach(async () => {
  await processes.end();
  await fcp.stop();
});

const HANDLER =
  "export const effectSafety = 'pure';\nexport default (input) => new Promise((done) => setTimeout(done, input.ms, 'done'));\n";

function start(spool: string): Proc {
  const cwd = temporaryFolder();
  const handlers = join(cwd, 'handlers');
  mkdirSync(join(handlers, 'demo'), { recursive: true });
  writeFileSync(join(handlers, 'demo/slow@1.mjs'), HANDLER);
  return processes.start(
    'interlock-worker',
    ['--url', fcp.url, '--worker-id', 'garage', '--handlers', handlers, '--spool', spool],
    { cwd, env: { INTERLOCK_WORKER_KEY: 'il_garage' } },
  );
}

const newSpool = () => join(temporaryFolder(), 'spool');
const claims = () => fcp.requests('claim').length;

/** Ended with a code of its own, in one sentence and a next step. */
async function stopped(proc: Proc): Promise<string> {
  const { code, signal } = await proc.ending();
  expect({ code, signal }).toEqual({ code: exitCodes['contract-mismatch'].code, signal: null });
  expect(proc.err).toMatch(
    /This worker \(interlock \d+\.\d+\.\d+\) and the control plane .+ share no version of the contract: it speaks contract 2, this program speaks 1\. Update this program\./,
  );
  expect(proc.err).not.toMatch(/^\s+at /m);
  return proc.err;
}

const TWO = { 'interlock-contract': '2' };

/** How a control plane of version 2 answers a worker of version 1. */
const PLANES: [string, () => void][] = [
  [
    'lists only version 2 in contracts',
    () =>
      fcp.on('discovery', (_, ctl) =>
        ctl.pass((answer) => ({ ...answer, body: { ...(answer.body as object), contracts: [2] } })),
      ),
  ],
  [
    'does so under the header of version 2',
    () =>
      fcp.on('discovery', (_, ctl) =>
        ctl.pass((answer) => ({
          ...answer,
          headers: { ...answer.headers, ...TWO },
          body: { ...(answer.body as object), contracts: [2] },
        })),
      ),
  ],
  [
    'answers every call with 426 and what it supports',
    () => fcp.on('any', (_, ctl) => ctl.problem(426, 'CONTRACT_UNSUPPORTED', { supported: [2] })),
  ],
];

it.each(PLANES)(
  'stops with one sentence and code 88 where the control plane %s, and claims nothing',
  async (_, script) => {
    script();
    fcp.offer({ type: 'demo/slow', input: { ms: 0 } });
    await stopped(start(newSpool()));
    expect(claims()).toBe(0);
  },
);

it('keeps what an earlier worker left on disk, and a later one tells it', async () => {
  const spool = newSpool();
  const task = fcp.offer({ type: 'demo/slow', input: { ms: 0 }, leaseMs: 60_000 });
  const cut = fcp.on(carrying('complete'), (_, ctl) => ctl.cutBefore());
  const first = start(spool);
  await fcp.until(() => cut.seen.length > 0);
  first.kill('SIGKILL');
  await first.ending();
  cut.off();

  const other = fcp.on('any', (_, ctl) =>
    ctl.problem(426, 'CONTRACT_UNSUPPORTED', { supported: [2] }),
  );
  expect(await stopped(start(spool))).toMatch(/1 report is left in .+; the next start sends it/);
  other.off();

  start(spool);
  expect((await task.ended()).op).toBe('complete');
  expect(fcp.violations).toEqual([]);
});

it('finishes what runs when the version goes under it, keeps the report, and stops', async () => {
  const spool = newSpool();
  const task = fcp.offer({ type: 'demo/slow', input: { ms: 1_500 }, leaseMs: 60_000 });
  const first = start(spool);
  await fcp.until(() => fcp.reports.some(({ op }) => op === 'start'));
  const other = fcp.on('any', (_, ctl) =>
    ctl.problem(426, 'CONTRACT_UNSUPPORTED', { supported: [2] }),
  );
  fcp.hints.cut();
  expect(await stopped(first)).toMatch(/1 report is left/);
  other.off();
  start(spool);
  expect((await task.ended()).body.result).toBe('done');
});

it('takes a 426 that tells no versions for a proxy: it waits, and works when it is gone', async () => {
  const page = fcp.on('any', (_, ctl) => ctl.html(426));
  const task = fcp.offer({ type: 'demo/slow', input: { ms: 0 } });
  const proc = start(newSpool());
  await proc.event('claim.paused');
  await fcp.until(() => page.seen.filter(({ route }) => route === 'discovery').length >= 2);
  expect(proc.running).toBe(true);
  expect(claims()).toBeLessThanOrEqual(1);
  page.off();
  expect((await task.ended()).op).toBe('complete');
});

it('works with a control plane that speaks a newer version too', async () => {
  fcp.on('discovery', (_, ctl) =>
    ctl.pass((answer) => ({ ...answer, body: { ...(answer.body as object), contracts: [1, 2] } })),
  );
  const task = fcp.offer({ type: 'demo/slow', input: { ms: 0 } });
  start(newSpool());
  expect((await task.ended()).op).toBe('complete');
});
