import { feedsWatchdog, readiness, stall } from '../../core/readiness.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Worker } from '../../worker/worker.ts';
import { type Notify, serviceNotify } from './notify.ts';
import { statusText } from './status-text.ts';

/** Keeps the service manager told how the worker is. Where nobody listens, all of it does nothing. */
export interface ServiceTeller {
  /** All loops run. Also while the control plane is away: a machine that starts without a network is no failed unit. */
  ready(worker: Watched): void;
  /** A reload began. */
  reloading(): void;
  /** It is over, well or not. */
  reloaded(says: string): void;
  /** Resolves when the last word is told, or after a second; no more are said. */
  end(): Promise<void>;
}

type Watched = Pick<Worker, 'status' | 'contact'>;

export function tellService(from: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  readonly log: Log;
}): ServiceTeller {
  const notify = serviceNotify(from);
  if (!notify) return SILENT;
  notify.say('STATUS=Starting: spool and handlers are looked at.');
  const over = new AbortController();
  return {
    ready: (worker) => {
      notify.say('READY=1', 'STATUS=Started: asks the control plane for work.');
      void watchService(worker, notify, from, over.signal);
    },
    reloading: () => notify.say('RELOADING=1', 'STATUS=Reading settings, keys and handlers again.'),
    reloaded: (says) => notify.say('READY=1', `STATUS=${oneLine(says)}`),
    end: async () => {
      over.abort();
      await Promise.race([notify.told(), from.clock.sleep(LAST_WORD_MS)]);
    },
  };
}

const SILENT: ServiceTeller = {
  ready: () => {},
  reloading: () => {},
  reloaded: () => {},
  end: async () => {},
};

/** Tells what changes, and feeds the watchdog, until `over`. */
export async function watchService(
  worker: Watched,
  notify: Pick<Notify, 'say' | 'watchdogMs'>,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Log, 'error'> },
  over: AbortSignal,
): Promise<void> {
  // As the manual advises: so that one late message ends nothing.
  const feedEveryMs = (notify.watchdogMs ?? Number.POSITIVE_INFINITY) / 3;
  let fedAt = Number.NEGATIVE_INFINITY;
  // What is told with READY=1 is about a worker that has heard nothing yet: the next word comes soon.
  let told = { text: '', at: Number.NEGATIVE_INFINITY };
  let stopping = false;
  let hungry = false;
  while (await clock.sleep(Math.min(LOOK_MS, feedEveryMs), over)) {
    const now = clock.now();
    if (notify.watchdogMs !== undefined && now - fedAt >= feedEveryMs) {
      const contact = worker.contact();
      const feed = feedsWatchdog(contact);
      if (feed) notify.say('WATCHDOG=1');
      else if (!hungry)
        log.error(
          'watchdog.not-fed',
          `The watchdog is not fed, so systemd will start this worker again: ${stall(contact) ?? 'no claim or renewal has succeeded for a long time, and nothing is held that a restart could harm.'}`,
        );
      hungry = !feed;
      fedAt = now;
    }
    if (!stopping && worker.status().state === 'draining') {
      stopping = true;
      // Its drain timeout may be another one by now than when the unit was written.
      const usec = Math.ceil((worker.status().drain.atMostMs + END_MARGIN_MS) * 1_000);
      notify.say('STOPPING=1', `EXTEND_TIMEOUT_USEC=${usec}`, `STATUS=${textOf(worker)}`);
      told = { text: textOf(worker), at: now };
    }
    const text = textOf(worker);
    if (text !== told.text && now - told.at >= STATUS_GAP_MS) {
      notify.say(`STATUS=${text}`);
      told = { text, at: now };
    }
  }
}

function textOf(worker: Watched): string {
  return oneLine(statusText(worker.status(), readiness(worker.contact())));
}

/** A new line would begin another word of the protocol. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be told
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, TEXT_CHARS);
}

/** How often it is looked whether there is something to tell. */
const LOOK_MS = 1_000;
/** Each message is a process: no more than six a minute, however busy the slots are. */
const STATUS_GAP_MS = 10_000;
/** After the drain: last reports, last words, a slow disk. */
const END_MARGIN_MS = 30_000;
/** The end waits no longer for a manager that does not read. */
const LAST_WORD_MS = 1_000;
/** `systemctl status` shows one line. */
const TEXT_CHARS = 300;
