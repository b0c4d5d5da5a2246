/** What can be told of a config file without running anything: each value, what belongs together, files that it names. */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { TaskError } from '../contract/index.ts';
import { withoutStop } from '../contract/sentence.ts';
import { serviceAddress } from '../wire/service-url.ts';
import type { Command } from './command.ts';
import type { ConfigFile } from './config-file.ts';
import type { ConfigProblem } from './config-shape.ts';
import { unusedNames } from './effective.ts';
import { shellWord } from './own-name.ts';
import {
  type SettingName,
  type Surroundings,
  settingNames,
  settingTable,
} from './setting-table.ts';
import { findSetting } from './settings.ts';

export interface ConfigReport {
  readonly file: string;
  readonly problems: readonly ConfigProblem[];
  /** What may be meant so. */
  readonly warnings: readonly ConfigProblem[];
}

/** All that is wrong with a config file, at once. @param reader the command that it is for, if it is for one only */
export function checkConfig(
  config: ConfigFile,
  around: Surroundings,
  reader: Command | undefined,
): ConfigReport {
  const { file, values, lineOf } = config;
  const sources = { flags: {}, env: {}, config, around };
  const told = new Set(config.problems.map(({ path }) => path.replace(/[.[].*/, '')));
  const good = new Map<SettingName, unknown>();
  const problems = [...config.problems];
  const warnings: ConfigProblem[] = [];
  const at = (name: SettingName, says: string, hint: string): ConfigProblem => {
    const path = settingTable[name].flag;
    return { path, line: lineOf(path), says, hint };
  };
  for (const name of settingNames) {
    const { flag } = settingTable[name];
    if (values[flag] === undefined || told.has(flag)) continue;
    const { value, problem, from } = findSetting(name, sources);
    if (!problem) good.set(name, value);
    else
      problems.push(
        at(
          name,
          withoutStop(problem.message).slice(`${from}: `.length),
          problem.hint ?? 'Correct it.',
        ),
      );
  }
  const address = addressTrouble(good);
  if (address?.code === 'INSECURE_HTTP')
    warnings.push(at('url', `is refused: ${withoutStop(address.message)}`, address.hint ?? ''));
  else if (address)
    problems.push(at('url', `is no address: ${withoutStop(address.message)}`, address.hint ?? ''));
  for (const [name, says, hint] of notTogether(good)) problems.push(at(name, says, hint));
  if (othersMayWrite(file))
    warnings.push({
      path: '',
      says: 'can be changed by every user of this machine, who could send keys elsewhere',
      hint: `Close it: chmod o-w ${shellWord(file)}`,
    });
  for (const name of MUST_BE_THERE) {
    const path = good.get(name);
    if (typeof path === 'string' && !existsSync(resolve(around.cwd, path)))
      warnings.push(
        at(
          name,
          `names ${path}, which is not there`,
          'Make it, or name another; on another machine it may be.',
        ),
      );
  }
  for (const name of reader ? unusedNames(reader, { values }) : [])
    warnings.push({
      path: name,
      line: lineOf(name),
      says: `does nothing for ${reader?.path}`,
      hint: 'Leave it, if other commands read this file too.',
    });
  return { file, problems, warnings };
}

/** Windows keeps them apart by other means. */
function othersMayWrite(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & 0o002) !== 0;
}

function addressTrouble(good: ReadonlyMap<SettingName, unknown>): TaskError | undefined {
  const url = good.get('url');
  if (typeof url !== 'string') return undefined;
  try {
    serviceAddress(url, good.get('insecureHttp') === true);
    return undefined;
  } catch (error) {
    if (error instanceof TaskError) return error;
    throw error;
  }
}

/** What a control plane would refuse to start with. */
function notTogether(good: ReadonlyMap<SettingName, unknown>): [SettingName, string, string][] {
  const found: [SettingName, string, string][] = [];
  const [min, usual] = [good.get('leaseMinMs'), good.get('leaseDefaultMs')];
  if (typeof min === 'number' && typeof usual === 'number' && min > usual)
    found.push(['leaseMinMs', 'is longer than "lease-default"', 'Make it the shorter one.']);
  if (good.get('behindProxy') === true && good.has('tlsCert'))
    found.push([
      'behindProxy',
      'and "tls-cert" contradict each other',
      'Leave one out: behind a proxy that speaks TLS, the control plane speaks plain http.',
    ]);
  return found;
}

/** The others are made where they are not there. */
const MUST_BE_THERE: readonly SettingName[] = [
  'keyFile',
  'handlers',
  'caFile',
  'tlsCert',
  'tlsKey',
];
