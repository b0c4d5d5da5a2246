/** Containers without an engine: namespaces of processes and mounts, with what the Dockerfile promises. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Proc, ROOT, until } from './processes.ts';

/** The options of `unshare` that make a namespace of processes here; `undefined`, with the reason told, where none may be made. */
export function processNamespace(): readonly string[] | undefined {
  for (const options of [
    ['-pf', '--mount-proc'],
    ['-Urpf', '--mount-proc'],
  ]) {
    try {
      execFileSync('unshare', [...options, 'true'], { stdio: 'ignore' });
      return options;
    } catch {
      // The next one.
    }
  }
  return undefined;
}

/** The first process in the namespace that `unshare` (this process) has made. */
export async function firstProcess({ pid }: Proc): Promise<number> {
  const children = () => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return Number((await until(children, 'first process')).split(' ')[0]);
}

/** Dead processes of the namespace of this first process that nobody has waited for. */
export function zombies(first: number): string[] {
  const proc = join('/proc', String(first), 'root', 'proc');
  return readdirSync(proc)
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        const stat = readFileSync(join(proc, id, 'stat'), 'utf8');
        return /\) Z /.test(stat) ? [stat.split(')')[0] as string] : [];
      } catch {
        return [];
      }
    });
}

/** User and group of the Dockerfile. */
export const IMAGE_USER = '10001';

/**
 * Program and arguments that run a worker as the image does: tini first, that user, nothing writable but the volume and `/tmp`,
 * the system's programs, and of this project only what is given.
 * @param folder becomes the container's root, volume and program lie beside it. @param program where it lies in the container
 */
export function likeTheImage(folder: string, program: string): readonly string[] {
  const root = join(folder, 'root');
  const volume = join(folder, 'volume');
  for (const made of [root, volume]) mkdirSync(made, { recursive: true });
  const script = `
    set -e
    mount -t tmpfs -o mode=0755 tmpfs "$1"
    for one in bin sbin lib lib32 lib64; do [ ! -L "/$one" ] || cp -P "/$one" "$1/$one"; done
    for one in usr bin sbin lib lib64 etc; do
      [ -d "/$one" ] && [ ! -L "/$one" ] || continue
      mkdir "$1/$one"
      mount --bind "/$one" "$1/$one"
      mount -o remount,bind,ro "$1/$one"
    done
    mkdir -p "$1/proc" "$1/dev" "$1/tmp" "$1/opt" "$1/handlers" "$1/var/lib/interlock"
    mount --rbind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    mount --bind "$2" "$1/var/lib/interlock"
    chown ${IMAGE_USER}:${IMAGE_USER} "$1/var/lib/interlock"
    chmod 0700 "$1/var/lib/interlock"
    cp -r "$4/." "$1/handlers"
    chmod -R u=rwX,go=rX "$3" "$1/handlers"
    mount --bind "$3" "$1/opt"
    mount -o remount,bind,ro "$1/opt"
    mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
    mount -o remount,ro "$1"
    root=$1; shift 4
    exec chroot --userspec=${IMAGE_USER}:${IMAGE_USER} --groups= "$root" tini -- "$@"
  `;
  const handlers = join(import.meta.dirname, 'container-handlers');
  return [
    ...['unshare', '-mpf', 'sh', '-c', script, 'sh'],
    ...[root, volume, join(folder, 'opt'), handlers, program],
  ];
}

/** The worker of this checkout, as few files as it needs, laid into `opt` of a container; where it lies there. */
export function layCheckout(folder: string): string {
  const opt = join(folder, 'opt');
  for (const part of ['dist', 'bin'])
    cpSync(join(ROOT, part), join(opt, part), { recursive: true });
  const node = `node_modules/node-linux-${process.arch}/bin/node`;
  mkdirSync(dirname(join(opt, node)), { recursive: true });
  copyFileSync(join(ROOT, node), join(opt, node));
  return '/opt/bin/interlock-worker';
}
