/**
 * effect/append@1: appends one line to a file, and has it on the disk before it says so.
 *
 *   input   { "file": "/tmp/lines.txt", "text": "one line" }
 *             file      an absolute path; the folder must exist, the file need not
 *             text      one line, without its newline
 *             beforeMs, afterMs   optional: waits so long before and after the append, to try what a crash does
 *   result  { "bytes": 9 }     what was appended, the newline included
 *   errors  INPUT_INVALID      the input looks otherwise
 *           FILE_NOT_OPENED    the file cannot be opened; nothing was appended
 *           APPEND_UNCERTAIN   writing failed half way; the line may be there, whole or in part
 *
 * Non-idempotent: run twice, it appends twice. So the control plane hands it out once and never again by itself. Its
 * gate is its start: as soon as that is accepted, a lost worker leaves the outcome unknown. See append-gated@1.ts for
 * the same with a narrower gate.
 */
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HandlerContext } from 'interlock-node-sdk/handler';

export const effectSafety = 'non-idempotent';
export const effectGate = 'start';

export const input = {
  type: 'object',
  properties: {
    file: { type: 'string', pattern: '^(/|[A-Za-z]:[\\\\/])' },
    text: { type: 'string', pattern: '^[^\\r\\n]*$' },
    beforeMs: { type: 'integer', minimum: 0, maximum: 600_000 },
    afterMs: { type: 'integer', minimum: 0, maximum: 600_000 },
  },
  required: ['file', 'text'],
};

interface Input {
  file: string;
  text: string;
  beforeMs?: number;
  afterMs?: number;
}

export default async function append(
  { file, text, beforeMs = 0, afterMs = 0 }: Input,
  { signal, log }: HandlerContext,
): Promise<{ bytes: number }> {
  // Still harmless: a stop may end it here.
  await sleep(beforeMs, undefined, { signal });
  const handle = await open(file, 'a').catch((error: Error) => {
    throw failure('FILE_NOT_OPENED', `${file} cannot be opened: ${error.message}`);
  });
  const line = Buffer.from(`${text}\n`);
  try {
    const { bytesWritten } = await handle.write(line);
    if (bytesWritten < line.length) {
      throw new Error(`only ${bytesWritten} of ${line.length} bytes were taken`);
    }
    await handle.sync();
  } catch (error) {
    throw failure(
      'APPEND_UNCERTAIN',
      `Appending to ${file} failed: ${(error as Error).message}. Look whether the line is there.`,
    );
  } finally {
    await handle.close();
  }
  log(`appended ${line.length} bytes to ${file}`);
  // The effect is made: from here on a stop changes nothing, the result is told.
  await sleep(afterMs);
  return { bytes: line.length };
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
