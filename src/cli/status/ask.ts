import { get } from 'node:http';
import * as z from 'zod';
import { effectSafety, parseJson, TaskError } from '../../contract/index.ts';
import { statusDefaults } from '../../core/defaults.ts';
import type { Clock } from '../../ports/clock.ts';
import { hostPort } from '../../wire/service-url.ts';
import type { Listen } from '../setting-schemas.ts';

/** What is looked at of a `StatusReport`: the worker may be of another version, or only starting. */
const statusAnswer = z.looseObject({
  workerId: z.string(),
  state: z.string(),
  pid: z.int(),
  ready: z.boolean(),
  notReady: z.string().optional(),
  stalled: z.string().optional(),
  notClaiming: z.string().optional(),
  uptimeMs: z.number().optional(),
  lastClaimOkMs: z.number().optional(),
  lastRenewalOkMs: z.number().optional(),
  hintsWork: z.boolean().optional(),
  unanswered: z.number().optional(),
  slots: z.object({ max: z.number(), busy: z.number(), waiting: z.number() }).optional(),
  spool: z
    .object({
      records: z.number(),
      bytes: z.number(),
      oldestMs: z.number().nullable(),
      ok: z.boolean(),
    })
    .optional(),
  drain: z.object({ atMostMs: z.number(), likelyMs: z.number().optional() }).optional(),
  pausedTypes: z
    .array(
      z.object({
        type: z.string(),
        schemaVersion: z.number(),
        why: z.string(),
        forMs: z.number(),
        failures: z.number(),
      }),
    )
    .optional(),
  keptHandlers: z
    .array(
      z.object({
        type: z.string(),
        schemaVersion: z.number(),
        why: z.string(),
        since: z.string(),
      }),
    )
    .optional(),
  unservedHandlers: z
    .array(
      z.object({
        file: z.string(),
        type: z.string().optional(),
        schemaVersion: z.number().optional(),
        why: z.string(),
        since: z.string(),
      }),
    )
    .optional(),
  handlers: z
    .array(
      z.object({
        type: z.string(),
        schemaVersion: z.number(),
        effectSafety,
        host: z.string().optional(),
      }),
    )
    .optional(),
  versions: z.record(z.string(), z.string()).optional(),
  attempts: z
    .array(
      z.object({
        taskId: z.string(),
        type: z.string(),
        schemaVersion: z.number(),
        phase: z.string(),
        leaseLeftMs: z.number(),
        runningMs: z.number().optional(),
        heldUp: z.boolean().optional(),
        stuck: z.boolean(),
      }),
    )
    .optional(),
});
export type StatusAnswer = z.infer<typeof statusAnswer>;

/** Asks a worker on this machine how it is. Throws `STATUS_UNREACHABLE`. */
export async function askStatus(where: Listen, clock: Clock): Promise<StatusAnswer> {
  const host = visibleHost(where.host);
  const at = hostPort(host, where.port);
  const text = await body({ host, port: where.port }, clock).catch((cause: unknown) => {
    throw unreachable(`No worker answers on ${at}: ${said(cause)}.`, cause);
  });
  const parsed = parseJson(text);
  const read = parsed.ok ? statusAnswer.safeParse(parsed.value) : undefined;
  if (read?.success) return read.data;
  throw unreachable(`What answers on ${at} is no worker of ours.`, read?.error);
}

/** Where this machine reaches what listens on all of its addresses. */
function visibleHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** No proxy is asked: it is this machine. */
async function body(where: Listen, clock: Clock): Promise<string> {
  const over = new AbortController();
  const timer = clock.timer(statusDefaults.askMs, () =>
    over.abort(new Error(`nothing came within ${statusDefaults.askMs / 1_000} s`)),
  );
  try {
    return await new Promise((resolve, reject) => {
      over.signal.addEventListener('abort', () => reject(over.signal.reason));
      const request = get({ ...where, path: '/status', agent: false, signal: over.signal });
      request.on('error', reject);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.byteLength;
          if (bytes > statusDefaults.askBytes) over.abort(new Error('its answer has no end'));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      });
    });
  } finally {
    timer.cancel();
  }
}

function said(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  return String(message ?? cause).replace(/\.$/, '');
}

function unreachable(message: string, cause: unknown): TaskError {
  return new TaskError('STATUS_UNREACHABLE', message, {
    hint: 'See its log, and whether it was started with --status-listen and this address.',
    cause,
  });
}
