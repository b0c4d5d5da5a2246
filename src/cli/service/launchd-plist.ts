import { factsLine, MARK, type ServiceDescription, serviceName, stopMs } from './description.ts';
import { fileText } from './file-text.ts';
import { MANAGER_VARIABLE } from './manager.ts';
import { xmlText } from './xml.ts';

/** `dev.interlock.worker`, `dev.interlock.worker.gpu`. */
export function launchdLabel(name: string | undefined): string {
  return name === undefined ? 'dev.interlock.worker' : `dev.interlock.worker.${name}`;
}

/** launchd starts a program again no sooner than this; its own default is 10. */
const THROTTLE_S = 10;

/**
 * A property list for launchd, of the machine (a daemon) or of a user (an agent).
 * @param logFile gets stdout and stderr.
 */
export function launchdPlist(service: ServiceDescription, logFile: string): string {
  const { command, keyFile, name, runAs, groups, scope } = service;
  const [group] = groups;
  return fileText([
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    `<!-- ${MARK}; run it again to change this. -->`,
    `<!-- ${factsLine(service)} -->`,
    '<plist version="1.0">',
    '<dict>',
    ...entry('Label', string(launchdLabel(name))),
    ...entry('ProgramArguments', [
      '<array>',
      ...[...command, '--key-file', keyFile].map((word) => `  ${string(word)}`),
      '</array>',
    ]),
    ...entry('EnvironmentVariables', [
      '<dict>',
      ...entry(MANAGER_VARIABLE, string('launchd')),
      '</dict>',
    ]),
    ...(scope === 'system' && runAs !== undefined ? entry('UserName', string(runAs)) : []),
    ...(scope === 'system' && group !== undefined ? entry('GroupName', string(group)) : []),
    '  <!-- Ends after which nobody may start it again are told to launchd as 0 (docs/service.md). -->',
    ...entry('KeepAlive', ['<dict>', ...entry('SuccessfulExit', '<false/>'), '</dict>']),
    ...entry('RunAtLoad', '<true/>'),
    ...entry('ThrottleInterval', integer(THROTTLE_S)),
    '  <!-- Longer than the drain may take. -->',
    ...entry('ExitTimeOut', integer(Math.ceil(stopMs(service) / 1_000))),
    // Standard would slow down disk and processor for what is in the background.
    ...entry('ProcessType', string('Interactive')),
    ...entry('Umask', integer(0o077)),
    ...entry('SoftResourceLimits', [
      '<dict>',
      ...entry('NumberOfFiles', integer(65_536)),
      '</dict>',
    ]),
    ...entry('StandardOutPath', string(logFile)),
    ...entry('StandardErrorPath', string(logFile)),
    '</dict>',
    '</plist>',
    '',
  ]);
}

function entry(key: string, value: string | readonly string[]): string[] {
  return [`<key>${xmlText(key)}</key>`, ...[value].flat()].map((line) => `  ${line}`);
}

function string(text: string): string {
  return `<string>${xmlText(text)}</string>`;
}

function integer(value: number): string {
  return `<integer>${value}</integer>`;
}

/** Where its log goes: launchd makes the file, not its folder. */
export function launchdLog(
  service: Pick<ServiceDescription, 'name' | 'scope'>,
  home: string,
): string {
  const folder = service.scope === 'system' ? '/Library/Logs' : `${home}/Library/Logs`;
  return `${folder}/interlock/${serviceName(service.name)}.log`;
}
