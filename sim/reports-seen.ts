import type { History, HttpCall } from './history.ts';

/** One report as it arrived at the control plane, and what was answered. */
export interface ReportSeen {
  readonly call: HttpCall;
  readonly at: number;
  readonly op: string;
  readonly attemptId: string;
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are of every shape
  readonly answer: any;
}

/** Every arrival of every report, single or in a batch. */
export function* reportsSeen(history: History): Generator<ReportSeen> {
  for (const call of history.calls) {
    if (!call.path.startsWith('/attempts/')) continue;
    for (const { at, status, answer } of call.arrivals) {
      if (call.path !== '/attempts/batch') {
        const [, , attemptId = '', op = ''] = call.path.split('/');
        yield { call, at, op, attemptId, status, answer };
        continue;
      }
      const results = (answer as { results?: { status: number; body: unknown }[] })?.results ?? [];
      for (const [i, { op, attemptId }] of call.body.reports.entries()) {
        const result = results[i];
        if (result) yield { call, at, op, attemptId, status: result.status, answer: result.body };
      }
    }
  }
}
