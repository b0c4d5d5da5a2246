import * as z from 'zod';

/**
 * A release folder: the executables of one version, `release.json` (which of them is for what), `SHA256SUMS` (the hash
 * of each file, as coreutils writes it) and `SHA256SUMS.sig` (Ed25519 over the bytes of `SHA256SUMS`, 64 bytes).
 * The signature covers the sums, the sums cover `release.json`, and that binds product, version, target, size and hash
 * of each executable: a file can be passed off neither as another version nor as one for another machine.
 * Pure: reads and writes text. `scripts/binary/sign.mjs` makes releases with it.
 */
export const SUMS = 'SHA256SUMS';
export const SIGNATURE = 'SHA256SUMS.sig';
export const STATEMENT = 'release.json';
const PRODUCT = 'interlock-worker';

/** An executable: 110 to 150 MB today. */
const EXECUTABLE_BYTES_MAX = 1_073_741_824;
/** What is read of each of the small files: a release has about a dozen of them. */
export const releaseBytes = { [SUMS]: 65_536, [SIGNATURE]: 4_096, [STATEMENT]: 262_144 } as const;

const TARGET = /^[a-z0-9]+-[a-z0-9_]+$/;
/** Never a path. */
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}$/;
const VERSION_FORM =
  /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:-[0-9A-Za-z.-]{1,100})?(?:\+[0-9A-Za-z.-]{1,100})?$/;

const executable = z.object({
  name: z.string().regex(FILE_NAME),
  /** `linux-x64`, `win-x64` … */
  target: z.string().regex(TARGET),
  bytes: z.int().min(1).max(EXECUTABLE_BYTES_MAX),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** The Node.js inside. */
  node: z.string().max(50).optional(),
});
export type Executable = z.output<typeof executable>;

const statement = z.object({
  /** Of this file. A form that is not known is not guessed at. */
  format: z.literal(1),
  product: z.literal(PRODUCT),
  version: z.string().regex(VERSION_FORM),
  /** Versions of the wire contract that it speaks. */
  contract: z.array(z.int().min(1)).min(1).max(20),
  executables: z.array(executable).min(1).max(50),
});
export type Release = z.output<typeof statement>;

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: string };

/** `why` follows the name of the file. */
export function readSums(text: string): Read<ReadonlyMap<string, string>> {
  const sums = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, hash, name] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? [];
    if (hash === undefined || name === undefined || !FILE_NAME.test(name))
      return { ok: false, why: `has a line that is none of sha256sum ("${line.slice(0, 80)}")` };
    if (sums.has(name)) return { ok: false, why: `names ${name} twice` };
    sums.set(name, hash);
  }
  return sums.size === 0 ? { ok: false, why: 'is empty' } : { ok: true, value: sums };
}

/** @param sums name → sha256, in hex. */
export function writeSums(sums: ReadonlyMap<string, string>): string {
  const names = [...sums.keys()].sort();
  for (const name of names) {
    if (!FILE_NAME.test(name)) throw new Error(`"${name}" cannot be a name in ${SUMS}`);
  }
  return names.map((name) => `${sums.get(name)}  ${name}\n`).join('');
}

/** `why` follows the name of the file. */
export function readRelease(text: string, sums: ReadonlyMap<string, string>): Read<Release> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { ok: false, why: 'is no JSON' };
  }
  const format = (json as { format?: unknown } | null)?.format;
  if (typeof format === 'number' && format > 1)
    return { ok: false, why: `has a later form (${format}) than this program knows` };
  const read = statement.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    return {
      ok: false,
      why: `does not have its form (${issue?.path.join('.')}: ${issue?.message})`,
    };
  }
  const targets = new Set<string>();
  for (const { name, target, sha256 } of read.data.executables) {
    if (sums.get(name) !== sha256)
      return { ok: false, why: `and ${SUMS} contradict each other about ${name}` };
    if (targets.has(target)) return { ok: false, why: `names two executables for ${target}` };
    targets.add(target);
  }
  return { ok: true, value: read.data };
}

/** The same text for the same release, on every machine. */
export function writeRelease(release: Omit<Release, 'format' | 'product'>): string {
  const executables = release.executables.toSorted((a, b) => (a.target < b.target ? -1 : 1));
  const whole = statement.parse({ format: 1, product: PRODUCT, ...release, executables });
  return `${JSON.stringify(whole, null, 2)}\n`;
}

/** The name that builds have for a machine: `linux-x64`, `darwin-arm64`, `win-x64`. */
export function targetOf(platform: string, arch: string): string {
  return `${platform === 'win32' ? 'win' : platform}-${arch}`;
}

export function isVersion(text: string): boolean {
  return VERSION_FORM.test(text);
}

/** By the rules of semver.org: below 0 where `a` is older, above 0 where it is newer. */
export function compareVersions(a: string, b: string): number {
  const left = parts(a);
  const right = parts(b);
  for (let i = 0; i < 3; i++) {
    const difference = Number(left.core[i]) - Number(right.core[i]);
    if (difference !== 0) return difference;
  }
  return comparePrereleases(left.before, right.before);
}

function parts(version: string): { core: string[]; before: string[] } {
  const [plain = ''] = version.split('+');
  const dash = plain.indexOf('-');
  const core = (dash < 0 ? plain : plain.slice(0, dash)).split('.');
  return { core, before: dash < 0 ? [] : plain.slice(dash + 1).split('.') };
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  // 1.0.0-rc.1 comes before 1.0.0.
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const left = a[i];
    const right = b[i];
    if (left === undefined) return -1;
    if (right === undefined) return 1;
    if (left === right) continue;
    const numbers = [left, right].map((part) => (/^\d+$/.test(part) ? Number(part) : undefined));
    if (numbers[0] !== undefined && numbers[1] !== undefined) return numbers[0] - numbers[1];
    if (numbers[0] !== undefined) return -1;
    if (numbers[1] !== undefined) return 1;
    return left < right ? -1 : 1;
  }
  return 0;
}
