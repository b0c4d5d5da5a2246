/** All that an executable carries beside Node.js: its main script and its assets, the same for every target. */
import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { makeChunks } from './chunks.mjs';
import { codeWrapper } from './code-cache.mjs';
import { Trouble } from './trouble.mjs';

/** @returns {Promise<{ version: string, boot: string, chunks: Map<string, string>, assets: Map<string, string>, metafile: import('esbuild').Metafile }>} */
export async function makeCode(root, publicKeys) {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const [{ chunks, metafile }, boot] = await Promise.all([makeChunks(root), makeBoot(version)]);
  // Threads of ours start with the boot too.
  const assets = new Map([['boot.js', boot], ...chunks]);
  if (publicKeys.length > 0) {
    const keys = await Promise.all(publicKeys.map(publicKey));
    assets.set('trust.pem', keys.join(''));
  }
  return { version, boot, chunks, assets, metafile };
}

async function makeBoot(version) {
  const source = await readFile(join(import.meta.dirname, 'boot.cjs'), 'utf8');
  const { code } = await esbuild.transform(source, {
    platform: 'node',
    target: 'node24',
    minifyWhitespace: true,
    lineLimit: 160,
    define: {
      VERSION: JSON.stringify(version),
      WRAPPER_START: JSON.stringify(codeWrapper[0]),
      WRAPPER_END: JSON.stringify(codeWrapper[1]),
    },
  });
  return code;
}

async function publicKey(file) {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new Trouble(`The public key ${file} cannot be read (${error.code}).`);
  });
  try {
    const key = createPublicKey(text);
    if (key.asymmetricKeyType === 'ed25519') return key.export({ type: 'spki', format: 'pem' });
  } catch {
    // Told below.
  }
  throw new Trouble(
    `${file} is no Ed25519 key in PEM form ("openssl pkey -in key.pem -pubout" makes the public one).`,
  );
}
