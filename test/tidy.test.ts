import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { transformSync } from 'esbuild';
import { expect, it } from 'vitest';

/**
 * Keeps the rooms of ARCHITECTURE.md apart and the outside behind the ports. Each finding says what to do
 * instead. A rule that stands in the way is changed here and in ARCHITECTURE.md in one commit.
 */
const root = dirname(import.meta.dirname);

/** Room → rooms it may import besides itself. */
const PORT_FORM = ['ports', 'contract'];
const SRC_ROOMS: Record<string, string[]> = {
  contract: [],
  // Types of ports only: how a job ended, why it is stopped.
  core: ['contract', 'ports'],
  ports: ['contract'],
  system: PORT_FORM,
  // HTTP as worker and clients see it: calls become answers, never exceptions.
  wire: PORT_FORM,
  transports: [...PORT_FORM, 'wire'],
  // A job is called the same way in a host and inline.
  carriers: [...PORT_FORM, 'core', 'handler'],
  stores: PORT_FORM,
  // Records on disk that outlive a process: the worker's reports, the producer's outbox.
  spool: ['core', 'ports', 'contract'],
  worker: ['spool', 'core', 'ports', 'contract'],
  handler: ['contract'],
  client: ['spool', 'wire', 'core', 'ports', 'contract'],
  // Pages where people look: a client of the contract's calls inside the process, and no other.
  pages: ['core', 'ports', 'contract'],
  'control-plane': ['pages', 'core', 'ports', 'contract'],
  // The fake control plane: an independent reading of the contract's text.
  fcp: [],
  // The kits: cases against any control plane, and any worker.
  conformance: ['fcp', 'client', 'wire', 'core', 'ports', 'contract'],
};
const INNER = Object.keys(SRC_ROOMS);
const ROOMS: Record<string, string[]> = {
  ...SRC_ROOMS,
  // The face of the SDK puts a client and a worker together with the real forms of the ports.
  sdk: INNER,
  index: [...INNER, 'sdk'],
  cli: [...INNER, 'index', 'sdk'],
  sim: INNER.filter((room) => room !== 'system'),
};
/** Shared by all rooms: numbers with their reasons, the shape of what stores keep, the word that was meant, and the specification. */
const SHARED_FILES = [
  'src/core/defaults.ts',
  'src/core/task.ts',
  'src/core/nearest.ts',
  'docs/contract.md',
];
/** Files that put a room together with the outside: what they reach beyond its row. */
const PUT_TOGETHER: Record<string, { rooms: string[]; doors: string[] }> = {
  'src/control-plane/serve.ts': { rooms: ['stores'], doors: ['node:http', 'node:net'] },
  'src/control-plane/direct.ts': { rooms: [], doors: ['node:http'] },
  'src/control-plane/plain-http.ts': { rooms: [], doors: ['node:http', 'node:net'] },
  'src/control-plane/socket.ts': {
    rooms: [],
    doors: ['node:http', 'node:https', 'node:net', '@hono/node-server'],
  },
  'src/control-plane/tls-files.ts': { rooms: [], doors: ['node:fs', 'node:tls'] },
};
/** Rooms whose I/O goes through ports: no door of their own to the outside. */
const NO_DOORS = [
  'contract',
  'core',
  'ports',
  'spool',
  'worker',
  'pages',
  'control-plane',
  'client',
];
const DOORS =
  /^(node:(fs|fs\/promises|child_process|net|tls|dns|http|https|http2|dgram|cluster|worker_threads|timers|timers\/promises|os|sqlite|process)|undici|eventsource|pino|signal-exit|write-file-atomic|@hono\/node-server)$/;

/** Files that are started or imported from outside `src`. */
const ENTRIES = [
  'src/cli/as-node.ts',
  'src/cli/interlock.ts',
  'src/cli/interlock-worker.ts',
  'src/cli/standalone.ts',
  'src/conformance/unseen.ts',
  'src/handler/host.ts',
  'src/handler/index.ts',
  'src/index.ts',
  'src/sdk/agent-thread.ts',
];

/** FCP is a real server in the world's time and shares nothing with us, the ports included. */
const THE_WORLD = /^src\/(system|fcp)\//;
/** What may be said only in some places, and what to say elsewhere. */
const BANS: { say: RegExp; only: RegExp; instead: string }[] = [
  {
    say: /\bDate\.now\(|\bnew Date\(\)|\bnew Date[;,)]/,
    only: THE_WORLD,
    instead: 'the port clock: now() to decide, wall() to tell people',
  },
  {
    say: /\bperformance\.now\(|\bprocess\.(hrtime|uptime)\b/,
    only: /^src\/(system|fcp)\/|^src\/handler\/host\.ts$/,
    instead: 'the port clock: now()',
  },
  {
    say: /(?<![.\w])set(Timeout|Interval)\(|\bAbortSignal\.timeout\(/,
    only: THE_WORLD,
    instead: 'the port clock: sleep(ms, signal) or timer(ms, fire)',
  },
  {
    say: /\bMath\.random\(|\brandom(UUID|Bytes|Int)\(|\bgetRandomValues\(/,
    only: THE_WORLD,
    instead: 'the port random',
  },
  {
    say: /\bprocess\.env\b/,
    only: /^src\/(cli\/|sdk\/|handler\/host|index\.ts$)/,
    instead: 'an option that src/cli fills from the environment',
  },
  { say: /(?<![.\w])console\./, only: /^src\/cli\//, instead: 'the port log' },
];

const CODE = new Map<string, string>();
const sources = filesUnder('src').filter((file) => file.endsWith('.ts'));
const others = ['sim', 'bench'].flatMap(filesUnder).filter(isCode);
const tests = filesUnder('test').filter(isCode);
const scripts = ['bin', 'scripts', 'handlers', 'samples', '.ci'].flatMap(filesUnder);

it('imports only what the table of rooms allows', () => {
  const findings: string[] = [];
  for (const file of [...sources, ...others]) {
    const room = roomOf(file);
    const allowed = ROOMS[room];
    if (allowed === undefined) {
      if (file.startsWith('src/') && !file.endsWith('.d.ts'))
        findings.push(
          `${file}: "${room}" is no room; add it to the table here and in ARCHITECTURE.md`,
        );
      continue;
    }
    for (const target of importsOf(file)) {
      if (target.startsWith('.')) {
        const imported = relative(root, resolve(root, dirname(file), target));
        const other = roomOf(imported);
        if (other === room || allowed.includes(other) || SHARED_FILES.includes(imported)) continue;
        if (PUT_TOGETHER[file]?.rooms.includes(other)) continue;
        findings.push(
          `${file} imports ${imported}; ${room} may import ${allowed.join(', ') || 'no other room'}`,
        );
      } else if (
        NO_DOORS.includes(room) &&
        DOORS.test(target) &&
        !PUT_TOGETHER[file]?.doors.includes(target)
      ) {
        findings.push(
          `${file} imports ${target}; ${room} reaches the outside through src/ports only`,
        );
      }
    }
  }
  expect(findings).toEqual([]);
});

it('reaches time, chance, the environment and the console only where it may', () => {
  const findings: string[] = [];
  for (const file of sources) {
    const code = codeOf(file);
    for (const ban of BANS) {
      const said = code.match(ban.say);
      if (said && !ban.only.test(file))
        findings.push(`${file} says ${said[0]}; use ${ban.instead}`);
    }
  }
  expect(findings).toEqual([]);
});

it('holds nothing that the bundle, which is ASCII, cannot write with escapes', () => {
  const findings: string[] = [];
  for (const file of sources.filter((name) => !name.endsWith('.d.ts'))) {
    const [found] = codeOf(file).match(/.{0,30}[\u0080-\uffff].{0,10}/u) ?? [];
    if (found !== undefined)
      findings.push(
        `${file}: ${found}; in a regular expression write \\u2026, in a template of html &hellip; or a value`,
      );
  }
  expect(findings).toEqual([]);
});

it('has no file in src that nobody imports', () => {
  const imported = new Set<string>();
  for (const file of [...sources, ...others]) {
    for (const target of importsOf(file))
      imported.add(relative(root, resolve(root, dirname(file), target)));
  }
  const unused = sources.filter(
    (file) => !file.endsWith('.d.ts') && !ENTRIES.includes(file) && !imported.has(file),
  );
  expect(unused).toEqual([]);
});

it('has no file of more than 350 lines in src', () => {
  const long = sources.filter((file) => read(file).split('\n').length > 351);
  expect(long, 'a second thing has moved in: give it its own file').toEqual([]);
});

it('tells each change once in the changelog', () => {
  const begun = read('CHANGELOG.md')
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => line.slice(0, 45));
  const twice = begun.filter((words, index) => begun.indexOf(words) !== index);
  expect(twice, 'Two branches have brought the same line: keep one').toEqual([]);
});

it('leaves no marks of unfinished work, no focused or silently skipped tests, no registry addresses', () => {
  // Put together here, so that this file does not find itself.
  const marks = new RegExp(
    `\\b(${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK'].join('|')})\\b`,
  );
  const hidden = new RegExp(
    `\\b(it|test|describe)\\.(${['on' + 'ly', 'to' + 'do', 'sk' + 'ip'].join('|')})\\b`,
  );
  const registries = new RegExp(`\\bregistry\\.(${['npm' + 'js', 'yarn' + 'pkg'].join('|')})`);
  const findings: string[] = [];
  for (const file of [
    ...sources,
    ...others,
    ...tests,
    ...scripts,
    'package.json',
    'package-lock.json',
    '.npmrc',
  ]) {
    for (const [index, line] of read(file).split('\n').entries()) {
      if (marks.test(line))
        findings.push(`${file}:${index + 1} is unfinished: do it, or file an issue`);
      if (hidden.test(line))
        findings.push(`${file}:${index + 1} hides tests: use skipIf and print why`);
      if (registries.test(line)) findings.push(`${file}:${index + 1} names a package registry`);
    }
  }
  expect(findings).toEqual([]);
});

/** Without types and comments: a sentence may name what the code may not call. */
function codeOf(file: string): string {
  const code =
    CODE.get(file) ?? transformSync(read(file), { loader: 'ts', minifyWhitespace: true }).code;
  CODE.set(file, code);
  return code;
}

/** `src/worker/pool.ts` → worker, `src/index.ts` → index, `sim/x.ts` → sim. */
function roomOf(file: string): string {
  const [top = '', next = ''] = file.split('/');
  return top === 'src' ? next.replace(/\.ts$/, '') : top;
}

/** Everything a file imports or exports from, types too, as it is written. */
function importsOf(file: string): string[] {
  const text = read(file).replace(/^\s*(\/\/|\/?\*).*$/gm, '');
  const found = text.matchAll(/\bfrom\s+'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g);
  return [...found].map((match) => match[1] ?? match[2] ?? '');
}

function filesUnder(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter(
        (entry) =>
          entry.isFile() && !/node_modules|\/out\b/.test(entry.parentPath.slice(root.length)),
      )
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .sort();
  } catch {
    return []; // This part of the tree does not exist.
  }
}

function isCode(file: string): boolean {
  return /\.(ts|mjs|js|cjs|mts)$/.test(file);
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
