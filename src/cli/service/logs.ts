import { join } from 'node:path';
import { papersOf, type ServiceId } from './papers.ts';
import { powershell, powershellText } from './powershell.ts';
import type { ServiceWorld } from './world.ts';

/** The command that shows the log of a service, where its manager keeps one. */
export function logCommand(
  id: ServiceId,
  world: ServiceWorld,
  { lines, follow }: { readonly lines: number; readonly follow: boolean },
): readonly string[] {
  const { called, log } = papersOf(id, world);
  if (id.kind === 'systemd') {
    const whose = id.scope === 'user' ? ['--user', '--user-unit', called] : ['--unit', called];
    return [
      'journalctl',
      ...whose,
      '--lines',
      String(lines),
      ...(follow ? ['--follow'] : []),
      '--no-pager',
      '--output',
      'cat',
    ];
  }
  const file = join(world.root, log ?? '');
  if (id.kind === 'launchd') return ['tail', '-n', String(lines), ...(follow ? ['-F'] : []), file];
  const path = powershellText(log ?? '');
  return powershell(
    `Get-Content -LiteralPath ${path} -Encoding UTF8 -Tail ${lines}${follow ? ' -Wait' : ''}`,
  );
}
