import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { TaskError } from '../../src/contract/errors.ts';
import { agentFile, compiledCode, environmentOf, flagsOf } from '../../src/sdk/agent-options.ts';

it('finds the file of the agent beside the SDK, built or from source', () => {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-agent-'));
  try {
    const built = pathToFileURL(join(folder, 'sdk-agent.js'));
    writeFileSync(built, '');
    expect(agentFile(pathToFileURL(join(folder, 'sdk.js')).href).href).toBe(built.href);
    const source = import.meta.resolve('../../src/sdk/agent-options.ts');
    expect(fileURLToPath(agentFile(source))).toMatch(/src.sdk.agent-thread\.ts$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('names the missing file and the next step where a bundler has left it behind', () => {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-agent-'));
  const before = process.cwd();
  try {
    // Where no package of ours is installed.
    process.chdir(folder);
    for (const here of [pathToFileURL(join(folder, 'bundle.js')).href, undefined]) {
      let thrown: unknown;
      try {
        agentFile(here);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(TaskError);
      const { code, message, hint } = thrown as TaskError;
      expect(code).toBe('AGENT_NOT_STARTED');
      expect(message).toContain(here === undefined ? 'sdk-agent.js' : join(folder, 'sdk-agent.js'));
      expect(hint).toContain('external');
    }
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  }
});

it('takes the flags that say how connections are made into the thread, and no other', () => {
  expect(
    flagsOf('--use-system-ca --import=./hook.mjs --max-old-space-size=64 "--tls-min-v1.3"', [
      '--loader',
      'x',
      '--dns-result-order',
      'ipv4first',
      '--no-network-family-autoselection',
      '--inspect=0',
      '--network-family-autoselection-attempt-timeout=500',
      '--tls-max-v1.2-x',
    ]),
  ).toEqual([
    '--use-system-ca',
    '--tls-min-v1.3',
    '--dns-result-order=ipv4first',
    '--no-network-family-autoselection',
    '--network-family-autoselection-attempt-timeout=500',
  ]);
  expect(flagsOf(undefined, [])).toEqual([]);
});

it('takes no variable of the program into the thread but those that Node reads for TLS', () => {
  expect(
    environmentOf({
      NODE_OPTIONS: '--import=./hook.mjs',
      INTERLOCK_WORKER_KEY: 'il_x',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    }),
  ).toEqual({ NODE_TLS_REJECT_UNAUTHORIZED: '0' });
});

it('keeps the compiled code of the thread where the program keeps its own, else in the folder of this user', () => {
  const state = mkdtempSync(join(tmpdir(), 'interlock-'));
  try {
    const env = { XDG_STATE_HOME: state, HOME: state, LOCALAPPDATA: state };
    expect(compiledCode(env).NODE_COMPILE_CACHE).toMatch(/interlock.compile-cache$/);
    expect(compiledCode({ ...env, NODE_COMPILE_CACHE: '/kept' })).toEqual({
      NODE_COMPILE_CACHE: '/kept',
    });
    expect(compiledCode({ ...env, NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual({});
  } finally {
    rmSync(state, { recursive: true });
  }
});
