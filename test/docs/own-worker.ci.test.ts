import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Proc, Processes, ROOT } from '../e2e/processes.ts';

// Real processes on a machine that others keep busy.
vi.setConfig({ testTimeout: 120_000 });

const PAGE = readFileSync(join(ROOT, 'docs/write-your-own-worker.md'), 'utf8');

/** `npm start` in a folder of its own, as the page asks for it. */
let processes: Processes;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-own-worker-'));
  processes = new Processes(folder);
  mkdirSync(join(folder, 'handlers/demo'), { recursive: true });
  const hello =
    "export const effectSafety = 'pure';\nexport default () => ({ greeting: 'Hello' });\n";
  writeFileSync(join(folder, 'handlers/demo/hello@1.mjs'), hello);
  const dev = ['dev', '--listen', '127.0.0.1:0'];
  await processes
    .start('interlock', dev, { cwd: folder, group: true })
    .says(/Ctrl-C drains/, 60_000);
});
afterEach(async () => {
  await processes.end();
  rmSync(folder, { recursive: true, force: true });
});

async function shell(script: string): Promise<Proc> {
  const proc = processes.start('/bin/sh', ['-euc', script], { cwd: folder });
  const { code } = await proc.ending(60_000);
  expect(`${code}: ${proc.err}`).toBe('0: ');
  return proc;
}

it('the page: what is to be done by hand works as it stands', async () => {
  const [, byHand = ''] = /\n## By hand\n(.*?)\n## /s.exec(PAGE) ?? [];
  const steps = [...byHand.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text);
  expect(steps.length).toBeGreaterThanOrEqual(11);
  const { out } = await shell(steps.join('\necho ---\n'));
  const said = out.split('---\n');
  const [
    ,
    about,
    present,
    submitted,
    claimed,
    started,
    renewed,
    completed,
    again,
    other,
    failed,
    end,
  ] = said;
  expect(about).toContain('"contracts":[1]');
  expect(present).toMatch(/"presentAfterMs":\d+.*\n200\n/);
  expect(submitted).toMatch(/"status":"queued".*\n201\n/);
  expect(claimed).toMatch(/"leaseMs":600000.*\n200\n/);
  expect(started).toMatch(/"accepted":true.*"op":"start".*\n200\n/);
  expect(renewed).toMatch(/"op":"renew".*\n200\n/);
  expect(completed).toMatch(/"op":"complete".*\n200\n/);
  expect(again).toMatch(/"replayed":true/);
  expect(again).toMatch(/"status":"succeeded".*"greeting":"Hello, Ada!"/);
  expect(other).toMatch(/STALE_ATTEMPT.*\n409\n/s);
  expect(failed).toMatch(/"op":"fail".*\n200\n.*"status":"queued"/s);
  expect(end).toMatch(/"fence":2.*"op":"release".*"status":"cancelled"/s);
  expect(out).not.toMatch(/\n5\d\d\n/);
});

it('the worker in Python works for a real control plane', async () => {
  const profile = JSON.parse(readFileSync(join(folder, '.interlock/profile.json'), 'utf8'));
  const worker = processes.start('python3', [join(ROOT, 'samples/python-worker/worker.py')], {
    env: {
      INTERLOCK_URL: profile.url,
      INTERLOCK_WORKER_KEY: profile.keys['task-worker'],
      INTERLOCK_SPOOL: join(folder, 'python'),
      INTERLOCK_WORKER_ID: 'python',
      PYTHONDONTWRITEBYTECODE: '1',
    },
  });
  for (const [type, input, result] of [
    ['conformance/echo@1', { text: 'Grüße' }, '"Grüße"'],
    ['conformance/progress@1', { steps: 2 }, '"steps":2'],
  ] as const) {
    const args = ['tasks', 'submit', type, '--input', JSON.stringify(input), '--wait', '--json'];
    const submit = processes.start('interlock', args, { cwd: folder });
    expect((await submit.ending(60_000)).code, submit.err).toBe(0);
    expect(submit.out.replaceAll(/\s+/g, '')).toContain(result);
  }
  worker.kill('SIGTERM');
  expect(await worker.ending()).toMatchObject({ code: 0 });
  const list = processes.start('interlock', ['tasks', 'workers', '--json'], { cwd: folder });
  await list.ending();
  expect(list.out).toMatch(/"python"/);
  expect(list.out).toMatch(/"offline"/);
});
