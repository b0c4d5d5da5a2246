import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type JsonIssue, parseJson, TaskError } from '../contract/index.ts';
import type { Io } from './command.ts';
import { usageError } from './usage.ts';

/**
 * A JSON value from the command line: the text itself, `@file`, or `-` for stdin. What a double cannot hold, `-0`,
 * duplicate names and lone surrogates are refused with their path; nothing is altered on the way.
 * @param flag for messages: `--input`. Rejects with `INPUT_JSON`, `FILE_NOT_FOUND` or `PAYLOAD_TOO_LARGE`.
 */
export async function jsonArgument(given: string, flag: string, io: Io): Promise<unknown> {
  const { text, what } = await source(given, flag, io);
  const parsed = parseJson(text.replace(/^\uFEFF/, ''));
  if (parsed.ok) return parsed.value;
  throw new TaskError('INPUT_JSON', `${what}: ${parsed.issues.map(issueWords).join('; ')}.`, {
    hint: hintFor(given, flag, parsed.issues),
    details: { issues: parsed.issues },
  });
}

/** `--policy '{"maxAttempts":3}'`, `@file`, or `name=value` several times with dots for what lies deeper. */
export async function policyArgument(given: readonly string[], io: Io): Promise<unknown> {
  const [only] = given;
  if (only === undefined) return undefined;
  if (given.length === 1 && /^\s*[{@]/.test(only)) return jsonArgument(only, '--policy', io);
  const policy: Record<string, unknown> = {};
  for (const part of given) {
    const at = part.indexOf('=');
    if (at < 1)
      throw usageError(
        `--policy "${part}" is neither name=value nor a JSON object.`,
        'tasks submit',
      );
    const path = part.slice(0, at).split('.');
    const last = path.pop() as string;
    let holder = policy;
    for (const name of path) {
      holder[name] ??= {};
      holder = holder[name] as Record<string, unknown>;
    }
    const value = parseJson(part.slice(at + 1));
    holder[last] = value.ok ? value.value : part.slice(at + 1);
  }
  return policy;
}

/** `name=value` pairs; the value may hold "=". */
export function labelArgument(given: readonly string[]): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((part) => {
      const at = part.indexOf('=');
      if (at < 1) throw usageError(`--label "${part}" is not name=value.`, 'tasks submit');
      return [part.slice(0, at), part.slice(at + 1)];
    }),
  );
}

/** A whole number, or a usage error. @param command whose help tells more. */
export function integerArgument(
  given: string | undefined,
  flag: string,
  min: number,
  max: number,
  command: string,
): number | undefined {
  if (given === undefined) return undefined;
  const value = Number(given);
  if (/^-?\d{1,9}$/.test(given) && value >= min && value <= max) return value;
  throw usageError(`${flag} "${given}" must be a whole number from ${min} to ${max}.`, command);
}

async function source(
  given: string,
  flag: string,
  io: Io,
): Promise<{ text: string; what: string }> {
  if (given === '-')
    return { text: await collect(io.stdin, `${flag} - (stdin)`), what: `${flag} - (stdin)` };
  if (!given.startsWith('@')) return { text: given, what: flag };
  const file = resolve(io.cwd, given.slice(1));
  const what = `${flag} ${file}`;
  const seen = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new TaskError('FILE_NOT_FOUND', `${what} cannot be read (${error.code}).`, {
      hint: 'Check the path; it is taken from the current folder.',
    });
  });
  if (seen.isDirectory())
    throw new TaskError('FILE_NOT_FOUND', `${what} is a folder, not a file with JSON.`);
  return { text: await collect(createReadStream(file), what), what };
}

/** Bounded, and UTF-8 only: another encoding would silently change the text. */
async function collect(stream: AsyncIterable<Uint8Array | string>, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = Buffer.from(chunk as Uint8Array);
    bytes += part.length;
    if (bytes > INPUT_BYTES) {
      throw new TaskError('PAYLOAD_TOO_LARGE', `${what} is larger than ${INPUT_BYTES} bytes.`, {
        hint: 'Send less inline; put large data where the handler can read it.',
      });
    }
    chunks.push(part);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new TaskError('INPUT_JSON', `${what} is no UTF-8 text.`, {
      hint: 'JSON is UTF-8: save it in that encoding.',
    });
  }
}

function issueWords({ path, message }: JsonIssue): string {
  return path && !isSyntax(message) ? `${path} ${message}` : `the text ${message}`;
}

/** Where the text breaks off, the path leads nowhere; line and column do. */
function isSyntax(message: string): boolean {
  return message.startsWith('is not valid JSON') || message.startsWith('is empty');
}

function hintFor(given: string, flag: string, issues: readonly JsonIssue[]): string {
  if (!issues.some(({ message }) => isSyntax(message))) return 'Correct the field that is named.';
  if (given === '-' || given.startsWith('@')) return 'Correct the JSON text.';
  return `In most shells JSON goes into single quotes: ${flag} '{"name":"Ada"}'. Or give @file, or - for stdin.`;
}

/** Far beyond what a control plane takes inline, near enough that a wrong file does no harm. */
const INPUT_BYTES = 16_777_216;
