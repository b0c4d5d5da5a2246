import { createHash } from 'node:crypto';
import type { Clock } from '../../ports/clock.ts';
import { updateError } from './codes.ts';
import type { FileSight, UpdateFiles } from './files.ts';
import type { Offer } from './offer.ts';
import type { Place } from './place.ts';
import { isVersion } from './release.ts';
import type { RunProgram } from './run-program.ts';
import type { ReleaseSource } from './source.ts';
import { notWritten, tryWords } from './trouble.ts';

export interface StagePorts {
  readonly files: UpdateFiles;
  readonly run: RunProgram;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Brings the new executable into the staging folder: whole, of the signed hash, on the disk, with the rights of the old
 * one, and seen to run here. The old one is not touched. Throws `UPDATE_…`.
 */
export async function stage(
  ports: StagePorts,
  place: Place,
  source: ReleaseSource,
  { executable, release }: Offer,
  old: FileSight,
): Promise<void> {
  const { files } = ports;
  try {
    const free = await files.freeBytes(place.folder).catch(() => undefined);
    if (free !== undefined && free < executable.bytes + ROOM_BYTES)
      throw updateError(
        'UPDATE_NOT_WRITTEN',
        `${place.folder} has room for ${megabytes(free)} and the new executable needs ${megabytes(executable.bytes + ROOM_BYTES)}. ${place.exe} is untouched.`,
        { hint: 'Make room, then run the update again.', details: { errno: 'ENOSPC' } },
      );
    await files.write(place.fresh, checked(source, executable));
    await files.give(place.fresh, { ...old, mode: old.mode | 0o100 });
  } catch (error) {
    throw notWritten(error, place);
  }
  await tryOut(ports, place.fresh, release.version);
}

/** Starts it once, for its version, which it resolves with. Throws `UPDATE_DOES_NOT_RUN`, also where another was `wanted`. */
export async function tryOut(
  { run, clock, env }: StagePorts,
  file: string,
  wanted: string | undefined,
): Promise<string> {
  for (let tries = 1; ; tries++) {
    const end = await run(file, ['--version'], { limitMs: TRY_MS, env: plainEnv(env) });
    // Another program that was started while it was being written has it open for a moment more.
    if (end.failed === 'ETXTBSY' && tries < BUSY_TRIES) {
      await clock.sleep(BUSY_WAIT_MS);
      continue;
    }
    const said = end.out.trim();
    if (end.code === 0 && (wanted === undefined ? isVersion(said) : said === wanted)) return said;
    throw updateError('UPDATE_DOES_NOT_RUN', `The new executable ${tryWords(end, wanted)}.`, {
      details: { said: end.err.trim().slice(-1_000) },
    });
  }
}

/** Without what would make another program of it. */
function plainEnv(env: StagePorts['env']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^(INTERLOCK_|NODE_|NOTIFY_SOCKET$|WATCHDOG_)/.test(name),
    ),
  );
}

/** The pieces as they come; a wrong size or hash is an error before the file counts as written. */
async function* checked(
  source: ReleaseSource,
  { name, bytes, sha256 }: Offer['executable'],
): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const piece of source.pieces(name, bytes)) {
    length += piece.byteLength;
    if (length > bytes) break;
    hash.update(piece);
    yield piece;
  }
  const wrong = (why: string) =>
    updateError('UPDATE_DAMAGED', `${name} in ${source.shown} is not what was signed: it ${why}.`);
  if (length !== bytes)
    throw wrong(
      length > bytes ? `is longer than ${bytes} bytes` : `ends after ${length} of ${bytes} bytes`,
    );
  if (hash.digest('hex') !== sha256) throw wrong('has another hash');
}

/** Reads an executable for its hash alone. */
export async function verifyWhole(source: ReleaseSource, { executable }: Offer): Promise<void> {
  for await (const _ of checked(source, executable)) {
    // Only whether it is whole.
  }
}

export function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}

/** Beside the executable: its folder's blocks, a record. */
const ROOM_BYTES = 1_048_576;
/** A cold start from a memory card, under a virus scanner that reads all of it first. */
const TRY_MS = 60_000;
const BUSY_TRIES = 20;
const BUSY_WAIT_MS = 100;
