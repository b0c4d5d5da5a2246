import { keyDefaults } from '../core/defaults.ts';
import type { Services } from './services.ts';

/**
 * Looks after keys. Woken by time, every `keyDefaults.lookEveryMs`: ends what goes on with a key that another process
 * has revoked, and now and then writes down when keys were used last. Ends with `stop`, which writes it down too.
 */
export class KeyLoop {
  readonly #services: Services;
  #stop: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #revoked = 0;

  constructor(services: Services) {
    this.#services = services;
  }

  async start(): Promise<void> {
    if (this.#stop) return;
    this.#stop = new AbortController();
    this.#revoked = await this.#services.store.countRevokedKeys();
    this.#running = this.#run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    if (!this.#stop || this.#stop.signal.aborted) return this.#running;
    this.#stop.abort();
    await this.#running;
    await this.#keep();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, keyUse } = this.#services;
    let keptAt = clock.now();
    while (await clock.sleep(keyDefaults.lookEveryMs, signal)) {
      await this.#look();
      if (clock.now() - keptAt < keyDefaults.usedGapMs) continue;
      keptAt = clock.now();
      keyUse.forget();
      await this.#keep();
    }
  }

  async #look(): Promise<void> {
    const { store, keyWatch, log } = this.#services;
    try {
      const revoked = await store.countRevokedKeys();
      if (revoked === this.#revoked) return;
      this.#revoked = revoked;
      for (const { id, name } of await keyWatch.lookAtAll())
        log.info('key.found-ended', `Key ${id} ("${name}") has ended: its streams were cut.`);
    } catch (error) {
      // Asked again at the next look; a store whose files are lost has told so itself.
      if (!store.lost)
        log.warn('key.look-failed', 'Revoked keys could not be looked for.', { error });
    }
  }

  /** For people only: what a full disk keeps from being written is written later. */
  async #keep(): Promise<void> {
    const { keyUse, log, store } = this.#services;
    try {
      await keyUse.keep();
    } catch (error) {
      if (!store.lost)
        log.debug('key.use-not-kept', 'When keys were used last could not be written down.', {
          error,
        });
    }
  }
}
