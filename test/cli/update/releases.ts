import { execFile } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { targetOf } from '../../../src/cli/update/release.ts';

interface Signing {
  finishRelease(
    folder: string,
    release: {
      readonly version: string;
      readonly executables: readonly { name: string; target: string; node: string }[];
      readonly keyPem: string | undefined;
    },
  ): Promise<{ readonly signedBy: string | undefined }>;
}

/** The script that makes real releases. */
const sign: Signing = await import(
  pathToFileURL(join(import.meta.dirname, '../../../scripts/binary/sign.mjs')).href
);

export const target = targetOf(process.platform, process.arch);
export const exeName = `interlock-worker-${target}`;

export interface Keys {
  readonly privatePem: string;
  readonly publicPem: string;
  readonly publicKey: KeyObject;
}

export function newKeys(): Keys {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    publicKey,
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  };
}

/** A program that says its version, as ours does. */
export function fakeExecutable(version: string): string {
  return `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; exit 0; fi\nexit 3\n`;
}

export interface Made {
  readonly folder: string;
  readonly version: string;
  /** Target → content [this machine's, with a program that says the version]. */
  readonly executables?: Readonly<Record<string, string | Uint8Array>>;
  readonly keys?: Keys | undefined;
}

/** A release folder as the build leaves it, made by the real signing script. */
export async function makeRelease({ folder, version, executables, keys }: Made): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const all = executables ?? { [target]: fakeExecutable(version) };
  for (const [one, content] of Object.entries(all)) {
    const file = join(folder, `interlock-worker-${one}`);
    writeFileSync(file, content);
    chmodSync(file, 0o755);
  }
  await sign.finishRelease(folder, {
    version,
    executables: Object.keys(all).map((one) => ({
      name: `interlock-worker-${one}`,
      target: one,
      node: '24.22.3',
    })),
    keyPem: keys?.privatePem,
  });
  return folder;
}

/** What an executable says of itself; its content where it does not run. */
export function versionOf(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(file, ['--version'], (error, stdout) =>
      resolve(error ? `does not run: ${error.message}` : stdout.trim()),
    );
  });
}

export function putExecutable(file: string, version: string): void {
  writeFileSync(file, fakeExecutable(version));
  chmodSync(file, 0o755);
}

export function text(file: string): string {
  return readFileSync(file, 'utf8');
}
