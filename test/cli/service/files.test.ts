import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exitCodes, finalExitCodes } from '../../../src/cli/exit-codes.ts';
import { changedLines } from '../../../src/cli/service/changes.ts';
import { factsIn, factsLine, stopMs } from '../../../src/cli/service/description.ts';
import { fileText } from '../../../src/cli/service/file-text.ts';
import { folderSteps } from '../../../src/cli/service/folders.ts';
import { launchdPlist } from '../../../src/cli/service/launchd-plist.ts';
import { exitForManager } from '../../../src/cli/service/manager.ts';
import { papersOf } from '../../../src/cli/service/papers.ts';
import { powershellText } from '../../../src/cli/service/powershell.ts';
import { systemdUnit } from '../../../src/cli/service/systemd-unit.ts';
import { execWord } from '../../../src/cli/service/systemd-words.ts';
import { windowsCannotSay, windowsTask } from '../../../src/cli/service/windows-task.ts';
import { described, strange } from './given.ts';

const golden = (name: string) => join(import.meta.dirname, 'golden', name);

describe('the unit of systemd', () => {
  it.each([
    ['system.service', systemdUnit(described(), 252)],
    ['strange.service', systemdUnit(strange(), 255)],
    ['user.service', systemdUnit(described({ scope: 'user' }), 252)],
  ])('is written as %s', async (name, text) => {
    await expect(text).toMatchFileSnapshot(golden(name));
  });

  it('is not started again after the codes that the pages tell, and those are the final ones', () => {
    const codes = finalExitCodes.join(' ');
    expect(systemdUnit(described(), 252)).toContain(`RestartPreventExitStatus=${codes}\n`);
    const read = (page: string) =>
      readFileSync(join(import.meta.dirname, '../../../docs', page), 'utf8');
    expect(read('service.md')).toContain(`\n  ${codes} (`);
    expect(read('service.md')).toContain(finalExitCodes.join('|'));
    const said = read('operations.md').replace(/\s+/g, ' ');
    const named = Object.entries(exitCodes).filter(([, { code }]) => finalExitCodes.includes(code));
    const list = named.map(([name, { code }]) => `\`${name}\` (${code})`);
    expect(said).toContain(
      `after every failure but ${list.slice(0, -1).join(', ')} and ${list.at(-1)}`,
    );
    expect(finalExitCodes).toEqual([64, 69, 77, 78, 80, 88]);
  });

  it('gives a stop more time than the drain may take', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), (drainTimeoutMs) => {
        const unit = systemdUnit(described({ drainTimeoutMs }), 252);
        const seconds = Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]);
        expect(seconds * 1_000).toBeGreaterThanOrEqual(drainTimeoutMs + 20_000);
      }),
    );
  });

  it('tells nothing to a systemd that does not know it yet', () => {
    expect(systemdUnit(described(), 253)).not.toContain('RestartSteps');
    expect(systemdUnit(described(), 254)).toContain('RestartSteps');
  });

  it('holds no line but its own, whatever words are in it', () => {
    const printable = fc.string({ unit: 'grapheme' }).filter((text) => !/\p{C}/u.test(text));
    fc.assert(
      fc.property(printable, (word) => {
        const read = readExecWord(execWord(word));
        expect(read).toBe(word);
      }),
    );
  });

  /** As systemd.service(5) says: quotes, C escapes, doubled "%" and "$". */
  function readExecWord(text: string): string {
    const inner = text.startsWith('"') ? text.slice(1, -1) : text;
    return inner.replace(/\\([\\"])|%%|\$\$/g, (found, escaped) => escaped ?? found[0]);
  }
});

describe('what is written for other managers', () => {
  it.each([
    [
      'agent.plist',
      launchdPlist(
        described({ scope: 'user' }),
        '/Users/ada/Library/Logs/interlock/interlock-worker.log',
      ),
    ],
    ['daemon.plist', launchdPlist(strange(), '/Library/Logs/interlock/interlock-worker-gpu.log')],
    ['system.xml', windowsTask(windows(), 'C:\\ProgramData\\interlock\\interlock-worker.log')],
    [
      'user.xml',
      windowsTask(
        windows('user'),
        'C:\\Users\\Ada\\AppData\\Local\\interlock\\interlock-worker.log',
      ),
    ],
  ])('is written as %s', async (name, text) => {
    await expect(text.replaceAll('\r\n', '\n')).toMatchFileSnapshot(golden(name));
  });

  function windows(scope: 'system' | 'user' = 'system') {
    return described({
      scope,
      command: [
        'C:\\Program Files\\Interlock & Co\\interlock-worker.exe',
        'worker',
        '--handlers',
        'C:\\',
      ],
      keyFile: 'C:\\Users\\Ada <ü>\\key',
      spool: 'C:\\ProgramData\\interlock\\spool\\garage',
    });
  }

  it('refuses what cmd.exe would read as a variable or as the end of a word', () => {
    expect(['%PATH%', 'a"b', 'a & b', "it's"].map(windowsCannotSay)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('tells managers that know no codes 0 where nobody may start the worker again', () => {
    const told = (manager: string | undefined) => {
      const env = { INTERLOCK_SERVICE_MANAGER: manager };
      return Object.values(exitCodes).map(({ code }) => exitForManager(code, env));
    };
    const codes = Object.values(exitCodes).map(({ code }) => code);
    expect(told(undefined)).toEqual(codes);
    expect(told('systemd')).toEqual(codes);
    const simple = codes.map((code) => (finalExitCodes.includes(code) ? 0 : code));
    expect(told('launchd')).toEqual(simple);
    expect(told('windows')).toEqual(simple);
  });
});

describe('the facts that a file keeps', () => {
  it('are read back from each kind of file, and fit into comments of XML', () => {
    const service = strange({ spool: '/sp--ool/--->\\"ü', keyFile: 'C:\\keys--\\k' });
    const { workerId, spool, keyFile } = service;
    expect(factsLine(service)).not.toContain('--');
    for (const text of [
      systemdUnit(service, 252),
      launchdPlist(service, '/l'),
      windowsTask(service, 'l'),
    ])
      expect(factsIn(text)).toEqual({ workerId, spool, keyFile });
    expect(factsIn('[Service]\nExecStart=/bin/true\n')).toBeUndefined();
  });

  it('say how long a manager has to wait', () => {
    expect(stopMs(described())).toBe(630_000);
  });
});

it('shows the lines that change, and no comments', () => {
  const before = systemdUnit(described(), 252);
  const after = systemdUnit(described({ drainTimeoutMs: 60_000, keyFile: '/etc/k' }), 252);
  expect(changedLines(before, after)).toEqual([
    '- LoadCredential=worker-key:/etc/interlock/key',
    '- TimeoutStopSec=630s',
    '+ LoadCredential=worker-key:/etc/k',
    '+ TimeoutStopSec=90s',
  ]);
  expect(changedLines(before, before)).toEqual([]);
});

describe('whatever words are in it', () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('/a\nExecStartPre=+/bin/touch /x\n#', 'a\\', '\u{fffe}', '\ud800', 'a\u0085b'),
  );
  const texts = {
    unit: (service: Parameters<typeof systemdUnit>[0]) => systemdUnit(service, 252),
    plist: (service: Parameters<typeof systemdUnit>[0]) => launchdPlist(service, '/l'),
    task: (service: Parameters<typeof systemdUnit>[0]) => windowsTask(service, 'l'),
  };
  const fields = ['workerId', 'url', 'keyFile', 'environmentFile', 'runAs', 'spool'] as const;

  it.each(Object.entries(texts))('a %s has the lines of its own, or is not written', (_, text) => {
    const lines = (given: string) => given.split(/\r\n|\n/).map((line) => line.split(/[=>{ ]/)[0]);
    const whole = lines(text(strange()));
    fc.assert(
      fc.property(fc.constantFrom(...fields), words, (field, word) => {
        let found: string;
        try {
          found = text(strange({ [field]: `/${word}` }));
        } catch (error) {
          expect(error).toMatchObject({ code: 'SERVICE_UNFIT' });
          return;
        }
        expect(lines(found).length).toBe(whole.length);
        expect(found).toSatisfy((all: string) => all.isWellFormed());
      }),
    );
    for (const bad of ['/srv/a\nExecStartPre=+/bin/touch /etc/x\n#', '/\ud800', '/\ufffe'])
      expect(() => text(strange({ spool: bad, keyFile: bad }))).toThrow(/cannot be a line/);
  });

  it('no line of a file takes the next one along', () => {
    expect(() => fileText(['User=a\\', 'b'])).toThrow(/cannot be a line of a service/);
    expect(fileText(['a', 'b'], '\r\n')).toBe('a\r\nb');
  });

  it('a file of variables is no pattern', () => {
    expect(systemdUnit(described({ environmentFile: '/e/[a]*?\\b %i' }), 252)).toContain(
      'EnvironmentFile=/e/\\[a\\]\\*\\?\\\\b %%i\n',
    );
  });
});

describe('folders', () => {
  const world = { uid: 0, home: '/h', env: {} };
  const steps = (kind: 'launchd' | 'windows', given: Parameters<typeof described>[0]) => {
    const id = { kind, name: undefined, scope: 'system' } as const;
    const papers = papersOf(id, world);
    const service = described({ runAs: 'svc', keyFile: papers.keyCopy, ...given });
    return folderSteps(service, id, papers).map((step) => step.join(' '));
  };

  it('of a daemon: root gives away nothing that its user could have made a link, and the copied key', () => {
    const own = '/Library/Application Support/interlock';
    expect(steps('launchd', { spool: `${own}/spool/g`, keyCopied: true })).toEqual([
      `mkdir -p ${own}/spool/g`,
      `chown -h svc ${own}/spool/g`,
      'mkdir -p /Library/Logs/interlock',
      'touch /Library/Logs/interlock/interlock-worker.log',
      'chown -h svc /Library/Logs/interlock/interlock-worker.log',
      `chown -h svc ${own}/interlock-worker.key`,
    ]);
    const named = steps('launchd', { spool: '/Users/svc/spool', spoolNamed: true });
    expect(named[0]).toBe('sudo -n -u svc mkdir -p /Users/svc/spool');
    expect(named.join('\n')).not.toMatch(/chown.*(spool|key)/);
  });

  it('of a task: no shell reads their names, and its account cannot change the task', () => {
    const made = steps('windows', { spool: "C:\\R&D's\\sp’ool", runAs: undefined });
    expect(made).toEqual([
      "powershell.exe -NoProfile -NonInteractive -Command $null = [IO.Directory]::CreateDirectory('C:\\R&D''s\\sp’’ool')",
      "powershell.exe -NoProfile -NonInteractive -Command $null = [IO.Directory]::CreateDirectory('C:\\ProgramData\\interlock\\logs')",
      'icacls C:\\ProgramData\\interlock /grant *S-1-5-19:(OI)(CI)RX',
      "icacls C:\\R&D's\\sp’ool /grant *S-1-5-19:(OI)(CI)M",
      'icacls C:\\ProgramData\\interlock\\logs /grant *S-1-5-19:(OI)(CI)M',
    ]);
    expect(powershellText('a‘b')).toBe("'a‘‘b'");
  });
});
