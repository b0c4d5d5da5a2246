import type { Clock, Timer } from '../../src/ports/clock.ts';
import type { Transport } from '../../src/ports/transport.ts';

/** What ends with a killed process: its timers never fire, what it waits for never comes, and it sends nothing. */
export interface Mortal {
  readonly clock: Clock;
  readonly transport: Transport;
  kill(): void;
}

export function mortal(clock: Clock, transport: Transport): Mortal {
  let dead = false;
  const never = () => new Promise<never>(() => {});
  const alive = async <T>(work: () => Promise<T>): Promise<T> => {
    if (dead) return never();
    const made = await work();
    return dead ? never() : made;
  };
  const abort = new AbortController();
  const timer = (ms: number, fire: () => void): Timer =>
    clock.timer(ms, () => {
      if (!dead) fire();
    });
  return {
    clock: {
      now: () => clock.now(),
      wall: () => clock.wall(),
      timer,
      sleep: (ms, signal) => alive(() => clock.sleep(ms, signal)),
    },
    transport: {
      promises: transport.promises,
      discover: () => alive(() => transport.discover()),
      claim: (request, signal) => alive(() => transport.claim(request, signal)),
      present: (workerId, request) => alive(() => transport.present(workerId, request)),
      report: (report) => alive(() => transport.report(report)),
      reportBatch: (reports) => alive(() => transport.reportBatch(reports)),
      hints: (query, onHint, signal) =>
        alive(() =>
          transport.hints(
            query,
            (hint) => {
              if (!dead) onHint(hint);
            },
            AbortSignal.any([signal, abort.signal]),
          ),
        ),
      reloadKey: () => alive(() => transport.reloadKey()),
      close: () => alive(() => transport.close()),
    },
    kill: () => {
      dead = true;
      abort.abort();
    },
  };
}
