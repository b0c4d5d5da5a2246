import { spoolDefaults } from '../../core/defaults.ts';
import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * Whether the spool can take more, in words if not. After a failed write it is tried again every few seconds, since
 * a worker that claims nothing while the spool is in trouble would never write, and so never find out.
 */
export class Health {
  readonly #clock: Clock;
  readonly #probe: () => Promise<void>;
  readonly #tell: (why: string | undefined) => void;
  #failed: string | undefined;
  #full: string | undefined;
  #lost: string | undefined;
  #timer: Timer | undefined;
  #told: string | undefined;
  #stopped = false;

  constructor(clock: Clock, probe: () => Promise<void>, tell: (why: string | undefined) => void) {
    this.#clock = clock;
    this.#probe = probe;
    this.#tell = tell;
  }

  /** `undefined`: all is well. */
  get why(): string | undefined {
    return this.#lost ?? this.#failed ?? this.#full;
  }

  get lost(): string | undefined {
    return this.#lost;
  }

  worked(): void {
    this.#failed = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#changed();
  }

  failed(why: string): void {
    this.#failed = why;
    this.#arm();
    this.#changed();
  }

  lose(why: string): void {
    this.#lost = why;
    this.stop();
    this.#changed();
  }

  holds(records: number, bytes: number): void {
    const { pendingRecords, pendingBytes } = spoolDefaults;
    const over = records > pendingRecords || bytes > pendingBytes;
    this.#full = over
      ? `the spool holds ${records} unanswered reports (${Math.round(bytes / 1_048_576)} MB); its bound is ${pendingRecords} or ${pendingBytes / 1_048_576} MB`
      : undefined;
    this.#changed();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#timer ??= this.#clock.timer(spoolDefaults.probeEveryMs, () => {
      this.#timer = undefined;
      this.#probe().then(
        () => this.worked(),
        () => this.#arm(),
      );
    });
  }

  /** The words of `full` change with every report: of that only the coming and going is told. */
  #changed(): void {
    const key = this.#lost ?? this.#failed ?? (this.#full && 'full');
    if (key === this.#told) return;
    this.#told = key;
    this.#tell(this.why);
  }
}
