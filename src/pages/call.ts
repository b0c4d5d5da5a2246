import type { CallAnswer, OperationId } from '../contract/operations.ts';
import { makeProblem, type Problem } from '../contract/problems.ts';
import type { KeyRow } from '../ports/store.ts';

export interface CallWith {
  readonly params?: Readonly<Record<string, string>>;
  /** A list is sent as its name several times. */
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** As a call of the contract is answered, before anybody has read it. */
export interface RawAnswer {
  readonly status: number;
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
}

/** Makes a call inside the process: through the same checks, lanes and routes as one that comes over HTTP. Never rejects. */
export type CallAs = (who: KeyRow, id: OperationId, call: CallWith) => Promise<RawAnswer>;

/** A call's answer, or the problem it was refused with; that can be given back as the page's answer as it is. */
export type Called<K extends OperationId> =
  | { readonly ok: true; readonly status: number; readonly value: CallAnswer<K> }
  | { readonly ok: false; readonly problem: Problem };

export async function called<K extends OperationId>(
  callAs: CallAs,
  who: KeyRow,
  id: K,
  call: CallWith,
): Promise<Called<K>> {
  const { status, body } = await callAs(who, id, call);
  if (typeof body !== 'string')
    return {
      ok: false,
      problem: makeProblem('INTERNAL', `${id} is no call that a page can read.`),
    };
  // The control plane's own, so it has the contract's shape.
  const value = JSON.parse(body);
  return status < 400 ? { ok: true, status, value } : { ok: false, problem: value as Problem };
}
