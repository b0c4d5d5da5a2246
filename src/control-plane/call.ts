import type { Operation, OperationId } from '../contract/operations.ts';
import type { KeyRow } from '../ports/store.ts';
import type { Answer, Refusal } from './answer.ts';
import type { Body } from './body.ts';
import type { CallRequest } from './call-request.ts';
import type { Services } from './services.ts';
import type { Turn } from './turns.ts';

/** One request, checked as far as the table of operations tells. */
export interface Call {
  readonly services: Services;
  readonly operation: Operation;
  readonly request: CallRequest;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  /** As the operation's query schema gives it. */
  readonly query: unknown;
  /** The body as it came; absent where the operation has none. */
  readonly body: Body;
}

export interface KeyedCall extends Call {
  readonly key: KeyRow;
  /** `keyWatch.revocations` before the key was read. */
  readonly keySeen: number;
  readonly turn: Turn;
}

export type Route = (call: KeyedCall) => Promise<Answer | Refusal>;
export type OpenRoute = (call: Call) => Promise<Answer | Refusal>;

/** Operations that ask for no key. */
export type OpenOperationId = 'discover' | 'openapi';
export type KeyedOperationId = Exclude<OperationId, OpenOperationId>;
