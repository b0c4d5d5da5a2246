import { factsLine, MARK, type ServiceDescription, serviceName } from './description.ts';
import { fileText } from './file-text.ts';
import { MANAGER_VARIABLE } from './manager.ts';
import { xmlText } from './xml.ts';

/** In a folder of its own in the Task Scheduler's library. */
export function windowsTaskName(name: string | undefined): string {
  return `Interlock\\${serviceName(name)}`;
}

/** The built-in account that may do least and reaches the network as nobody: well-known on every Windows. */
const LOCAL_SERVICE = 'S-1-5-19';

/**
 * A task for the Task Scheduler (schema 1.2): our program does not speak the protocol of Windows services.
 * @param logFile gets stdout and stderr.
 */
export function windowsTask(service: ServiceDescription, logFile: string): string {
  const { workerId, url, scope, runAs } = service;
  const principal =
    scope === 'user'
      ? ['<LogonType>InteractiveToken</LogonType>']
      : [
          `<UserId>${xmlText(runAs ?? LOCAL_SERVICE)}</UserId>`,
          ...(runAs === undefined ? [] : ['<LogonType>S4U</LogonType>']),
        ];
  const lines = [
    '<?xml version="1.0" encoding="UTF-16"?>',
    `<!-- ${factsLine(service)} -->`,
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    '  <RegistrationInfo>',
    `    <Description>${xmlText(`${MARK}. Interlock worker ${workerId} (${url})`)}</Description>`,
    '  </RegistrationInfo>',
    '  <Triggers>',
    scope === 'user'
      ? '    <LogonTrigger><Enabled>true</Enabled></LogonTrigger>'
      : '    <BootTrigger><Enabled>true</Enabled></BootTrigger>',
    '  </Triggers>',
    '  <Principals>',
    '    <Principal id="Worker">',
    ...principal.map((line) => `      ${line}`),
    '      <RunLevel>LeastPrivilege</RunLevel>',
    '    </Principal>',
    '  </Principals>',
    '  <Settings>',
    '    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    '    <AllowHardTerminate>true</AllowHardTerminate>',
    '    <StartWhenAvailable>true</StartWhenAvailable>',
    '    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>',
    '    <AllowStartOnDemand>true</AllowStartOnDemand>',
    '    <Enabled>true</Enabled>',
    '    <RunOnlyIfIdle>false</RunOnlyIfIdle>',
    '    <!-- No limit of time. -->',
    '    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '    <!-- Below that of programs with windows, above that of the background, which starves disk and memory. -->',
    '    <Priority>6</Priority>',
    '    <RestartOnFailure>',
    '      <Interval>PT1M</Interval>',
    '      <Count>999</Count>',
    '    </RestartOnFailure>',
    '  </Settings>',
    '  <Actions Context="Worker">',
    '    <Exec>',
    '      <Command>cmd.exe</Command>',
    `      <Arguments>${xmlText(cmdArguments(service, logFile))}</Arguments>`,
    '    </Exec>',
    '  </Actions>',
    '</Task>',
    '',
  ];
  return fileText(lines, '\r\n');
}

/** What it cannot hold: `%` would be a variable to cmd.exe, and cannot be written otherwise behind /c. */
export function windowsCannotSay(text: string): boolean {
  return /[%"]/.test(text);
}

/** cmd.exe is there for the log alone: the Task Scheduler keeps none. /s takes the outermost quotes away, no others. */
function cmdArguments({ command, keyFile }: ServiceDescription, logFile: string): string {
  const words = [...command, '--key-file', keyFile].map(windowsWord).join(' ');
  return `/d /s /c "set "${MANAGER_VARIABLE}=windows"&& ${words} >> ${windowsWord(logFile)} 2>&1"`;
}

/** Always quoted, so that cmd.exe sees no `&`, `|` or `>`; backslashes before the closing quote count double. */
function windowsWord(text: string): string {
  return `"${text.replace(/\\+$/, '$&$&')}"`;
}
