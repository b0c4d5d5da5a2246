/**
 * Hears of an abort. Many who wait for the same signal share one listener: Node's `addEventListener` looks through all that
 * are there, so that ten thousand calls with one signal would hold the thread for seconds.
 * @returns leaves nothing behind; twice is fine.
 */
export function onAbort(signal: AbortSignal | undefined, told: () => void): () => void {
  if (signal === undefined) return NOTHING;
  const waiting = waitingFor.get(signal) ?? listenTo(signal);
  const one = { told };
  waiting.all.add(one);
  return () => {
    if (!waiting.all.delete(one) || waiting.all.size > 0) return;
    signal.removeEventListener('abort', waiting.listener);
    waitingFor.delete(signal);
  };
}

interface Waiting {
  readonly all: Set<{ readonly told: () => void }>;
  readonly listener: () => void;
}

/** Only those for whom somebody waits. */
const waitingFor = new WeakMap<AbortSignal, Waiting>();

function listenTo(signal: AbortSignal): Waiting {
  const all: Waiting['all'] = new Set();
  const listener = () => {
    for (const { told } of all) told();
  };
  const waiting = { all, listener };
  waitingFor.set(signal, waiting);
  signal.addEventListener('abort', listener);
  return waiting;
}

const NOTHING = () => {};
