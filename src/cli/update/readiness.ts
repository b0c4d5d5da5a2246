import type { Clock } from '../../ports/clock.ts';
import { readBody } from '../../wire/body.ts';
import { explain } from '../../wire/fault.ts';
import type { WireFetch } from '../../wire/fetch.ts';
import { Limit } from '../../wire/limit.ts';
import type { Supervisor, Verdict } from './supervisor.ts';

export interface ReadinessPorts {
  readonly clock: Clock;
  readonly fetch: WireFetch;
}

/** Whether a worker says of itself that it works: `GET /readyz` at its status port. */
export async function readyz({ clock, fetch }: ReadinessPorts, address: string): Promise<Verdict> {
  const limit = new Limit(clock, ASK_MS, address);
  try {
    const response = await limit.bounded(
      fetch(`${address}/readyz`, {
        method: 'GET',
        headers: { accept: 'application/json, text/plain' },
        signal: limit.signal,
        redirect: 'manual',
      }),
    );
    const { text } = await limit.bounded(readBody(response, TEXT_BYTES));
    if (response.status === 200) return { ok: true };
    return { ok: false, why: `${address}/readyz answers ${response.status}: ${oneLine(text)}` };
  } catch (error) {
    return { ok: false, why: explain(error, address).why };
  } finally {
    limit.end();
  }
}

/**
 * Looks until the service runs and says that it is ready, and still does a moment later; at most until `untilMs` (by
 * `clock.now`). Without a status port its running is all that can be seen.
 */
export async function becomesReady(
  ports: ReadinessPorts,
  service: Supervisor,
  options: {
    readonly identity: string | undefined;
    readonly askStatus: boolean;
    readonly untilMs: number;
  },
): Promise<Verdict> {
  const { clock } = ports;
  let good = 0;
  for (;;) {
    const runs = await service.running(options.identity);
    const state = runs.ok && options.askStatus ? await saysReady(ports, service) : runs;
    good = state.ok ? good + 1 : 0;
    if (good >= GOOD_LOOKS) return state;
    if (clock.now() >= options.untilMs) return state.ok ? state : { ok: false, why: state.why };
    await clock.sleep(LOOK_MS);
  }
}

/** By its status port. */
export async function saysReady(ports: ReadinessPorts, service: Supervisor): Promise<Verdict> {
  const address = await service.status();
  if (address !== undefined) return readyz(ports, address);
  return { ok: false, why: `the status port of ${service.name} is not there yet` };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 300) || 'no words';
}

const LOOK_MS = 500;
/** A program that dies with its first work has run for a moment too. */
const GOOD_LOOKS = 3;
const ASK_MS = 5_000;
const TEXT_BYTES = 65_536;
