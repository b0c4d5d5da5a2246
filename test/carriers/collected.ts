import { EventEmitter, once } from 'node:events';
import type {
  Carrier,
  Job,
  JobEnd,
  JobListener,
  LogLine,
  ProgressUpdate,
  RunningJob,
} from '../../src/ports/carrier.ts';

/** A job under test: what its listener was told, and a way to wait for it. */
export interface Collected extends RunningJob {
  readonly told: {
    begun: number;
    effects: number;
    /** Marked as one that begins. */
    giving: number;
    progress: ProgressUpdate[];
    lines: LogLine[];
    /** Calls after `ended`: there must be none. */
    late: string[];
  };
  /** Waits until the listener has been told enough. */
  until(enough: (told: Collected['told']) => boolean): Promise<void>;
  /** The text of all lines. */
  text(): string;
}

let count = 0;

export function startJob(carrier: Carrier, overrides: Partial<Job>): Collected {
  const told: Collected['told'] = {
    begun: 0,
    effects: 0,
    giving: 0,
    progress: [],
    lines: [],
    late: [],
  };
  const news = new EventEmitter();
  let over = false;
  const hear = (what: string, change: () => void) => {
    if (over) told.late.push(what);
    change();
    news.emit('news');
  };
  const listener: JobListener = {
    giving: async () => {
      told.giving++;
    },
    begun: () => hear('begun', () => told.begun++),
    progress: (update) => hear('progress', () => told.progress.push(update)),
    log: (lines) => hear('log', () => told.lines.push(...lines)),
    effectRequested: () => hear('effect', () => told.effects++),
  };
  const running = carrier.start({ ...aJob(), ...overrides }, listener);
  const ended = running.ended.then((end): JobEnd => {
    over = true;
    return end;
  });
  return {
    openGate: () => running.openGate(),
    refuseGate: (why) => running.refuseGate(why),
    stop: (reason, graceMs) => running.stop(reason, graceMs),
    ended,
    get heldUp() {
      return running.heldUp === true;
    },
    get host() {
      return running.host;
    },
    get pid() {
      return running.pid;
    },
    told,
    async until(enough) {
      while (!enough(told)) await once(news, 'news');
    },
    text: () => told.lines.map((line) => line.text).join('\n'),
  };
}

export function aJob(): Job {
  count++;
  return {
    taskId: `tsk_${count}`,
    attemptId: `att_${count}`,
    attempt: 1,
    fence: 1,
    type: 'test/echo',
    schemaVersion: 1,
    effectKey: `tsk_${count}`,
    effectSafety: 'non-idempotent',
    effectGate: 'start',
    labels: {},
    input: {},
  };
}
