import type { KeyKind } from '../contract/service.ts';
import { isLocalKey, keyState } from '../core/key-rules.ts';
import type { KeyRow } from '../ports/store.ts';
import { PING } from './event-stream.ts';
import type { Hub, Listener, WorkerListener } from './hub.ts';
import type { Services } from './services.ts';

/**
 * Keeps streams alive and honest. Woken by time, every `hintPingMs`: it sends `ping` to each, and asks anew
 * whether key and session may still listen where that is `streamReauthoriseMs` old. Ends with `stop`.
 */
export class PingLoop {
  readonly #services: Services;
  readonly #hub: Hub;
  #stop: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(services: Services) {
    this.#services = services;
    this.#hub = services.hub;
  }

  start(): void {
    if (this.#stop) return;
    this.#stop = new AbortController();
    this.#running = this.#run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop?.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, timing, log } = this.#services;
    while (await clock.sleep(timing.hintPingMs, signal)) {
      // Streams share few keys: each is looked at once in a round.
      const keys = new Map<string, Promise<KeyRow | undefined>>();
      for (const listener of this.#hub.listeners) {
        listener.stream.push(PING);
        if (clock.now() - listener.authorisedAt < timing.streamReauthoriseMs) continue;
        try {
          if (await mayListen(this.#services, listener, keys)) listener.authorisedAt = clock.now();
          else listener.stream.close();
        } catch (error) {
          // Not the stream's fault: it is asked again at the next ping.
          log.warn('hints.reauthorise-failed', 'A stream could not be authorised again.', {
            error,
          });
        }
      }
    }
  }
}

const READERS: readonly KeyKind[] = ['task-producer', 'task-operator', 'admin'];

async function mayListen(
  { store }: Services,
  listener: Listener | WorkerListener,
  keys: Map<string, Promise<KeyRow | undefined>>,
): Promise<boolean> {
  if (isLocalKey(listener.keyId)) return true;
  const look = keys.get(listener.keyId) ?? store.keyById(listener.keyId);
  keys.set(listener.keyId, look);
  const key = await look;
  if (!key || keyState(await store.nowMs(), key) !== 'usable') return false;
  if (!('sessionId' in listener)) return READERS.includes(key.kind);
  const session = await store.session(listener.project, listener.workerId, listener.sessionId);
  return key.kind === 'task-worker' && !session?.superseded;
}
