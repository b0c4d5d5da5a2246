import { realpath } from 'node:fs/promises';
import { type ActivatePorts, activate, watch } from './activate.ts';
import { updateError } from './codes.ts';
import { type FileSight, identityBehind } from './files.ts';
import { type Installing, type LockPorts, lockUpdate, type UpdateLock } from './lock.ts';
import { judgeOffer, type Offer, readOffer } from './offer.ts';
import { type Place, placeOf } from './place.ts';
import { lostRights } from './rights.ts';
import type { ReleaseSource } from './source.ts';
import { megabytes, type StagePorts, stage, tryOut } from './stage.ts';
import type { Supervisor } from './supervisor.ts';
import { exchange, swapBack, swapIn } from './swap.ts';
import { notWritten } from './trouble.ts';
import type { TrustedKey } from './trust.ts';

export interface UpdatePorts extends ActivatePorts, StagePorts, LockPorts {
  /** The services that run `exe`. */
  readonly services: (exe: string) => Promise<readonly Supervisor[]>;
}

/** What is updated: the executable that runs. */
export interface Installed {
  /** Its path, or a link to it. */
  readonly command: string;
  readonly version: string;
  /** `linux-x64` */
  readonly target: string;
  /** Of the file that this process runs, where the system tells. */
  readonly identity?: string | undefined;
}

export interface Updated {
  /** `finished`: it was in place already, by an update that was killed; now its services have been seen ready. */
  readonly did: 'nothing' | 'updated' | 'rolled-back' | 'finished';
  readonly exe: string;
  readonly from: string;
  readonly to: string;
  readonly signedBy?: string | undefined;
  /** Restarted and ready. */
  readonly services: readonly string[];
  /** Of what was in place before. */
  readonly oldIdentity?: string | undefined;
}

/** Verifies an offer, brings it in place, restarts the services and sees them ready, or puts the old one back. Throws `UPDATE_…`. */
export async function update(
  ports: UpdatePorts,
  installed: Installed,
  wish: {
    readonly source: ReleaseSource;
    readonly keys: readonly TrustedKey[];
    readonly allowDowngrade: boolean;
    readonly readyWithinMs: number;
  },
): Promise<Updated> {
  const { source } = wish;
  const offer = await readOffer(source, wish.keys, installed.target);
  const { version } = offer.release;
  const place = placeOf(await fileOf(installed.command));
  const base = { exe: place.exe, from: installed.version, to: version, signedBy: offer.signedBy };
  const judged = judgeOffer(offer, installed.version);
  if (judged === 'same') {
    // An update that was killed has left what it had: it is swept, and gone on with where it came as far as the swap.
    const nothing: Updated = { ...base, did: 'nothing', services: [] };
    if (!(await ports.files.look(place.staging))) return nothing;
    return inTurn(ports, place, installed, { version, back: false }, async (lock) =>
      lock.unwatched?.version === version ? finish(ports, place, installed, base, wish) : nothing,
    );
  }
  if (judged === 'older' && !wish.allowDowngrade) throw older(offer, installed);
  return inTurn(ports, place, installed, { version, back: false }, async (lock, old) => {
    for (const line of await lostRights(ports, place.exe, old)) await ports.tell(line);
    const services = await watch(ports, await ports.services(place.exe));
    await ports.tell(
      `Version ${version} for ${installed.target} (${megabytes(offer.executable.bytes)}), signed by ${offer.signedBy}, from ${source.shown}`,
    );
    await stage(ports, place, source, offer, old);
    await stillThere(ports, place, old);
    try {
      await lock.mark('swapped');
      await swapIn(ports.files, place);
    } catch (error) {
      throw notWritten(error, place);
    }
    await activate(ports, place, services, {
      readyWithinMs: wish.readyWithinMs,
      to: `version ${version}`,
      from: `version ${installed.version}`,
      undo: () => swapBack(ports.files, place),
    });
    const names = services.map(({ service }) => service.name);
    return { ...base, did: 'updated', services: names, oldIdentity: old.identity };
  });
}

/** Exchanges the executable with the one before the last update, restarts the services and sees them ready. */
export async function rollBack(
  ports: UpdatePorts,
  installed: Installed,
  wish: { readonly readyWithinMs: number },
): Promise<Updated> {
  const place = placeOf(await fileOf(installed.command));
  const what = { version: 'the previous one', back: true };
  return inTurn(ports, place, installed, what, async (lock, old) => {
    const { unwatched } = lock;
    // Another exchange would put the one in place that was left.
    if (unwatched?.back && unwatched.version === installed.version) {
      const base = { exe: place.exe, from: installed.version, to: installed.version };
      return finish(ports, place, installed, base, wish);
    }
    const before = await ports.files.look(place.previous);
    if (before?.kind !== 'file' || before.identity === old.identity)
      throw updateError(
        'UPDATE_NO_PREVIOUS',
        before?.kind === 'file'
          ? `${place.previous} is the same executable as the one in place.`
          : `There is no ${place.previous}: this executable was not updated here.`,
      );
    const version = await tryOut(ports, place.previous, undefined);
    const services = await watch(ports, await ports.services(place.exe));
    await stillThere(ports, place, old);
    for (const line of await lostRights(ports, place.exe, old)) await ports.tell(line);
    try {
      await lock.mark('swapped', { version, back: true });
      await exchange(ports.files, place);
    } catch (error) {
      throw notWritten(error, place);
    }
    await activate(ports, place, services, {
      readyWithinMs: wish.readyWithinMs,
      to: `version ${version}`,
      from: `version ${installed.version}`,
      undo: () => swapBack(ports.files, place),
    });
    const names = services.map(({ service }) => service.name);
    const { exe } = place;
    return {
      did: 'rolled-back',
      exe,
      from: installed.version,
      to: version,
      services: names,
      oldIdentity: old.identity,
    };
  });
}

/** What an update that was killed after its swap did not come to: the services get what is in place, and are seen ready. */
async function finish(
  ports: UpdatePorts,
  place: Place,
  installed: Installed,
  base: Omit<Updated, 'did' | 'services'>,
  { readyWithinMs }: { readonly readyWithinMs: number },
): Promise<Updated> {
  const services = await watch(ports, await ports.services(place.exe));
  const previous = await ports.files.look(place.previous);
  await activate(ports, place, services, {
    readyWithinMs,
    to: `version ${installed.version}`,
    from: 'the version before',
    undo: async () => {
      if (previous?.kind === 'file') return swapBack(ports.files, place);
      throw updateError(
        'UPDATE_NO_PREVIOUS',
        `There is no ${place.previous}: nothing can be put back.`,
      );
    },
  });
  const oldIdentity = previous?.identity;
  return {
    ...base,
    did: 'finished',
    services: services.map((one) => one.service.name),
    oldIdentity,
  };
}

/** Alone, with the executable that is in place seen to be the one that runs; leaves nothing behind. */
async function inTurn<T>(
  ports: UpdatePorts,
  place: Place,
  installed: Installed,
  what: Installing,
  work: (lock: UpdateLock, old: FileSight) => Promise<T>,
): Promise<T> {
  const lock = await lockUpdate(ports, place, what);
  try {
    if (lock.unwatched?.version === installed.version)
      await ports.tell(
        `The ${lock.unwatched.back ? 'way back' : 'update'} to ${lock.unwatched.version} was ended before anybody saw it become ready. ${place.previous} has the other version (update --rollback).`,
      );
    const old = await ports.files.look(place.exe);
    const other = installed.identity !== undefined && old?.identity !== installed.identity;
    if (old?.kind !== 'file' || other) throw gone(place, old !== undefined);
    return await work(lock, old);
  } finally {
    await lock.release();
  }
}

async function stillThere({ files }: UpdatePorts, place: Place, old: FileSight): Promise<void> {
  const now = await files.look(place.exe);
  if (now?.identity !== old.identity) throw gone(place, now !== undefined);
}

function gone({ exe }: Pick<Place, 'exe'>, replaced: boolean): Error {
  return updateError(
    'UPDATE_EXECUTABLE_GONE',
    replaced
      ? `${exe} was replaced by somebody else in the meantime.`
      : `${exe} is not there any more: it was removed or renamed in the meantime.`,
  );
}

/** The file behind the links. */
async function fileOf(command: string): Promise<string> {
  try {
    return await realpath(command);
  } catch {
    throw gone({ exe: command }, false);
  }
}

export function older({ release }: Offer, installed: Installed): Error {
  return updateError(
    'UPDATE_OLDER',
    `The release is version ${release.version}, older than ${installed.version}, which runs.`,
  );
}

/** Of the program that this process runs; `undefined` where the system does not tell. */
export function ownIdentity(): Promise<string | undefined> {
  return identityBehind('/proc/self/exe');
}
