import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A `systemctl` with one service, which really starts and stops the executable; `journalctl` has what that printed. */
export interface FakeSystemd {
  /** To be put before the PATH. */
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
  /** What was asked of it, one call a line. */
  calls(): string[];
  /** Of the process that runs now. */
  pid(): number | undefined;
}

/**
 * @param exe what the service runs. @param args behind it.
 * @param real it is no script: its process is told, and it has started when it runs (Type=exec).
 */
export function fakeSystemd(
  folder: string,
  exe: string,
  { args = '', real = false }: { args?: string; real?: boolean } = {},
): FakeSystemd {
  const bin = join(folder, 'bin');
  const state = join(folder, 'systemd');
  mkdirSync(bin, { recursive: true });
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, 'active'), 'active\n');
  writeFileSync(join(bin, 'systemctl'), SYSTEMCTL);
  writeFileSync(join(bin, 'journalctl'), '#!/bin/sh\ntail -n 15 "$FAKE/log"\n');
  for (const name of ['systemctl', 'journalctl']) chmodSync(join(bin, name), 0o755);
  const pid = () => Number(readOr(join(state, 'pid'), '0').trim()) || undefined;
  onTestFinished(() => {
    const left = pid();
    if (left !== undefined) {
      try {
        process.kill(left, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  });
  return {
    bin,
    env: { FAKE: state, FAKE_EXE: exe, FAKE_ARGS: args, FAKE_REAL: real ? '1' : '' },
    calls: () => readOr(join(state, 'calls'), '').split('\n').filter(Boolean),
    pid,
  };
}

function readOr(file: string, other: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return other;
  }
}

/** `restart` resolves when the program has written $FAKE/ready, as Type=notify does, or fails when it has ended before. */
const SYSTEMCTL = `#!/bin/sh
echo "$*" >> "$FAKE/calls"
case " $* " in *" --user "*) echo "Failed to connect to bus" >&2; exit 1;; esac
main=0
[ -n "$FAKE_REAL" ] && main=$(cat "$FAKE/pid" 2>/dev/null || echo 0)
case "$*" in
  *list-units*) echo "interlock-worker.service loaded active running A worker" ;;
  *"-p MainPID "*) echo "MainPID=$main" ;;
  *ActiveState,SubState*)
    printf 'ActiveState=%s\\nSubState=x\\nMainPID=%s\\nResult=exit-code\\n' "$(cat "$FAKE/active")" "$main" ;;
  *LoadState*)
    printf 'LoadState=loaded\\nActiveState=%s\\nTimeoutStopUSec=10s\\nEnvironment=\\n' "$(cat "$FAKE/active")"
    echo "ExecStart={ path=$FAKE_EXE ; argv[]=$FAKE_EXE $FAKE_ARGS ; ignore_errors=no ; start_time=[n/a] }" ;;
  *restart*)
    if [ -s "$FAKE/pid" ]; then
      old=$(cat "$FAKE/pid")
      kill -TERM "$old" 2>/dev/null
      # Nobody may be there to ask for one that has ended.
      while kill -0 "$old" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$old/status" 2>/dev/null; do
        sleep 0.05
      done
    fi
    rm -f "$FAKE/ready"
    # shellcheck disable=SC2086
    "$FAKE_EXE" $FAKE_ARGS >> "$FAKE/log" 2>&1 < /dev/null &
    pid=$!
    echo "$pid" > "$FAKE/pid"
    [ -n "$FAKE_REAL" ] && : > "$FAKE/ready"
    while [ ! -e "$FAKE/ready" ]; do
      kill -0 "$pid" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null || {
        echo failed > "$FAKE/active"
        : > "$FAKE/pid"
        echo "Job for interlock-worker.service failed because the control process exited with error code." >&2
        exit 1
      }
      sleep 0.05
    done
    echo active > "$FAKE/active" ;;
esac
exit 0
`;

/** A worker that runs until it is told to stop. */
export function workingExecutable(version: string): string {
  return `#!/bin/sh
if [ "$1" = --version ]; then echo ${version}; exit 0; fi
echo "worker ${version} begins"
: > "$FAKE/ready"
exec sleep 600
`;
}

/** One that starts and ends at once, with words. */
export function brokenExecutable(version: string): string {
  return `#!/bin/sh
if [ "$1" = --version ]; then echo ${version}; exit 0; fi
echo "worker ${version}: the spool is of a later form" >&2
exit 1
`;
}

/** A worker with a status port (the last of its words), which answers `/readyz` with `status`. */
export function tellingExecutable(version: string, status: number): string {
  const program = `
    const { createServer } = require('node:http');
    const [host, port] = process.argv.at(-1).split(':');
    createServer((_, response) => response.writeHead(${status}).end('no claim has succeeded'))
      .listen(Number(port), host, () => require('node:fs').writeFileSync(process.env.FAKE + '/ready', ''));
  `;
  return `#!/bin/sh
if [ "$1" = --version ]; then echo ${version}; exit 0; fi
exec "${process.execPath}" -e "${program.replaceAll('\n', ' ')}" -- "$@"
`;
}
