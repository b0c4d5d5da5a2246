import { spoolDefaults } from '../core/defaults.ts';
import type { Clock, Timer } from '../ports/clock.ts';

/**
 * Whether the spool can take more, in words if not. After a failed write, and while there is no reserve, it is tried again
 * every few seconds, since a worker that claims nothing meanwhile would never write, and so never find out.
 */
export class Health {
  readonly #clock: Clock;
  readonly #probe: () => Promise<void>;
  readonly #tell: (why: string | undefined) => void;
  #failed: string | undefined;
  #short: string | undefined;
  #full: string | undefined;
  #lost: string | undefined;
  #timer: Timer | undefined;
  #told: string | undefined;
  #probing = false;
  #stopped = false;

  constructor(clock: Clock, probe: () => Promise<void>, tell: (why: string | undefined) => void) {
    this.#clock = clock;
    this.#probe = probe;
    this.#tell = tell;
  }

  /** `undefined`: all is well. */
  get why(): string | undefined {
    return this.#lost ?? this.#failed ?? this.#short ?? this.#full;
  }

  get lost(): string | undefined {
    return this.#lost;
  }

  worked(): void {
    this.#failed = undefined;
    if (this.#short === undefined) this.#disarm();
    this.#changed();
  }

  failed(why: string): void {
    this.#failed = why;
    this.#arm();
    this.#changed();
  }

  /** There is no reserve: what runs can still be written, perhaps, and nothing new begins. */
  short(why: string): void {
    this.#short = why;
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
    this.#disarm();
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    if (this.#stopped || this.#probing) return;
    this.#timer ??= this.#clock.timer(spoolDefaults.probeEveryMs, () => {
      this.#timer = undefined;
      this.#probing = true;
      this.#probe().then(
        () => this.#probed(true),
        () => this.#probed(false),
      );
    });
  }

  #probed(well: boolean): void {
    this.#probing = false;
    if (!well) {
      this.#arm();
      return;
    }
    this.#short = undefined;
    this.worked();
  }

  /** The words of `full` change with every report: of that only the coming and going is told. */
  #changed(): void {
    const key = this.#lost ?? this.#failed ?? this.#short ?? (this.#full && 'full');
    if (key === this.#told) return;
    this.#told = key;
    this.#tell(this.why);
  }
}
