import { hostPort } from '../../wire/service-url.ts';

/** What `systemctl show` prints, read. Pure. */
export function properties(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    // ExecStart may be there several times: the first is the program.
    if (at > 0 && !found.has(line.slice(0, at))) found.set(line.slice(0, at), line.slice(at + 1));
  }
  return found;
}

/** `{ path=/usr/local/bin/interlock-worker ; argv[]=… --status-listen 127.0.0.1:7421 ; … }` */
export function execStart(value: string | undefined): { path: string; argv: string } | undefined {
  const [, path, argv] = /^\{ path=(.*?) ; argv\[\]=(.*?) ; ignore_errors=/.exec(value ?? '') ?? [];
  return path === undefined || argv === undefined ? undefined : { path, argv };
}

/** The address of the status port, in the command line or the environment of a unit. */
export function statusAddress(argv: string, environment: string): string | undefined {
  const said =
    flagValue(argv, 'status-listen') ??
    /(?:^|\s)"?INTERLOCK_STATUS_LISTEN=([^\s"]+)/.exec(environment)?.[1];
  return said === undefined ? undefined : addressOf(said);
}

/** `127.0.0.1:7421`, `[::1]:7421`, `7421` → `http://…`; what listens everywhere is asked at home. */
export function addressOf(listen: string): string | undefined {
  const [, host = '127.0.0.1', port] = /^(?:(\[[^\]]+\]|[^:]+):)?(\d{1,5})$/.exec(listen) ?? [];
  // Port 0 is one that the system chooses.
  return port === undefined || port === '0'
    ? undefined
    : addressAt(host.replace(/^\[|\]$/g, ''), port);
}

export function addressAt(host: string, port: number | string): string {
  const at = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${hostPort(at, port)}`;
}

/** `/opt/x --spool /srv/spool`: the value of a flag in a command line. */
export function flagValue(argv: string, flag: string): string | undefined {
  return new RegExp(`(?:^|\\s)--${flag}[= ]"?([^\\s"]+)`).exec(argv)?.[1];
}

/** `1min 30s`, `10min`, `infinity` → milliseconds; `undefined` for what is none. */
export function timeSpanMs(text: string | undefined): number | undefined {
  if (text === 'infinity') return Number.POSITIVE_INFINITY;
  let ms = 0;
  const words = (text ?? '').trim().split(/\s+/);
  for (const word of words) {
    const [, count, unit] = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(word) ?? [];
    const one = UNIT_MS[unit ?? ''];
    if (count === undefined || one === undefined) return undefined;
    ms += Number(count) * one;
  }
  return ms;
}

const UNIT_MS: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
