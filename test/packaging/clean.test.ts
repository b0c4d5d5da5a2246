import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const text = (file: string) => readFileSync(join(root, file), 'utf8');

interface Package {
  version: string;
  integrity?: string;
  resolved?: string;
  os?: string | string[];
  cpu?: string | string[];
  bin?: Record<string, string>;
  hasInstallScript?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}
const manifest: Package & { allowScripts: Record<string, boolean> } = JSON.parse(
  text('package.json'),
);
const lock: { packages: Record<string, Package> } = JSON.parse(text('package-lock.json'));
const groups = ['dependencies', 'optionalDependencies', 'devDependencies'] as const;

it('pins every direct dependency to one exact version, and the lock holds that version', () => {
  for (const group of groups) {
    for (const [name, version] of Object.entries(manifest[group] ?? {})) {
      expect(version, name).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
      expect(lock.packages[`node_modules/${name}`]?.version, name).toBe(version);
    }
    expect(lock.packages['']?.[group]).toEqual(manifest[group]);
  }
  expect(lock.packages['']?.version).toBe(manifest.version);
});

it('locks integrity and no addresses', () => {
  for (const [name, locked] of Object.entries(lock.packages)) {
    if (name === '') continue;
    expect(locked.integrity, name).toMatch(/^sha512-/);
    expect(locked.resolved, name).toBeUndefined();
  }
  expect(text('package-lock.json')).not.toMatch(/https?:\/\/[^"]*\.tgz/);
  expect(text('.npmrc')).toMatch(/^omit-lockfile-registry-resolved=true$/m);
});

it('pins one Node runtime for each platform, so that none wins by accident', () => {
  const runtimes = Object.entries(lock.packages).filter(([, locked]) => locked.bin?.node);
  const platforms = runtimes.map(([, { os, cpu }]) => `${os}-${cpu}`);
  expect(platforms.sort()).toEqual([
    'darwin-arm64',
    'darwin-x64',
    'linux-arm64',
    'linux-x64',
    'win32-x64',
  ]);
  const pinned = runtimes.map(([name]) => name.replace('node_modules/', '')).sort();
  expect(pinned).toEqual(Object.keys(manifest.optionalDependencies ?? {}).sort());
});

it('names every package whose install script may run', () => {
  const withScripts = Object.entries(lock.packages)
    // An optional package of another platform's build tool is never installed here.
    .filter(([, locked]) => locked.hasInstallScript && locked.os === undefined)
    .map(([name]) => name.replace(/^.*node_modules\//, ''));
  // By name only: a version cannot be matched where the lock holds no addresses.
  expect(manifest.allowScripts).toEqual(
    Object.fromEntries(withScripts.map((name) => [name, true])),
  );
});

it('runs these tests on the pinned runtime', (context) => {
  const own = `node_modules/node-${process.platform.replace('win32', 'win')}-${process.arch}`;
  const pinned = lock.packages[own] ?? lock.packages[own.replace('node-', 'node-bin-')];
  if (pinned === undefined) return context.skip(`no runtime is pinned for ${own}`);
  expect(process.version).toBe(`v${pinned.version}`);
});
