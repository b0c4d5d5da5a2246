/** The kit for workers itself: what it says of commands that are none, and of what a worker does beside a case. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Broken, type Verdict } from '../../src/conformance/case.ts';
import { workerCases } from '../../src/conformance/worker/index.ts';
import { judged } from '../../src/conformance/worker/judge.ts';
import { runWorkerKit } from '../../src/conformance/worker/kit.ts';
import { manifest } from '../../src/conformance/worker/manifest.ts';
import type { WorkerCase } from '../../src/conformance/worker/worker-case.ts';
import { World } from '../../src/conformance/worker/world.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { Processes, ROOT } from '../e2e/processes.ts';
import { HandWorker } from '../fcp/hand-worker.ts';

const HANDLERS = join(ROOT, 'samples/conformance-handlers');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'interlock-kit-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The kit with a program of one line of JavaScript. */
function kit(script: string, patienceMs = 1_000, cases = workerCases): Promise<unknown> {
  return runWorkerKit({
    command: [process.execPath, '-e', script],
    cases,
    env: process.env,
    cwd: folder,
    patienceMs,
    clock: systemClock(),
    random: systemRandom(),
    signal: new AbortController().signal,
    onVerdict: () => {},
  });
}

describe('a command that is no worker', () => {
  it('is told with its exit code and its last words when it ends by itself', async () => {
    await expect(
      kit('console.error("no such file"); process.exitCode = 3', 20_000),
    ).rejects.toThrow(/ended by itself with exit code 3[\s\S]*no such file/);
  });

  it('is told when it sends nothing', async () => {
    await expect(kit('setInterval(() => {}, 1000)')).rejects.toMatchObject({
      code: 'WORKER_UNFIT',
      message: expect.stringMatching(/sent nothing to the address in INTERLOCK_URL/),
    });
  });

  const handlers = (except: string[], safety: Record<string, string> = {}) =>
    manifest
      .filter(({ type }) => !except.includes(type))
      .map(({ type, schemaVersion, effectSafety, effectGate }) => ({
        type,
        schemaVersion,
        slots: 1,
        effectSafety: safety[type] ?? effectSafety,
        effectGate,
      }));
  /** Sends these one after the other, and lives on. */
  const sends = (...calls: [method: string, path: string, body: object][]) => `(async () => {
    for (const [method, path, body] of ${JSON.stringify(calls)})
      await fetch(process.env.INTERLOCK_URL + '/api/tasks/v1' + path, {
        method, body: JSON.stringify(body),
        headers: { authorization: 'Bearer ' + process.env.INTERLOCK_WORKER_KEY } });
    })();
    setInterval(() => {}, 1000)`;
  const who = { workerId: 'w', sessionId: 's', pools: ['default'] };
  const claim = (want: object[]) => ({ ...who, requestId: 'r', want, max: 1 });
  const presence = { ...who, state: 'ready', slots: { max: 1, busy: 0 }, handlersHash: '1' };
  /** None of these waits for it. */
  const LONG_MS = 600_000;

  it('is told at once by its first claim which handlers it lacks, also one of another safety', async () => {
    const want = handlers(['conformance/spin'], { 'conformance/echo': 'pure' });
    const told = kit(sends(['POST', '/claims', claim(want)]), LONG_MS);
    await expect(told).rejects.toThrow(
      /offers no conformance\/echo@1 \(idempotent; for reports\/once and \d+ more\), conformance\/spin@1 \(pure; for leases\/busy-handlers and \d+ more\)\./,
    );
  });

  it('is told so by the handlers of its presence, before it has claimed', async () => {
    const told = handlers(['conformance/gated']);
    const script = sends(
      ['PUT', '/workers/w', presence],
      ['PUT', '/workers/w', { ...presence, handlers: told }],
    );
    await expect(kit(script, LONG_MS)).rejects.toThrow(
      /offers no conformance\/gated@1 \(non-idempotent, gate effect; for spool\/killed-before-effect and \d+ more\)\./,
    );
  });

  it('has to offer the handlers of the chosen cases alone', async () => {
    const only = workerCases.filter(({ name }) => name === 'signals/idle');
    const script = sends(['PUT', '/workers/w', presence], ['POST', '/claims', claim([])]);
    const [verdict] = (await kit(script, 3_000, only)) as Verdict[];
    expect(verdict).toMatchObject({ name: 'signals/idle', outcome: 'failed' });
    const reports = workerCases.filter(({ name }) => name === 'reports/once');
    await expect(kit(script, LONG_MS, reports)).rejects.toThrow(
      /offers no conformance\/echo@1 \(idempotent; for reports\/once\)\./,
    );
  });

  it('is told when it never says what it offers', async () => {
    const script = sends(['PUT', '/workers/w', presence]);
    await expect(kit(script, 1_000)).rejects.toThrow(
      /it neither told them in its presence \(PUT \/workers\/<workerId>, "handlers"\) nor claimed/,
    );
  });

  it('is told when there is no such program, or none that may be run, and what to do', async () => {
    writeFileSync(join(folder, 'text'), '');
    writeFileSync(join(folder, 'script'), '#!/no/such/interpreter\n', { mode: 0o755 });
    for (const [program, message] of [
      ['no-such-program', /^There is no program no-such-program on the PATH\.$/],
      ['./nothing', /^There is no program \.\/nothing in \//],
      ['./text', /^\.\/text is no program that may be run\.$/],
      ['./script', /it is there, but the interpreter in its first line is not/],
    ] as const)
      await expect(start(program)).rejects.toMatchObject({
        code: 'WORKER_UNFIT',
        message: expect.stringMatching(message),
        hint: expect.stringContaining('-- python3'),
      });
  });

  function start(program: string): Promise<unknown> {
    return runWorkerKit({
      command: [program],
      cases: [],
      env: process.env,
      cwd: folder,
      clock: systemClock(),
      random: systemRandom(),
      signal: new AbortController().signal,
      onVerdict: () => {},
    });
  }
});

describe('what a worker does beside a case', () => {
  /** A case that is content, played by a worker moved by hand. */
  async function says(run: (hand: HandWorker, world: World) => Promise<void>): Promise<string> {
    const world = new World({
      command: [process.execPath, '-e', 'setInterval(() => {}, 1000)'],
      env: process.env,
      cwd: folder,
      folder,
      key: 'il_hand',
      patienceMs: 2_000,
      clock: systemClock(),
      signal: new AbortController().signal,
    });
    const one: WorkerCase = {
      name: 'test/one',
      title: 'is content',
      promises: ['1.1'],
      handlers: [],
      run: async () => {
        const fcp = await world.controlPlane({ graceMs: 0 });
        await run(new HandWorker(fcp), world);
      },
    };
    try {
      await judged(one).run(world);
      return '';
    } catch (error) {
      expect(error).toBeInstanceOf(Broken);
      return (error as Error).message;
    } finally {
      await world.close();
    }
  }

  it('fails it where it breaks a promise, named by its number', async () => {
    const told = await says(async (hand, { fcp }) => {
      fcp.offer({ type: 'demo/hello' });
      const attempt = await hand.takeOne();
      fcp.onReport('renew', (_, ctl) => ctl.stale(), { times: 1 });
      await hand.report('renew', attempt);
      await hand.report('complete', attempt, { result: 1 });
    });
    expect(told).toMatch(/^Promise 1\.14 is broken \(report-after-stale\): complete after renew/);
  });

  it('passes it where it does nothing wrong', async () => {
    expect(await says(async (hand) => void (await hand.claim()))).toBe('');
  });

  it('tells what was waited for in vain without the timeline, which is evidence', async () => {
    const told = await says(async (_, { fcp }) => {
      await fcp.until(() => false, { timeoutMs: 50, what: 'a miracle' });
    });
    expect(told).toBe('The kit waited 0.05 s in vain for: a miracle.');
  });

  it('tells at once that the worker has ended by itself', async () => {
    const told = await says(async (_, world) => {
      const worker = await world.worker({ ready: false });
      process.kill(worker.pid, 'SIGKILL');
      await world.fcp.until(() => false, { what: 'nothing' });
    });
    expect(told).toBe('The worker ended by itself with signal SIGKILL.');
  });
});

describe('the handlers that come with the package', () => {
  it('are those of the manifest, with the same safety and gate', () => {
    for (const { type, schemaVersion, effectSafety, effectGate } of manifest) {
      const text = readFileSync(join(HANDLERS, `${type}@${schemaVersion}.mjs`), 'utf8');
      expect(text).toContain(`export const effectSafety = '${effectSafety}';`);
      expect(text.includes(`export const effectGate = 'effect';`), type).toBe(
        effectGate === 'effect',
      );
    }
  });
});

describe('our worker', () => {
  it('passes a case of each kind, told in JSON', async () => {
    const processes = new Processes(folder);
    try {
      const names = ['reports/once', 'spool/report-before-sending', 'signals/finishes'];
      const only = names.flatMap((name) => ['--only', name]);
      const command = [process.execPath, join(ROOT, 'dist/interlock-worker.js')];
      const args = ['conformance', 'worker', '--json', ...only, '--', ...command];
      const run = processes.start('interlock', [...args, '--handlers', HANDLERS], {});
      const { code } = await run.ending(120_000);
      const { cases } = JSON.parse(run.out) as { cases: { name: string; outcome: string }[] };
      expect(cases.map(({ name, outcome }) => [name, outcome])).toEqual(
        names.map((name) => [name, 'passed']),
      );
      expect(code).toBe(0);
    } finally {
      await processes.end();
    }
  }, 150_000);
});
