/**
 * effect/append-gated@1: appends one line to a file like effect/append@1, behind the gate of an effect.
 *
 *   input   { "file": "/tmp/lines.txt", "text": "one line" }     see append@1.ts, with beforeMs and afterMs
 *   result  { "bytes": 9 }
 *   errors  INPUT_INVALID, FILE_NOT_OPENED, APPEND_UNCERTAIN     see append@1.ts
 *           EFFECT_NOT_BEGUN   the control plane did not let it make its effect; nothing was appended
 *
 * Non-idempotent, with `effectGate = 'effect'`: all that is done before `ctx.beginEffect()` is harmless, so until then
 * a lost worker only means that another one does it. After it nobody repeats it.
 */
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HandlerContext } from 'interlock-node-sdk/handler';

export const effectSafety = 'non-idempotent';
export const effectGate = 'effect';

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

export default async function appendGated(
  { file, text, beforeMs = 0, afterMs = 0 }: Input,
  { signal, log, beginEffect }: HandlerContext,
): Promise<{ bytes: number }> {
  await sleep(beforeMs, undefined, { signal });
  const handle = await open(file, 'a').catch((error: Error) => {
    throw failure('FILE_NOT_OPENED', `${file} cannot be opened: ${error.message}`);
  });
  const line = Buffer.from(`${text}\n`);
  try {
    await beginEffect();
    await appendTo(handle, line).catch((error: Error) => {
      throw failure(
        'APPEND_UNCERTAIN',
        `Appending to ${file} failed: ${error.message}. Look whether the line is there.`,
      );
    });
  } finally {
    await handle.close();
  }
  log(`appended ${line.length} bytes to ${file}`);
  await sleep(afterMs);
  return { bytes: line.length };
}

async function appendTo(handle: Awaited<ReturnType<typeof open>>, line: Buffer): Promise<void> {
  const { bytesWritten } = await handle.write(line);
  if (bytesWritten < line.length) {
    throw new Error(`only ${bytesWritten} of ${line.length} bytes were taken`);
  }
  await handle.sync();
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
