import type { Clock } from '../../ports/clock.ts';
import { InterlockTransport } from '../../transports/interlock.ts';
import { type Check, ok } from './check.ts';

/** What the worker's wire can keep, as its transport says. Nothing is sent. */
export function checkWire(serviceUrl: string, insecureHttp: boolean, clock: Clock): Check {
  const { promises } = new InterlockTransport({
    serviceUrl,
    insecureHttp,
    clock,
    key: { current: () => '', reload: async () => undefined },
    fetch: () => Promise.reject(new Error('never called')),
  });
  const kept = Object.entries(promises).filter(([, keeps]) => keeps);
  const lacks = Object.entries(promises).filter(([, keeps]) => !keeps);
  const words = (list: typeof kept) => list.map(([name]) => name).join(', ');
  const rest = lacks.length > 0 ? `; it has no ${words(lacks)}` : '';
  return ok('transport', `interlock keeps ${words(kept)}${rest}`);
}
