import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** The package as its users get it: packed, and installed from the registry's mirror into an empty project. */
const root = dirname(dirname(import.meta.dirname));
const run = promisify(execFile);
let project: string;
let installed: string;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'interlock-tarball-'));
  // What `prepare` would build is there already.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', project], { cwd: root });
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(project, 'package.json'), '{"name":"garage","private":true,"type":"module"}');
  await run('npm', ['install', '--no-audit', '--no-fund', `./${name}-${version}.tgz`], {
    cwd: project,
  });
  installed = join(project, 'node_modules', name);
}, 240_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

it('brings what is needed to run, and no sources or tests', () => {
  for (const file of [
    'bin/launch.sh',
    'dist/sdk-agent.js',
    'dist/THIRD-PARTY-NOTICES.txt',
    'LICENSE',
    'docs/handlers.md',
    'samples/README.md',
  ]) {
    expect(existsSync(join(installed, file)), file).toBe(true);
  }
  for (const file of ['src', 'test', 'scripts', 'sim']) {
    expect(existsSync(join(installed, file)), file).toBe(false);
  }
  expect(statSync(join(installed, 'bin/interlock')).mode & 0o111).toBe(0o111);
});

it('runs its commands on the pinned Node, found beside the package', async () => {
  const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const command of ['interlock', 'interlock-worker']) {
    const { stdout } = await run(join(project, 'node_modules/.bin', command), ['--version']);
    expect(stdout, command).toContain(version);
  }
});

it('comes up with its own handlers, does a first task and ends in order', async () => {
  const dev = spawn(join(project, 'node_modules/.bin/interlock'), ['dev'], { cwd: project });
  const ended = new Promise((resolve) => dev.once('close', (code) => resolve(code)));
  let shown = '';
  try {
    const up = new Promise<void>((resolve) => {
      for (const stream of [dev.stdout, dev.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          shown += `${line}\n`;
          if (line.includes('Ctrl-C drains')) resolve();
        });
      }
    });
    await Promise.race([up, ended]);
    dev.kill('SIGINT');
    expect(await ended, shown).toBe(0);
  } finally {
    dev.kill('SIGTERM');
  }
  for (const type of ['demo/hello', 'effect/append', 'effect/append-gated', 'file/digest']) {
    expect(shown).toContain(`${type}@1`);
  }
  expect(shown).toContain('Hello, ');
  expect(shown).not.toMatch(/ERROR|WARN/);
  expect(existsSync(join(installed, 'handlers/demo/hello@1.ts'))).toBe(true);
}, 60_000);

it('types a program that uses it, for both ways to resolve modules', async () => {
  writeFileSync(
    join(project, 'main.ts'),
    `import { TaskProducer } from 'interlock-node-sdk';
import { RetryableError } from 'interlock-node-sdk/handler';
const producer = new TaskProducer({ serviceUrl: 'http://127.0.0.1:1', key: 'il_x' });
export const id: Promise<string> = producer.submit('demo/hello', 1, {}).then((task) => task.id);
export const error: Error = new RetryableError('later');
// @ts-expect-error the types are really there, so that a wrong option is noticed
new TaskProducer({ nothing: true });
`,
  );
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const common = ['--noEmit', '--ignoreConfig', '--strict', '--target', 'es2022', '--skipLibCheck'];
  const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node'];
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const how = ['--module', module, '--moduleResolution', resolution] as string[];
    const { stdout } = await run(
      process.execPath,
      [compiler, ...common, ...types, ...how, 'main.ts'],
      { cwd: project },
    ).catch((error) => error);
    expect(stdout, resolution).toBe('');
  }
});
