import { posix, win32 } from 'node:path';
import type { ServiceDescription } from './description.ts';
import type { CommandLine, ServiceId, ServicePapers } from './papers.ts';
import { powershell, powershellText } from './powershell.ts';

/**
 * Commands that make the folders which a manager does not make by itself, and give the service what it may read and write.
 * systemd makes all of its own. Root gives away nothing below a folder that the service's user could already change: a link
 * of that user would lead to somebody else's.
 */
export function folderSteps(
  service: ServiceDescription,
  { kind, scope }: ServiceId,
  papers: ServicePapers,
): CommandLine[] {
  if (kind === 'systemd') return [];
  if (kind === 'windows') return ofWindows(service, scope, papers);
  const { spool, spoolNamed, runAs, keyCopied, keyFile } = service;
  const log = papers.log ?? '';
  const makes = ['mkdir', '-p', posix.dirname(log)];
  if (scope === 'user' || runAs === undefined) return [['mkdir', '-p', spool], makes];
  const give = (path: string) => ['chown', '-h', runAs, path];
  return [
    // Anywhere: made by the user that is to own it, or already there.
    ...(spoolNamed
      ? [['sudo', '-n', '-u', runAs, 'mkdir', '-p', spool]]
      : [['mkdir', '-p', spool], give(spool)]),
    // The folder stays root's, so the file in it cannot become a link.
    makes,
    ['touch', log],
    give(log),
    ...(keyCopied ? [give(keyFile)] : []),
  ];
}

/** The task's account reads all in our folder, its key for one; it writes spool and log, and not its own task. */
function ofWindows(
  { spool, runAs }: ServiceDescription,
  scope: ServiceId['scope'],
  papers: ServicePapers,
): CommandLine[] {
  const account = runAs ?? '*S-1-5-19';
  const logs = win32.dirname(papers.log ?? '');
  const may = (folder: string, rights: string) => [
    ...['icacls', folder, '/grant', `${account}:(OI)(CI)${rights}`],
  ];
  return [
    ...[spool, logs].map((folder) =>
      powershell(`$null = [IO.Directory]::CreateDirectory(${powershellText(folder)})`),
    ),
    ...(scope === 'system'
      ? [may(win32.dirname(papers.file), 'RX'), may(spool, 'M'), may(logs, 'M')]
      : []),
  ];
}
