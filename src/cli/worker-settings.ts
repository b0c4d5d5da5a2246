import type { SettingName } from './setting-table.ts';

/** What a worker is set by; a service of it takes the same along. */
export const workerSettings = [
  'url',
  'keyFile',
  'project',
  'handlers',
  'spool',
  'workerId',
  'maxConcurrent',
  'pools',
  'drainTimeoutMs',
  'stopGraceMs',
  'pollMaxMs',
  'transport',
  'statusListen',
  'logLevel',
  'logFormat',
  'caFile',
  'insecureHttp',
] as const satisfies readonly SettingName[];
