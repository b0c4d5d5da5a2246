import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceDescription } from '../../../src/cli/service/description.ts';

/** A worker as a service, as tests of the files have it. */
export function described(given: Partial<ServiceDescription> = {}): ServiceDescription {
  return {
    name: undefined,
    scope: 'system',
    command: [
      '/opt/interlock/interlock-worker',
      'worker',
      ...['--worker-id', 'garage', '--handlers', '/srv/handlers'],
    ],
    workerId: 'garage',
    handlers: '/srv/handlers',
    keyFile: '/etc/interlock/key',
    url: 'https://tasks.example.com',
    environmentFile: undefined,
    runAs: undefined,
    groups: [],
    devices: false,
    spool: '/var/lib/interlock/spool/garage',
    spoolNamed: false,
    reads: ['/opt/interlock/interlock-worker', '/srv/handlers'],
    drainTimeoutMs: 600_000,
    ...given,
  };
}

/** With everything in it that some file or shell reads as something else. */
export function strange(given: Partial<ServiceDescription> = {}): ServiceDescription {
  const plain = described();
  return described({
    name: 'gpu',
    command: [
      ...['/opt/my programs/ü 100%/interlock-worker', 'worker', '--worker-id', 'gpu'],
      ...['--handlers', '/srv/my "own" $HOME/%h #1;\\n', '--pool', "it's", '--pool', ''],
    ],
    workerId: 'gpu',
    keyFile: '/etc/inter lock/kéy %i',
    environmentFile: '/etc/inter lock/100%.env',
    groups: ['render', 'video'],
    devices: true,
    runAs: 'interlock',
    spool: '/data/sp ool %s',
    spoolNamed: true,
    reads: [...plain.reads, join('/home', 'ada', 'handlers')],
    drainTimeoutMs: 90_500,
    ...given,
  });
}

/**
 * A folder of programs for a PATH, each a script that writes down how it was called (one line of JSON words each) and then
 * does what `does` says in shell words (by default nothing, with success).
 */
export function fakePrograms(folder: string, does: Readonly<Record<string, string>>) {
  const calls = join(folder, 'calls');
  mkdirSync(folder, { recursive: true });
  writeFileSync(calls, '');
  for (const [name, body] of Object.entries(does)) {
    const script = `#!/bin/sh\n{ printf '%s' ${name}; for word; do printf '\\t%s' "$word"; done; echo; } >>'${calls}'\n${body}\n`;
    writeFileSync(join(folder, name), script);
    chmodSync(join(folder, name), 0o755);
  }
  return {
    path: `${folder}:/usr/bin:/bin`,
    calls: () =>
      readFileSync(calls, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t').join(' ')),
    forget: () => writeFileSync(calls, ''),
  };
}
