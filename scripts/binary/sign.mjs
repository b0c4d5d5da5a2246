/**
 * Makes a release of a folder with executables: `release.json`, `SHA256SUMS` and, with a key, `SHA256SUMS.sig`. The build
 * calls `finishRelease`; a release that was built elsewhere is signed by itself:
 *
 *   node scripts/binary/sign.mjs build/binary --key key.pem
 *
 * The key is Ed25519 in PEM form (openssl genpkey -algorithm ed25519); one with a passphrase reads it from
 * RELEASE_KEY_PASSPHRASE. The signature is the 64 bytes that `openssl pkeyutl -sign -rawin` makes of the same file.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  readRelease,
  readSums,
  SIGNATURE,
  STATEMENT,
  SUMS,
  writeRelease,
  writeSums,
} from '../../src/cli/update/release.ts';
import { keyId } from '../../src/cli/update/trust.ts';
import { CONTRACT_VERSION } from '../../src/contract/limits.ts';

/**
 * @param folder that holds nothing but the files of the release.
 * @param release what it is; `executables` with name, target (`linux-x64`) and the version of Node inside.
 * @param keyPem private key; without one nothing is signed, and an old signature is removed.
 * @returns {Promise<{ signedBy: string | undefined }>}
 */
export async function finishRelease(folder, { version, executables, keyPem }) {
  await Promise.all(
    [SUMS, SIGNATURE, STATEMENT].map((name) => rm(join(folder, name), { force: true })),
  );
  const described = await Promise.all(
    executables.map(async ({ name, target, node }) => {
      const file = join(folder, name);
      const { size: bytes } = await stat(file);
      return { name, target, bytes, sha256: await sha256(file), ...(node && { node }) };
    }),
  );
  const statement = writeRelease({ version, contract: [CONTRACT_VERSION], executables: described });
  await writeFile(join(folder, STATEMENT), statement);
  const sums = new Map();
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile())
      throw new Error(`${join(folder, entry.name)} is no file: a release holds files only`);
    sums.set(entry.name, await sha256(join(folder, entry.name)));
  }
  await writeFile(join(folder, SUMS), writeSums(sums));
  return { signedBy: keyPem === undefined ? undefined : await signRelease(folder, keyPem) };
}

/** Signs the sums that lie there, once every file in them has been found to be what they say. Gives the key's id. */
export async function signRelease(folder, keyPem) {
  const bytes = await readFile(join(folder, SUMS));
  const sums = readSums(bytes.toString('utf8'));
  if (!sums.ok) throw new Error(`${SUMS} ${sums.why}`);
  for (const [name, hash] of sums.value) {
    if ((await sha256(join(folder, name))) !== hash)
      throw new Error(`${join(folder, name)} is not what ${SUMS} says: build the release again`);
  }
  const release = readRelease(await readFile(join(folder, STATEMENT), 'utf8'), sums.value);
  if (!release.ok) throw new Error(`${STATEMENT} ${release.why}`);
  const { key, publicKey } = signingKey(keyPem);
  const signature = sign(null, bytes, key);
  if (!verify(null, bytes, publicKey, signature)) throw new Error('the signature does not verify');
  const file = join(folder, SIGNATURE);
  await writeFile(`${file}.new`, signature);
  await rename(`${file}.new`, file);
  return keyId(publicKey);
}

function signingKey(pem) {
  const key = createPrivateKey({ key: pem, passphrase: process.env.RELEASE_KEY_PASSPHRASE });
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(
      `the key is of the kind ${key.asymmetricKeyType}; a release is signed with Ed25519`,
    );
  return { key, publicKey: createPublicKey(key) };
}

async function sha256(file) {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file, { highWaterMark: 1_048_576 }))
    hash.update(piece);
  return hash.digest('hex');
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { key: { type: 'string' } },
    allowPositionals: true,
  });
  const [folder] = positionals;
  if (folder === undefined || values.key === undefined || positionals.length > 1) {
    console.error('node scripts/binary/sign.mjs <folder> --key key.pem');
    process.exitCode = 64;
  } else {
    try {
      const signedBy = await signRelease(folder, await readFile(values.key, 'utf8'));
      console.log(`${join(folder, SIGNATURE)}: signed by ${signedBy}`);
    } catch (error) {
      console.error(`Not signed: ${error.message}`);
      process.exitCode = 1;
    }
  }
}
