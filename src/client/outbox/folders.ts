import type { Disk } from '../../ports/disk.ts';
import type { Log } from '../../ports/log.ts';
import { causeCode } from '../../spool/errors.ts';
import { placeOpenToOthers } from '../../spool/private.ts';
import { diskError, outboxError } from './errors.ts';
import { type OutboxLayout, placeOf } from './layout.ts';

/** Makes the folders of an outbox, also anew where they are removed while a producer uses them. */
export class OutboxFolders {
  readonly #ports: { readonly disk: Disk; readonly log: Log };
  readonly #layout: OutboxLayout;
  #making: Promise<void> | undefined;

  constructor(ports: { readonly disk: Disk; readonly log: Log }, layout: OutboxLayout) {
    this.#ports = ports;
    this.#layout = layout;
  }

  /** Throws `OUTBOX_UNSAFE` or `OUTBOX_UNWRITABLE`. */
  async make(): Promise<void> {
    const { disk } = this.#ports;
    const { folder, intents, refused, corrupt } = this.#layout;
    try {
      const unsafe = await placeOpenToOthers(disk, placeOf(this.#layout), { close: true });
      if (unsafe !== undefined) throw outboxError('OUTBOX_UNSAFE', unsafe);
      for (const one of [folder, intents, refused, corrupt]) await disk.makeFolder(one);
    } catch (cause) {
      throw diskError('OUTBOX_UNWRITABLE', `The outbox ${folder} cannot be made or read`, cause);
    }
  }

  /** Once more with the folders made anew, where they are gone. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (causeCode(cause) !== 'ENOENT') throw cause;
      await this.#makeAnew();
      return work();
    }
  }

  /** Those who see it together make it together. */
  #makeAnew(): Promise<void> {
    this.#making ??= (async () => {
      const { folder } = this.#layout;
      const text = `The outbox ${folder} was removed; it is made anew. What waited in it is gone.`;
      this.#ports.log.error('outbox.removed', text, { folder });
      await this.make();
    })().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }
}
