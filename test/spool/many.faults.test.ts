import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { encodeLine } from '../../src/spool/records.ts';
import { complete, META } from './world.ts';

const run = promisify(execFile);
const CHILD = join(import.meta.dirname, 'many-child.ts');

/** A spool that an outage left: one record a file, which is the worst. */
async function leave(count: number, bytes: number): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'interlock-many-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const folder = join(home, 'spool');
  await mkdir(join(folder, 'reports'), { recursive: true, mode: 0o700 });
  for (let i = 0; i < count; i++) {
    const body = complete(`att_${String(i).padStart(26, '0')}`, `${i} `.repeat(bytes / 6));
    const line = encodeLine({
      kind: 'report',
      serviceUrl: 'http://127.0.0.1:7420',
      workerId: 'child',
      sessionId: 'ses_before',
      ...META,
      workedAt: {},
      spooledAt: '2026-01-01T00:00:00.000Z',
      followUp: false,
      body,
    } as { kind: string });
    const name = `${String(i + 1).padStart(12, '0')}-0123abcd.jsonl`;
    await writeFile(join(folder, 'reports', name), line.text, { mode: 0o600 });
  }
  return folder;
}

it.each([
  ['20,000 spooled records', 20_000, 2_048],
  ['3,000 large ones', 3_000, 200_000],
])(
  '%s at a start with 256 file descriptors cost a bounded memory, and each can be read and answered',
  async (_, count, bytes) => {
    const folder = await leave(count, bytes);
    const { stdout } = await run(
      'bash',
      ['-c', 'ulimit -n 256 && exec "$0" --expose-gc "$1" "$2"', process.execPath, CHILD, folder],
      { maxBuffer: 1_048_576 },
    );
    const seen = JSON.parse(stdout);
    expect(seen).toMatchObject({ found: count, read: count, left: 0, ok: true });
    // The bodies are 40 MB and 600 MB; a head is about 1 KB.
    expect(seen.heapMb).toBeLessThan(60);
    expect(seen.peakMb).toBeLessThan(320);
  },
  300_000,
);
