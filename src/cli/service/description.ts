/**
 * A worker as a service of the machine, whichever manager will run it: checked, with whole paths, and no secret in it
 * (what is made of it can be read by everybody).
 */
export interface ServiceDescription {
  /** Of several on one machine; the only one has none. */
  readonly name: string | undefined;
  /** Of the machine, or of one user. */
  readonly scope: 'system' | 'user';
  /** The program by its whole path, then the words that make it a worker with its settings; without the key. */
  readonly command: readonly string[];
  readonly workerId: string;
  readonly handlers: string;
  /** Holds the key. Only the service manager, or the worker, has to be able to read it. */
  readonly keyFile: string;
  /** `install` has put it there (`--copy-key`), so `uninstall` takes it away. */
  readonly keyCopied?: boolean;
  readonly url: string;
  /** Variables for the worker and its handlers, one `NAME=value` a line: proxies, secrets of handlers. */
  readonly environmentFile: string | undefined;
  /** A user that is there; `undefined`: one of its own, made by the manager where it can. */
  readonly runAs: string | undefined;
  /** Further groups, as those of graphics cards. */
  readonly groups: readonly string[];
  /** Handlers reach devices of the machine: graphics cards, serial ports. */
  readonly devices: boolean;
  /** Where its spool lies, always as a whole path. */
  readonly spool: string;
  /** Somebody has named it; else it is the manager's own place, or the user's. */
  readonly spoolNamed: boolean;
  /** All that it reads lies there: program, handlers, certificates, the config file. */
  readonly reads: readonly string[];
  readonly drainTimeoutMs: number;
}

/** How a kind of manager calls it. */
export const serviceKinds = ['systemd', 'launchd', 'windows'] as const;
export type ServiceKind = (typeof serviceKinds)[number];

/** First words of every file that we write, by which it is known to be ours. */
export const MARK = 'Written by interlock-worker service install';

/** What the other commands have to know of an installed service; it stands in the file as a comment. */
export interface ServiceFacts {
  readonly workerId: string;
  readonly spool: string;
  readonly keyFile: string;
  readonly keyCopied?: boolean;
}

/** As one line that fits into comments of units and of XML, where two hyphens may not stand together. */
export function factsLine({ workerId, spool, keyFile, keyCopied }: ServiceFacts): string {
  const copied = keyCopied ? { keyCopied } : {};
  const json = JSON.stringify({ workerId, spool, keyFile, ...copied }).replace(/--/g, '-\\u002d');
  return `interlock: ${json}`;
}

/** `undefined` where the file is not one of ours. */
export function factsIn(text: string): ServiceFacts | undefined {
  const json = /\binterlock: (\{.*\})/.exec(text)?.[1];
  if (json === undefined || !text.includes(MARK)) return undefined;
  try {
    const found = JSON.parse(json) as Partial<Record<keyof ServiceFacts, unknown>>;
    const { workerId, spool, keyFile } = found;
    const whole = [workerId, spool, keyFile].every((one) => typeof one === 'string');
    return whole ? (found as ServiceFacts) : undefined;
  } catch {
    return undefined;
  }
}

/** `interlock-worker`, `interlock-worker-gpu`. */
export function serviceName(name: string | undefined): string {
  return name === undefined ? 'interlock-worker' : `interlock-worker-${name}`;
}

/** Folder of the state of one service, by its last word. Two services of own users cannot share one. */
export function stateName(name: string | undefined): string {
  return name === undefined ? 'interlock' : `interlock-${name}`;
}

/** How long the manager waits for the end: the drain, the last reports, and as much again as a slow disk may take. */
export function stopMs({ drainTimeoutMs }: Pick<ServiceDescription, 'drainTimeoutMs'>): number {
  return drainTimeoutMs + STOP_MARGIN_MS;
}

/**
 * After the drain's end the worker waits 5 s for killed handlers, 10 s for its last reports, 1 s each for a last word and
 * a goodbye; a machine that writes to a slow disk needs longer for all of it.
 */
const STOP_MARGIN_MS = 30_000;
