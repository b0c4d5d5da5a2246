import { text } from '../setting-schemas.ts';
import type { Setting } from '../setting-table.ts';

export const trustSetting: Setting<string, string | undefined> = {
  flag: 'trust',
  env: 'INTERLOCK_TRUST',
  form: 'text',
  argument: 'file',
  path: true,
  help: 'Public keys (PEM) whose signature on a release is believed, instead of those in the executable',
  fallback: () => undefined,
  fallbackWords: 'those in the executable',
  schema: text,
};
