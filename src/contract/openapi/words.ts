import { BASE_PATH, bounds, CONTRACT_HEADER, CONTRACT_VERSION, limits } from '../limits.ts';
import type { OperationId } from '../operations.ts';
import type { Json } from './schema.ts';

/** What the document says to people. */

export const about = `Wire contract ${CONTRACT_VERSION} between producers, workers and a control plane. All calls lie below \`${BASE_PATH}\`. Who does what and when (fences, replays, leases, gates) is told by the numbered promises of docs/contract.md; where the two differ, a promise wins.

**JSON** is I-JSON in UTF-8: integers beyond 2^53, numbers that no double holds, \`-0\`, names twice in an object and lone surrogates are refused with \`400\` and their path; no JSON Schema can say so. A value is nested ${bounds.valueDepth} levels deep at most, a body ${bounds.jsonDepth}. Names that end in \`Ms\` are whole milliseconds; those that end in \`At\` are instants, RFC 3339 in UTC.

**Bounds.** A body has at most ${limits.batchBytes} bytes, an input or a result ${limits.inlineBytes}, a checkpoint ${limits.checkpointBytes}; \`GET ${BASE_PATH}/\` tells the limits of this control plane. More is \`413\`; an input that is too large refuses only its item of a batch. A request's head is bounded too (\`431\`).

**Unknown fields** are refused in what is submitted and in new keys (\`400\` with the path) and ignored in everything else. Readers of answers ignore fields, events and features that they do not know: within version ${CONTRACT_VERSION} things are only added.

**Refusals** are \`application/problem+json\` with a \`code\` to go by. Beside those named at each call: \`405\` with \`Allow\` for a method that an address does not have, \`404\` for an address that is none, \`415\` for a body that is not JSON or is compressed.`;

export const tags: readonly Json[] = [
  { name: 'service', description: 'What anybody may ask, without a key.' },
  { name: 'producer', description: 'Tasks: submit, look, cancel.' },
  { name: 'operator', description: 'What people do about tasks and workers.' },
  {
    name: 'worker',
    description:
      'A worker’s calls. Every report names `taskId`, `attemptId`, `fence` and `leaseToken`, as the claim gave them.',
  },
  {
    name: 'operations',
    description: 'How the control plane, its queue, its workers and its keys are.',
  },
];

/** Beside the summary: what a caller has to know. */
export const descriptions: Partial<Record<OperationId, string>> = {
  submit:
    'The same `idempotencyKey` with the same request returns the first task with `200`; with another request it is `409`. The key may stand in the header `Idempotency-Key` instead; where both are there they must be the same.',
  submitBatch:
    'Each item is its own transaction and is answered for itself, in order: `status` and `body` are those of the single call.',
  listTasks: 'Go on with `cursor` until an answer has none.',
  taskEvents:
    'Entries are numbered 1, 2, 3 … without gaps. With `waitMs` an answer without news comes after so long.',
  cancelTask:
    'An ended task is `409`. The same `actionId` again gets the first answer. With `ifSeq` a retry or resolve after that entry is `409`, with the present one in `seq`.',
  taskHints:
    'Server-sent events `task` `{taskId, seq, status}` and `ping` `{}`. A hint may be lost: the task is the truth. The stream does not end by itself.',
  retryTask:
    'Only where the task is still at `ifSeq`, else `409` with the present one in `seq`. The same `actionId` again gets the first answer.',
  resolveTask:
    'Only where the task is still at `ifSeq`, else `409` with the present one in `seq`. The same `actionId` again gets the first answer.',
  present:
    'Tells people and hints; nothing is decided by it. A claim or a renewal counts as presence too.',
  claim:
    'The same `requestId` again returns the same attempts that are still alive, never new work. Leases count from the send of the request.',
  reportBatch:
    'Each report is its own transaction and is answered for itself, in order. Only a body that is no JSON, too large or too long is refused as a whole, which refuses no report in it.',
  workerHints:
    'Server-sent events: `wake` `{types}`, `cancel` `{attemptId}`, `drain` `{}`, `ping` `{}` at its beginning and every 15 s. Ignore what you do not know. The stream does not end by itself.',
  newKey: 'The answer is the only one that ever holds the key.',
};

export const contractParameter: Json = {
  name: CONTRACT_HEADER,
  in: 'header',
  required: false,
  description: `The version of the contract that the request speaks; another one is \`426\`.`,
  schema: { type: 'string', enum: [`${CONTRACT_VERSION}`], default: `${CONTRACT_VERSION}` },
};

export const idempotencyParameter: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'In the place of `idempotencyKey` in the body.',
  schema: { type: 'string', minLength: 1, maxLength: bounds.keyChars },
};
