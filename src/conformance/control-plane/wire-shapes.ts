/** What the cases read of answers; written down here again, so that a slip in our own schemas shows. */

export type EffectSafety = 'pure' | 'idempotent' | 'non-idempotent';
export type EffectGate = 'start' | 'effect';

export interface AttemptOffer {
  readonly taskId: string;
  readonly attemptId: string;
  readonly fence: number;
  readonly leaseToken: string;
  readonly leaseMs: number;
  readonly attempt: number;
  readonly type: string;
  readonly schemaVersion: number;
  readonly input: unknown;
  readonly effectKey: string;
  readonly effectSafety: string;
  readonly effectGate: string;
  readonly cancelRequested: boolean;
  readonly [more: string]: unknown;
}

export interface TaskShape {
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly status: string;
  readonly pool: string;
  readonly priority: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly effectKey: string;
  readonly attempts: number;
  readonly undelivered: number;
  readonly seq: number;
  readonly createdAt: string;
  readonly result?: unknown;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly effect?: string;
    readonly begun?: unknown;
    readonly details?: Readonly<Record<string, unknown>>;
    readonly attempt?: number;
  };
  readonly waitingFor?: string;
  readonly [more: string]: unknown;
}

export interface EventShape {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly attemptId?: string;
  readonly fence?: number;
  readonly by: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface KeyShape {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly createdAt: string;
  /** Only when it is made. */
  readonly key: string;
  readonly [more: string]: unknown;
}
