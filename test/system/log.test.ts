import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { LogFields } from '../../src/ports/log.ts';
import { systemLog } from '../../src/system/log.ts';

const CHILD = join(import.meta.dirname, 'log-child.ts');
const onUnix = process.platform !== 'win32';

interface Line {
  event: string;
  msg: string;
  level: string;
  [field: string]: unknown;
}

function parsed(stderr: string): Line[] {
  return stderr
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}

/** Resolves with the exit code, once the child has gone. */
function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on('close', resolve));
}

/** Runs the child under a shell, so that its stderr is what the redirection says. */
function underShell(redirection: string, how: string): ChildProcess {
  const command = `"$0" "$1" ${how} json ${redirection}`;
  return spawn('/bin/sh', ['-c', command, process.execPath, CHILD], { stdio: 'pipe' });
}

/** The lines of these fields, as a log writes them into a file. */
async function written(...all: (LogFields | undefined)[]): Promise<Line[]> {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-log-'));
  const fd = openSync(join(folder, 'err'), 'w');
  try {
    const log = systemLog({ fd, format: 'json', level: 'debug' });
    for (const fields of all) log.debug('seen', 'It was seen.', fields);
    await log.flush();
    return parsed(readFileSync(join(folder, 'err'), 'utf8'));
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
}

describe('the log of a process', () => {
  it('writes a line for fields that JSON would refuse: cycles, big integers, getters that throw', async () => {
    const cycle: Record<string, unknown> = { count: 12n, not: Number.NaN, none: undefined };
    cycle.self = cycle;
    const thrower = Object.defineProperty({ near: 1 }, 'bad', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    const lines = await written(cycle, { thrower }, thrower, undefined);
    const head = { level: 'debug', time: expect.any(String), event: 'seen' };
    expect(lines).toEqual([
      { ...head, count: '12', not: null, self: '(itself)', msg: 'It was seen.' },
      { ...head, thrower: '(unreadable)', msg: 'It was seen.' },
      { ...head, fields: '(unreadable)', msg: 'It was seen.' },
      { ...head, msg: 'It was seen.' },
    ]);
  });

  it('asks no value how it wants to be written: toJSON neither throws a line away nor brings a secret back', async () => {
    const toJSON = () => {
      throw new Error('no');
    };
    class Session {
      readonly id = 's1';
      readonly leaseToken = 'tok';
      toJSON() {
        return `s1 with ${this.leaseToken}`;
      }
    }
    const lines = await written({ own: { near: 1, toJSON }, session: new Session() }, { toJSON });
    expect(lines).toMatchObject([
      { own: { near: 1 }, session: { id: 's1', leaseToken: '(secret)' } },
      { event: 'seen', msg: 'It was seen.' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('tok"');
  });

  it('writes one JSON object a line to stderr, with level, event, sentence and fields, without secrets', async () => {
    const child = spawn(process.execPath, [CHILD, 'few'], { stdio: 'pipe' });
    child.stdin?.end();
    const [stderr, code] = await Promise.all([text(child.stderr!), ended(child)]);
    expect(code).toBe(0);
    const lines = parsed(stderr);
    expect(lines.map(({ event }) => event)).toEqual([
      'spool.opened',
      'key.refused',
      'two.lines',
      'after',
    ]);
    expect(lines[0]).toMatchObject({
      level: 'info',
      msg: 'The spool is open.',
      pending: 2,
      leaseToken: '(secret)',
      level_: 9,
    });
    expect(lines[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(lines[1]).toMatchObject({ msg: 'The key il_… was refused.', error: { message: 'no' } });
    expect(stderr).not.toContain('AbCdEf');
  });

  it('writes one readable line for each entry in the text format, without control characters', async () => {
    const child = spawn(process.execPath, [CHILD, 'few', 'text'], { stdio: 'pipe' });
    child.stdin?.end();
    const [stderr] = await Promise.all([text(child.stderr!), ended(child)]);
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}The spool is open\. {2}spool\.opened pending=2 leaseToken=\(secret\) level_=9$/,
    );
    expect(lines[2]).toContain('first�second �[31mred  two.lines text="a b"');
  });

  it.each(onUnix ? ['socket', 'pipe'] : ['socket'])(
    'has its last words out before an exit in the same breath (%s)',
    async (kind) => {
      const child =
        kind === 'pipe'
          ? underShell('2>&1 >/dev/null | cat', 'exit')
          : spawn(process.execPath, [CHILD, 'exit'], { stdio: 'pipe' });
      child.stdin?.end();
      const out = kind === 'pipe' ? child.stdout : child.stderr;
      const [stderr] = await Promise.all([text(out!), ended(child)]);
      expect(parsed(stderr)).toMatchObject([{ event: 'last.words', code: 1 }]);
    },
  );

  it('loses lines, not the process, when its reader goes away', async () => {
    const child = spawn(process.execPath, [CHILD, 'flood'], { stdio: 'pipe' });
    child.stderr?.destroy();
    child.stdin?.end();
    const [stdout, code] = await Promise.all([text(child.stdout!), ended(child)]);
    expect(JSON.parse(stdout).tookMs).toBeGreaterThan(0);
    expect(code).toBe(0);
  });

  it.skipIf(!onUnix)('loses lines, not the process, when a real pipe is closed', async () => {
    const piped = spawn(
      '/bin/sh',
      ['-c', '{ "$0" "$1" flood json 2>&1 >&3 | true; } 3>&1', process.execPath, CHILD],
      { stdio: 'pipe' },
    );
    piped.stdin?.end();
    const [stdout] = await Promise.all([text(piped.stdout!), ended(piped)]);
    expect(JSON.parse(stdout).tookMs).toBeGreaterThan(0);
  });

  it.each(onUnix ? ['socket', 'pipe'] : ['socket'])(
    'is not held up by a reader that takes nothing, and says what was dropped (%s)',
    async (kind) => {
      const command = '{ "$0" "$1" flood json 2>&1 >&3 | { read x <&4; cat; } >&2; } 3>&1 4<&0';
      // The reader begins to read when it gets a line on its stdin, which it shares with the child.
      const child =
        kind === 'pipe'
          ? spawn('/bin/sh', ['-c', command, process.execPath, CHILD], { stdio: 'pipe' })
          : spawn(process.execPath, [CHILD, 'flood'], { stdio: 'pipe' });
      const stdout = text(child.stdout!);
      const told = new Promise<string>((resolve) =>
        child.stdout!.once('data', (data) => resolve(String(data))),
      );
      expect(JSON.parse(await told).tookMs).toBeGreaterThan(0);
      const stderr = text(child.stderr!);
      child.stdin?.end('go\n');
      await Promise.all([ended(child), stdout]);
      const lines = parsed(await stderr);
      const flood = lines.filter(({ event }) => event === 'flood');
      expect(flood.length).toBeGreaterThan(100);
      expect(flood.length).toBeLessThan(20_000);
      const lost = lines.filter(({ event }) => event === 'log.lost');
      const dropped = lost.reduce((sum, line) => sum + Number(line.lines), 0);
      // The last one, `after`, may be among them.
      expect(lines.length - lost.length + dropped).toBe(20_001);
    },
  );

  it.skipIf(!onUnix)('goes on with stderr closed from the beginning', async () => {
    const child = underShell('2>&-', 'few');
    child.stdin?.end();
    const [stdout, code] = await Promise.all([text(child.stdout!), ended(child)]);
    expect(JSON.parse(stdout).tookMs).toBeGreaterThan(0);
    expect(code).toBe(0);
  });

  it.skipIf(process.platform !== 'linux')(
    'goes on when the disk under its stderr is full',
    async () => {
      const full = openSync('/dev/full', 'w');
      const child = spawn(process.execPath, [CHILD, 'flood'], { stdio: ['pipe', 'pipe', full] });
      closeSync(full);
      child.stdin?.end();
      const [stdout, code] = await Promise.all([text(child.stdout!), ended(child)]);
      expect(JSON.parse(stdout).tookMs).toBeGreaterThan(0);
      expect(code).toBe(0);
    },
  );

  it('writes all of it to a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'interlock-log-'));
    try {
      const file = openSync(join(folder, 'err'), 'w');
      const child = spawn(process.execPath, [CHILD, 'flood'], { stdio: ['pipe', 'pipe', file] });
      closeSync(file);
      child.stdin?.end();
      await Promise.all([text(child.stdout!), ended(child)]);
      const lines = parsed(readFileSync(join(folder, 'err'), 'utf8'));
      expect(lines).toHaveLength(20_001);
      expect(lines[19_999]).toMatchObject({ event: 'flood', msg: 'Line 19999.' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
