/** The licences of the packages in a bundle. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Folders of the packages whose code is in what esbuild has made, sorted. */
export function packageFolders({ inputs }) {
  const folders = new Set();
  for (const input of Object.keys(inputs)) {
    const folder = input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
    if (folder) folders.add(folder);
  }
  return [...folders].sort();
}

/** Each package under a line of its name, version and licence. */
export async function licenceTexts(root, metafile) {
  const parts = [];
  for (const folder of packageFolders(metafile)) {
    const { name, version, license } = JSON.parse(
      await readFile(join(root, folder, 'package.json'), 'utf8'),
    );
    const file = (await readdir(join(root, folder))).find((f) => /^licen[cs]e/i.test(f));
    const text = file ? await readFile(join(root, folder, file), 'utf8') : '';
    parts.push(`\n==== ${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return parts.join('');
}
