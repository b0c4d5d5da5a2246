import { join } from 'node:path';
import { canonical } from '../../contract/canonical.ts';
import { problemCodes, type SubmitRequest, TaskError } from '../../contract/index.ts';
import type { Disk } from '../../ports/disk.ts';
import { intentFileParts, outboxLayout } from './layout.ts';
import { type IntentRecord, readIntents } from './records.ts';

/**
 * Throws `IDEMPOTENCY_CONFLICT` where another request waits in the outbox under the same key for the same place: the one
 * that comes second would be refused whenever the control plane is back, when nobody waits for it any more.
 *
 * Looks at the newest files only, so that a long outage makes no command slow; what is further back is found by the
 * control plane. What cannot be read is nothing here.
 */
export async function refuseSecondUse(
  disk: Disk,
  folder: string,
  request: SubmitRequest,
  where: { readonly serviceUrl: string; readonly project?: string | undefined },
): Promise<void> {
  const { idempotencyKey } = request;
  if (idempotencyKey === undefined) return;
  const { intents } = outboxLayout(folder);
  const names = await disk.list(intents).catch(() => []);
  const newest = names.filter((name) => intentFileParts(name) !== undefined).slice(-LOOKED_AT);
  for (const name of newest.reverse()) {
    const content = await disk.readFile(join(intents, name)).catch(() => undefined);
    for (const { record } of content ? readIntents(content).open : []) {
      if (record.body.idempotencyKey !== idempotencyKey || !samePlace(record, where)) continue;
      if (said(record.body) === said(request)) return;
      throw new TaskError(
        'IDEMPOTENCY_CONFLICT',
        `Another request waits in ${folder} under the idempotency key ${idempotencyKey} since ${record.storedAt}. This one is not stored.`,
        { hint: problemCodes.IDEMPOTENCY_CONFLICT.next, details: { idempotencyKey, folder } },
      );
    }
  }
}

function samePlace(
  { serviceUrl, project }: IntentRecord,
  where: { readonly serviceUrl: string; readonly project?: string | undefined },
): boolean {
  return serviceUrl === where.serviceUrl && project === where.project;
}

/** As the control plane compares requests. */
function said({ idempotencyKey: _, ...rest }: SubmitRequest): string {
  return canonical(rest);
}

/** Files: some 50 ms on a slow disk. */
const LOOKED_AT = 500;
