import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname, uptime } from 'node:os';
import type { ProcessInfo, ProcessSight } from '../ports/process-info.ts';

/**
 * Linux tells all of it in /proc. macOS tells start times and the boot by its commands. Windows tells only
 * whether a pid is in use: what depends on more is then unknown, and the caller has to wait and see.
 */
export async function systemProcessInfo(
  platform: NodeJS.Platform = process.platform,
): Promise<ProcessInfo> {
  const { look, bootId }: Form = FORMS[platform as keyof typeof FORMS] ?? FORMS.other;
  const sight = await look(process.pid);
  const boot = await bootId();
  const namespace = platform === 'linux' ? attempt(() => readlinkSync('/proc/self/ns/pid')) : '';
  return {
    self: {
      hostName: hostname(),
      pid: process.pid,
      bootedAtMs: Date.now() - Math.round(uptime() * 1_000),
      ...(sight.startTime && { startTime: sight.startTime }),
      ...(boot && { bootId: boot }),
      ...(namespace && { pidNamespace: namespace }),
    },
    look,
  };
}

const FORMS = {
  linux: { look: lookInProc, bootId: async () => attempt(readBootId) },
  darwin: {
    look: lookWithPs,
    bootId: () => said('sysctl', ['-n', 'kern.bootsessionuuid']),
  },
  other: { look: async (pid) => ({ alive: inUse(pid) }), bootId: async () => undefined },
} satisfies Record<string, Form>;

interface Form {
  look(pid: number): Promise<ProcessSight>;
  bootId(): Promise<string | undefined>;
}

function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

async function lookInProc(pid: number): Promise<ProcessSight> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // Other users' processes may be hidden in /proc, but not from a signal.
  const stat = text === undefined ? undefined : parseProcStat(text);
  if (!stat) return { alive: inUse(pid) };
  // Z and X: ended, only its parent has not asked yet.
  return { alive: !/[ZXx]/.test(stat.state), startTime: stat.startTime };
}

/** Reads `/proc/<pid>/stat`. The second field is the program's name and may hold spaces and brackets. */
export function parseProcStat(text: string): { state: string; startTime: string } | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  // Field 22 of the manual: ticks since the boot.
  const startTime = fields[19];
  return state && startTime && /^\d+$/.test(startTime) ? { state, startTime } : undefined;
}

async function lookWithPs(pid: number): Promise<ProcessSight> {
  if (!inUse(pid)) return { alive: false };
  const line = await said('ps', ['-o', 'state=,lstart=', '-p', String(pid)]);
  const [, state, startTime] = line?.match(/^(\S+)\s+(.+)$/) ?? [];
  if (!state || !startTime) return { alive: inUse(pid) };
  return { alive: !state.startsWith('Z'), startTime };
}

/** Signal 0 asks without a signal being sent. Not permitted means that it is there. */
function inUse(pid: number): boolean {
  // 0 and negative numbers would mean whole groups.
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function said(program: string, args: string[]): Promise<string | undefined> {
  const options = { env: { LC_ALL: 'C', PATH: '/bin:/usr/bin:/usr/sbin:/sbin' }, timeout: 2_000 };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout) => {
      resolve(error ? undefined : stdout.trim() || undefined);
    });
  });
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
