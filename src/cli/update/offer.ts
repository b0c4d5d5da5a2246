import { createHash } from 'node:crypto';
import { updateError } from './codes.ts';
import {
  compareVersions,
  type Executable,
  type Release,
  readRelease,
  readSums,
  SIGNATURE,
  STATEMENT,
  SUMS,
} from './release.ts';
import type { ReleaseSource } from './source.ts';
import { SIGNATURE_BYTES, signerOf, type TrustedKey } from './trust.ts';

/** What a release offers this machine: signed by a trusted key, whole, for this target. */
export interface Offer {
  readonly release: Release;
  readonly executable: Executable;
  /** Of the key that signed it. */
  readonly signedBy: string;
}

/** Reads and verifies what a release says. Throws `UPDATE_…`; nothing is believed before the signature has been checked. */
export async function readOffer(
  source: ReleaseSource,
  keys: readonly TrustedKey[],
  target: string,
): Promise<Offer> {
  const { shown } = source;
  const sums = await source.read(SUMS);
  if (!sums)
    throw updateError('UPDATE_DAMAGED', `${shown} holds no ${SUMS}: it is no release.`, {
      hint: `Name the folder with the executables, ${SUMS}, ${SIGNATURE} and ${STATEMENT}.`,
    });
  const signature = await source.read(SIGNATURE);
  if (!signature)
    throw updateError(
      'UPDATE_UNTRUSTED',
      `The release in ${shown} is not signed: it has no ${SIGNATURE}.`,
    );
  if (signature.byteLength !== SIGNATURE_BYTES)
    throw updateError(
      'UPDATE_UNTRUSTED',
      `The ${SIGNATURE} in ${shown} is no signature: it has ${signature.byteLength} bytes and not ${SIGNATURE_BYTES}.`,
    );
  const signer = signerOf(sums, signature, keys);
  if (!signer) {
    const known = keys.map(({ id }) => id).join(', ');
    throw updateError(
      'UPDATE_UNTRUSTED',
      `The release in ${shown} is signed by no key that is trusted here (${known}), or was changed after it was signed.`,
    );
  }
  const damaged = (name: string, why: string) =>
    updateError('UPDATE_DAMAGED', `The ${name} in ${shown} ${why}.`);
  const listed = readSums(Buffer.from(sums).toString('utf8'));
  if (!listed.ok) throw damaged(SUMS, listed.why);
  const statement = await source.read(STATEMENT);
  if (!statement) throw damaged(STATEMENT, 'is missing');
  const wanted = listed.value.get(STATEMENT);
  if (wanted === undefined) throw damaged(SUMS, `does not name ${STATEMENT}`);
  if (sha256(statement) !== wanted)
    throw damaged(STATEMENT, `is not the one that was signed: ${SUMS} has another hash of it`);
  const release = readRelease(Buffer.from(statement).toString('utf8'), listed.value);
  if (!release.ok) throw damaged(STATEMENT, release.why);
  return {
    release: release.value,
    executable: pick(release.value, source, target),
    signedBy: signer.id,
  };
}

function pick(release: Release, { file, shown }: ReleaseSource, target: string): Executable {
  const { executables, version } = release;
  const fits = executables.find((one) => one.target === target);
  if (file !== undefined) {
    const named = executables.find(({ name }) => name === file);
    if (!named)
      throw updateError(
        'UPDATE_DAMAGED',
        `${STATEMENT} in ${shown} names no executable ${file}: that one is not signed.`,
        {
          hint: `Name the folder, or one of ${executables.map(({ name }) => name).join(', ')}.`,
        },
      );
    if (named.target !== target)
      throw updateError(
        'UPDATE_WRONG_TARGET',
        `${file} is for ${named.target}; this machine is ${target}.`,
        {
          hint: fits
            ? `Nothing was changed. Name the folder, or ${fits.name}.`
            : 'Nothing was changed. Get a release for this machine.',
        },
      );
    return named;
  }
  if (!fits)
    throw updateError(
      'UPDATE_WRONG_TARGET',
      `Release ${version} in ${shown} has nothing for ${target}, only for ${executables.map((one) => one.target).join(', ')}.`,
    );
  return fits;
}

/** How an offer stands to what runs. */
export function judgeOffer({ release }: Offer, current: string): 'newer' | 'same' | 'older' {
  const order = compareVersions(release.version, current);
  return order > 0 ? 'newer' : order === 0 ? 'same' : 'older';
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
