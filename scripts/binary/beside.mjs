/** What lies beside the executables: licences of all that is inside, and the list of it (SBOM). */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { licenceTexts, packageFolders } from '../licences.mjs';

/** Names in `process.versions` that are no component. */
const NO_COMPONENT = ['node', 'modules', 'napi'];

/** @param runtimes one of each version of Node.js that is inside, whose folder has its LICENSE (those of Windows have none). */
export async function makeLicences(root, metafile, runtimes) {
  const parts = [
    'interlock-worker, the executable, holds our own code, code of the packages below, and Node.js with what Node.js holds.\n',
    `\n==== Interlock Tasks\n\n${(await readFile(join(root, 'LICENSE'), 'utf8')).trim()}\n`,
    await licenceTexts(root, metafile),
  ];
  for (const { version, folder } of runtimes) {
    const text = await readFile(join(folder, 'LICENSE'), 'utf8');
    parts.push(`\n==== Node.js ${version}\n\n${text.trim()}\n`);
  }
  return parts.join('');
}

/**
 * CycloneDX 1.6. Without the time of the build and with a serial number made of the content: two builds of one commit give
 * the same file.
 *
 * @param executables [{ name, sha256, runtime }]
 * @param runtimes one of each version of Node.js that is inside, that runs here: it is asked what it is made of.
 */
export async function makeSbom(root, { version, metafile }, executables, runtimes) {
  const self = `pkg:npm/interlock-node-sdk@${version}`;
  const packages = await npmComponents(root, metafile);
  const nodes = await Promise.all(runtimes.map(nodeComponent));
  const files = executables.map(({ name, sha256, runtime }) => ({
    type: 'file',
    'bom-ref': `file:${name}`,
    name,
    hashes: [{ alg: 'SHA-256', content: sha256 }],
    properties: [
      { name: 'interlock:runtime', value: `pkg:npm/${runtime.package}@${runtime.version}` },
      { name: 'interlock:runtime-integrity', value: runtime.integrity },
    ],
  }));
  const refs = (list) => list.map((component) => component['bom-ref']);
  const content = {
    metadata: {
      component: {
        type: 'application',
        'bom-ref': self,
        name: 'interlock-worker',
        version,
        purl: self,
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components: [...packages, ...nodes, ...files],
    dependencies: [
      { ref: self, dependsOn: [...refs(packages), ...refs(nodes)].sort() },
      ...executables.map(({ name, runtime }) => ({
        ref: `file:${name}`,
        dependsOn: [self, nodeRef(runtime.version)],
      })),
    ],
  };
  const sbom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    version: 1,
    ...content,
  };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

async function npmComponents(root, metafile) {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  const components = packageFolders(metafile).map((folder) => {
    const { version, license, integrity } = packages[folder];
    const name = folder.replace(/^.*node_modules\//, '');
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    return {
      type: 'library',
      'bom-ref': purl,
      name,
      version,
      purl,
      hashes: [hashOf(integrity)],
      licenses: [
        / OR | AND /.test(license) ? { expression: license } : { license: { id: license } },
      ],
    };
  });
  // One version of a package may lie in several folders.
  return [...new Map(components.map((one) => [one.purl, one])).values()];
}

async function nodeComponent({ version, file }) {
  const asked = await promisify(execFile)(file, ['-p', 'JSON.stringify(process.versions)'], {
    env: {},
  });
  const inside = Object.entries(JSON.parse(asked.stdout));
  return {
    type: 'platform',
    'bom-ref': nodeRef(version),
    name: 'node',
    version,
    purl: nodeRef(version),
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:-:*:*:*`,
    licenses: [{ license: { name: 'MIT, and others of its parts: see LICENSES.txt' } }],
    components: inside
      .filter(([name, found]) => !NO_COMPONENT.includes(name) && found !== '')
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, found]) => ({
        type: 'library',
        'bom-ref': `${nodeRef(version)}#${name}`,
        name,
        version: found,
      })),
  };
}

function nodeRef(version) {
  return `pkg:generic/node@${version}`;
}

function hashOf(integrity) {
  const [, alg, base64] = /^(sha\d+)-([\w+/=]+)$/.exec(integrity);
  return {
    alg: alg.replace('sha', 'SHA-'),
    content: Buffer.from(base64, 'base64').toString('hex'),
  };
}

/** RFC 9562, version 8: made of a hash. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((parseInt(hex[16], 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
