import type { Command, OptionSpec } from './command.ts';
import { type SettingName, settingTable } from './setting-table.ts';

/** What every command takes. */
const commonOptions = {
  json: { form: 'switch', help: 'Answer in JSON, errors too (on stderr)' },
  debug: { form: 'switch', help: 'Show the stack of an error' },
  config: {
    form: 'text',
    argument: 'file',
    help: 'Config file with settings [none] (INTERLOCK_CONFIG)',
  },
  profile: {
    form: 'text',
    argument: 'file',
    help: 'Profile with address and keys [.interlock/profile.json, here or above] (INTERLOCK_PROFILE)',
  },
} as const satisfies Record<string, OptionSpec>;

export interface Flag extends OptionSpec {
  readonly name: string;
  readonly group: string;
}

/** Every flag of a command: its own, its settings, the common ones. */
export function flagsOf(command: Command): Flag[] {
  const own = Object.entries(command.options ?? {});
  const settings = (command.settings ?? []).map(settingFlag);
  return [
    ...own.map(([name, spec]) => ({ ...spec, name, group: 'Options' })),
    ...settings,
    ...Object.entries(commonOptions).map(([name, spec]) => ({ ...spec, name, group: 'Common' })),
  ];
}

function settingFlag(name: SettingName): Flag {
  const { flag, form, argument, help, env, fallbackWords } = settingTable[name];
  return {
    name: flag,
    form,
    ...(argument && { argument }),
    help: `${help} [${fallbackWords}] (${env})`,
    group: 'Settings',
  };
}
