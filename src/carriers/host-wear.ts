/** When a handler host has served long enough and a new one takes its place, purely. Asked between calls, never in one. */
export interface HostWear {
  readonly calls: number;
  readonly ageMs: number;
  /** Resident memory at its first look and now; `undefined` where the system does not tell. */
  readonly firstBytes: number | undefined;
  readonly nowBytes: number | undefined;
}

export interface WearLimits {
  readonly callsPerHost: number;
  readonly maxAgeMs: number;
  readonly growthBytes: number;
  readonly growthFromMs: number;
}

/** Why it is replaced, for the log; `undefined` while it is not. */
export function wornOut(host: HostWear, limits: WearLimits): string | undefined {
  if (host.calls >= limits.callsPerHost) return 'it has had its number of calls';
  if (host.ageMs >= limits.maxAgeMs) return 'it has reached its age';
  const { firstBytes, nowBytes } = host;
  if (firstBytes === undefined || nowBytes === undefined) return undefined;
  const grown = nowBytes - firstBytes;
  if (grown < limits.growthBytes || host.ageMs < limits.growthFromMs) return undefined;
  return `its memory has grown by ${mib(grown)} MiB, to ${mib(nowBytes)}`;
}

function mib(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}
