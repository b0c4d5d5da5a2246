import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Io } from '../../src/cli/command.ts';
import { outputTo } from '../../src/cli/output.ts';
import { filePrograms } from '../../src/cli/programs.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

/** A world for commands run in this process: nothing from the environment, output kept. */
export interface TestWorld {
  readonly io: Io;
  out(): string;
  err(): string;
}

export function testWorld(given: Partial<Io> & { input?: string } = {}): TestWorld {
  const out = keeper();
  const err = keeper();
  const stdin = new PassThrough();
  stdin.end(given.input ?? '');
  const io: Io = {
    env: {},
    cwd: given.cwd ?? temporaryFolder(),
    stdin,
    out: outputTo(out.stream),
    err: outputTo(err.stream),
    terminal: { out: false, err: false },
    columns: undefined,
    programs: filePrograms(join(import.meta.dirname, '../../dist')),
    clock: systemClock(),
    random: systemRandom(),
    ...given,
  };
  return { io, out: out.text, err: err.text };
}

/** Removed when the test has ended. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function keeper(): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
