/** What `npm run binary` has left in build/binary: its files, what is said of them, and what others read in them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, vi } from 'vitest';
import { ROOT } from '../e2e/processes.ts';
import { BUILT, theExecutable } from './executable.ts';
import { pythonWith } from './python.ts';

vi.setConfig({ testTimeout: 180_000 });
const script = (name: string) => import(pathToFileURL(join(ROOT, 'scripts/binary', name)).href);
const { checkExecutable } = await script('check.mjs');
const targets: Record<string, { format: string }> = (await script('targets.mjs')).targets;
const folder = dirname(BUILT);
const read = (name: string) => readFileSync(join(folder, name));
const built = existsSync(folder)
  ? readdirSync(folder).filter((name) => name.startsWith('interlock-worker-'))
  : [];

it('lies beside SHA256SUMS that name every file', () => {
  const sums = read('SHA256SUMS').toString().trim().split('\n');
  const named = sums.map((line) => line.split('  ') as [string, string]);
  const beside = readdirSync(folder).filter((name) => !name.startsWith('SHA256SUMS'));
  expect(named.map(([, name]) => name).sort()).toEqual(beside.sort());
  for (const [hash, name] of named)
    expect(createHash('sha256').update(read(name)).digest('hex'), name).toBe(hash);
});

it('lists in the SBOM what is inside: packages with the hashes of the lock, Node.js with its parts, each file', () => {
  const { components, dependencies, serialNumber } = JSON.parse(read('sbom.cdx.json').toString());
  const of = (type: string) => components.filter((one: { type: string }) => one.type === type);
  const names = of('library').map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['zod', 'pino', '@hono/node-server', 'yargs']));
  expect(names).not.toContain('esbuild');
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const zod = of('library').find(({ name }: { name: string }) => name === 'zod');
  const integrity = `sha512-${Buffer.from(zod.hashes[0].content, 'hex').toString('base64')}`;
  expect(integrity).toBe(packages['node_modules/zod'].integrity);
  expect(zod.purl).toBe(`pkg:npm/zod@${packages['node_modules/zod'].version}`);
  for (const node of of('platform'))
    expect(node.components.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['openssl', 'v8', 'sqlite', 'zlib']),
    );
  expect(of('file').map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(built),
  );
  const refs = new Set(dependencies.map(({ ref }: { ref: string }) => ref));
  for (const name of built) expect(refs).toContain(`file:${name}`);
  expect(serialNumber).toMatch(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-/);
});

it('prints the licences of all that is in it', () => {
  const said = execFileSync(theExecutable(), ['--licenses'], {
    encoding: 'utf8',
    maxBuffer: 1 << 24,
  });
  // toContain would show all of it.
  for (const part of ['Interlock Tasks', 'zod ', 'pino ', 'Node.js 24.', 'OpenSSL', 'ICU'])
    expect(said.includes(part), part).toBe(true);
});

it('is smaller than 115 MB', () => {
  expect(statSync(theExecutable()).size).toBeLessThan(115_000_000);
});

it('is read by libraries of others: the SBOM is valid CycloneDX 1.6, macOS finds a signature, Windows none and a right checksum', ({
  skip,
}) => {
  if (execOf('python3') === undefined) return skip('no python3 with venv here');
  const outside = join(import.meta.dirname, 'outside');
  const python = pythonWith(join(outside, 'requirements.txt'));
  const args = [join(outside, 'read.py'), folder];
  const seen = JSON.parse(
    execFileSync(python, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const expected = Object.fromEntries(
    built.flatMap((name): [string, object][] => {
      if (name.includes('darwin')) return [[name, { layout: 'fits', signature: true, data: true }]];
      if (!name.includes('win')) return [];
      const says = 'VERIFICATION_FLAGS.NO_SIGNATURE';
      return [[name, { checksum: true, signature: false, says }]];
    }),
  );
  expect(seen).toEqual({ 'sbom.cdx.json': 'valid', ...expected });
});

it.for(Object.entries(targets))(
  'finds one wrong byte in what it has made for %s',
  ([target, { format }], { skip }) => {
    const name = built.find((one) => one.replace('.exe', '') === `interlock-worker-${target}`);
    if (name === undefined) return skip(`not built: npm run binary -- --target ${target}`);
    const bytes = read(name);
    const { executables } = JSON.parse(read('release.json').toString());
    const { node } = executables.find((one: { name: string }) => one.name === name);
    const blob = dataOf(bytes);
    expect(checkExecutable(bytes, format, blob, name, node)).toMatch(/signed|loaded/);
    const spoilt = (at: number) => {
      const copy = Buffer.from(bytes);
      copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
      return () => checkExecutable(copy, format, blob, name, node);
    };
    expect(spoilt(bytes.indexOf('NODE_SEA_FUSE_') + 47)).toThrow('fuse');
    expect(spoilt(bytes.indexOf(blob) + blob.length - 1)).toThrow(/our data|another hash|checksum/);
    if (format !== 'elf') expect(spoilt(5_000_000)).toThrow(/another hash|checksum/);
  },
);

/** Our data begins with Node's own word for such data, which stands nowhere else at such a place. */
function dataOf(bytes: Buffer): Buffer {
  const start = Buffer.from('20da4301', 'hex');
  for (let at = bytes.indexOf(start); at !== -1; at = bytes.indexOf(start, at + 1))
    if (bytes.indexOf('boot.js', at) - at < 64) return bytes.subarray(at, at + 4_096);
  throw new Error('no data');
}

function execOf(program: string): string | undefined {
  try {
    return execFileSync(program, ['-c', 'import ensurepip'], { encoding: 'utf8', stdio: 'pipe' });
  } catch {
    return undefined;
  }
}
