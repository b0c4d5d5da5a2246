import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { targets } from './targets.mjs';
import { Trouble } from './trouble.mjs';

const names = Object.keys(targets);
export const usage = `npm run binary -- --target ${names.join('|')} (may be repeated) | --all
  --out DIR            where the files go [build/binary]; what an earlier build left there goes away
  --compressed         tell how large each file is as gzip and as xz (takes half a minute for each)
  --sign key.pem       sign SHA256SUMS with this Ed25519 key
  --public-key pub.pem build in whose signatures updates are trusted (may be repeated)
Without a target: that of this machine.`;

/** @param {string[]} argv */
export function readArguments(argv, root) {
  const { values } = parsed(argv);
  const asked = values.all ? names : (values.target ?? [ownTarget()]);
  for (const name of asked) {
    if (!Object.hasOwn(targets, name))
      throw new Trouble(`There is no target ${name}. Targets: ${names.join(', ')}.`);
  }
  return {
    help: values.help,
    targets: names.filter((name) => asked.includes(name)),
    out: resolve(values.out ?? join(root, 'build/binary')),
    compressed: values.compressed,
    sign: values.sign,
    publicKeys: values['public-key'] ?? [],
  };
}

function parsed(args) {
  try {
    return parseArgs({
      args,
      options: {
        target: { type: 'string', multiple: true },
        all: { type: 'boolean', default: false },
        out: { type: 'string' },
        compressed: { type: 'boolean', default: false },
        sign: { type: 'string' },
        'public-key': { type: 'string', multiple: true },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new Trouble(`${error.message}\n\n${usage}`);
  }
}

function ownTarget() {
  return `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
}
