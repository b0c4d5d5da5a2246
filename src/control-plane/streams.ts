import { typeKey } from '../contract/type-key.ts';
import type { KeyRow } from '../ports/store.ts';
import { type Answer, type Refusal, refusal } from './answer.ts';
import { beyondKey } from './auth.ts';
import { EventStream } from './event-stream.ts';
import type { Listener, WorkerListener } from './hub.ts';
import type { Services } from './services.ts';
import { belongsToAnother, superseded } from './sessions.ts';

/** Opens the streams of hints. Each begins with a `ping`, so that its reader sees it open. */

export function openProducerStream(
  services: Services,
  key: KeyRow,
  keySeen: number,
): Answer | Refusal {
  const { hub, clock, timing } = services;
  if (hub.stopped) return stopping();
  const listener: Listener = {
    project: key.project,
    keyId: key.id,
    stream: new EventStream(timing.streamBufferBytes, () => {
      unwatch();
      hub.removeProducer(listener);
    }),
    authorisedAt: clock.now(),
  };
  const unwatch = services.keyWatch.watch(key, keySeen, () => listener.stream.close());
  hub.addProducer(listener);
  return opened(listener);
}

export async function openWorkerStream(
  services: Services,
  key: KeyRow,
  keySeen: number,
  workerId: string,
  sessionId: string,
): Promise<Answer | Refusal> {
  const { hub, clock, timing, store } = services;
  const { project } = key;
  if (hub.stopped) return stopping();
  const beyond = beyondKey(key, { workerId: ['workerId', workerId] });
  if (beyond) return beyond;
  const worker = await store.worker(project, workerId);
  if (worker?.sessionId !== sessionId) {
    if ((await store.session(project, workerId, sessionId))?.superseded)
      return superseded(workerId);
    const keys = { nowMs: await store.nowMs(), keyById: (id: string) => store.keyById(id) };
    const foreign = await belongsToAnother(keys, key, worker, timing);
    if (foreign) return foreign;
  }
  const listener: WorkerListener = {
    project,
    keyId: key.id,
    workerId,
    sessionId,
    limits: key.limits,
    interest: undefined,
    stream: new EventStream(timing.streamBufferBytes, () => {
      unwatch();
      hub.removeWorker(listener);
    }),
    authorisedAt: clock.now(),
  };
  const unwatch = services.keyWatch.watch(key, keySeen, () => listener.stream.close());
  hub.addWorker(listener);
  // What it said before it listened; its next claim tells more.
  if (worker?.present && worker.sessionId === sessionId && listener.interest === undefined) {
    const { pools, slots, state } = worker.present;
    const handlers = await store.handlers(project, workerId);
    listener.interest ??= {
      pools: new Set(pools),
      types: new Set(handlers.map((h) => typeKey(h.type, h.schemaVersion))),
      freeSlots: Math.max(0, slots.max - slots.busy),
      draining: state === 'draining',
    };
  }
  if (worker?.drainSessionId === sessionId) listener.stream.send('drain', {});
  return opened(listener);
}

function opened({ stream }: Listener): Answer {
  stream.send('ping', {});
  return {
    status: 200,
    body: stream.body,
    type: 'text/event-stream',
    // The second is for proxies that would gather the stream.
    headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  };
}

function stopping(): Refusal {
  return refusal('UNAVAILABLE', 'The control plane is stopping.', undefined, {
    'Retry-After': '1',
  });
}
