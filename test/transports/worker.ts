/** What the tests of the transport share: a transport to an FCP, a claim, an attempt of it. */
import { randomUUID } from 'node:crypto';
import { afterEach } from 'vitest';
import {
  type Attempt,
  attempt,
  type ClaimRequest,
  type ReportOf,
} from '../../src/contract/index.ts';
import { type Fcp, type FcpOptions, startFcp } from '../../src/fcp/fcp.ts';
import { systemClock } from '../../src/system/clock.ts';
import { type InterlockOptions, InterlockTransport } from '../../src/transports/interlock.ts';
import { constantKey } from '../../src/transports/key-source.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

export async function fcpAndTransport(
  options: Partial<InterlockOptions> = {},
  fcpOptions: FcpOptions = {},
): Promise<{ fcp: Fcp; transport: InterlockTransport }> {
  const fcp = await startFcp(fcpOptions);
  const transport = transportTo(fcp.url, options);
  cleanups.push(() => fcp.stop());
  return { fcp, transport };
}

export function transportTo(
  serviceUrl: string,
  options: Partial<InterlockOptions> = {},
): InterlockTransport {
  const transport = new InterlockTransport({
    serviceUrl,
    key: constantKey('il_worker_1'),
    clock: systemClock(),
    ...options,
  });
  cleanups.push(() => transport.close());
  return transport;
}

export function claimBody(extra: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    workerId: 'w1',
    sessionId: 'ses_1',
    requestId: randomUUID(),
    pools: ['default'],
    want: [
      { type: 'demo/hello', schemaVersion: 1, slots: 4, effectSafety: 'pure', effectGate: 'start' },
    ],
    max: 4,
    ...extra,
  };
}

/** Offers a task and claims it. */
export async function claimed(fcp: Fcp, transport: InterlockTransport): Promise<Attempt> {
  fcp.offer({ type: 'demo/hello', input: { name: 'Ada' } });
  // Unanswered, it is asked again with the same request id, as the worker does.
  const body = claimBody();
  let answer = await transport.claim(body);
  for (let tries = 0; answer.kind === 'no-answer' && tries < 10; tries++)
    answer = await transport.claim(body);
  if (answer.kind !== 'ok') throw new Error(JSON.stringify(answer));
  return attempt.parse(answer.value.attempts[0]);
}

export function complete(
  of: Attempt,
  result: NonNullable<unknown> | null = 'done',
): ReportOf<'complete'> {
  return { op: 'complete', ...four(of), result };
}

export function renew(of: Attempt): ReportOf<'renew'> {
  return { op: 'renew', ...four(of) };
}

export function four({ taskId, attemptId, fence, leaseToken }: Attempt) {
  return { taskId, attemptId, fence, leaseToken };
}
