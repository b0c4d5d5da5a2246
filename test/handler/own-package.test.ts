import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProbe } from '../../src/carriers/probe.ts';
import { discoverHandlers } from '../../src/handler/discovery.ts';
import { systemClock } from '../../src/system/clock.ts';
import { startJob } from '../carriers/collected.ts';
import { memoryLog } from '../carriers/memory-log.ts';
import { hostCommand, processCarrier } from '../carriers/process-harness.ts';

/** The host from sources, and as it is shipped; handlers lie where nothing is installed. */
const built = [join(import.meta.dirname, '../../dist/host.js')];
const hosts = [
  ['from sources', hostCommand],
  ['as built', { execPath: process.execPath, args: built }],
] as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'own-package-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

describe.each(hosts)('a handler in a folder of its own, host %s', (name, command) => {
  const { carrier } = processCarrier({ hostCommand: command });
  afterAll(() => carrier.close());
  const run = async (path: string) =>
    (await startJob(carrier, { file: join(folder, path), input: null }).ended) as unknown;

  const probe = createProbe({
    clock: systemClock(),
    log: memoryLog(),
    command,
    marker: `own-package-${process.pid}-${name}`,
    env: process.env,
  });

  it('imports and requires the package that is not installed there', async () => {
    write({
      'typed@1.ts':
        "import { defineHandler, type HandlerContext, RetryableError } from 'interlock-node-sdk/handler';\n" +
        "export default defineHandler({ effectSafety: 'pure', run(_: unknown, ctx: HandlerContext) { throw new RetryableError('later', { retryAfterMs: 7 }); } });",
      'deep/er/module@1.mjs':
        "import { TaskProducer } from 'interlock-node-sdk';\n" +
        "const { UnknownOutcomeError } = await import('interlock-node-sdk/handler');\n" +
        'export default () => { throw new UnknownOutcomeError(TaskProducer.name); };',
      'common@1.cjs':
        "const { RetryableError } = require('interlock-node-sdk/handler');\n" +
        "module.exports = () => { throw new RetryableError('later'); };",
    });
    const found = await discoverHandlers({ folder, probe });
    expect(found.problems).toEqual([]);
    expect(found.handlers).toHaveLength(3);
    const retried = { how: 'threw', error: { code: 'HANDLER_ERROR', retryable: true } };
    expect(await run('typed@1.ts')).toMatchObject({
      ...retried,
      error: { ...retried.error, retryAfterMs: 7 },
    });
    expect(await run('common@1.cjs')).toMatchObject(retried);
    expect(JSON.stringify(await run('deep/er/module@1.mjs'))).toMatch(
      /OUTCOME_UNKNOWN.*TaskProducer/,
    );
  });

  it('leaves a package that is installed beside the handlers alone', async () => {
    const installed = 'node_modules/interlock-node-sdk';
    write({
      [`${installed}/package.json`]:
        '{"name":"interlock-node-sdk","version":"9.0.0","exports":{"./handler":"./mine.js"}}',
      [`${installed}/mine.js`]: "exports.mine = 'installed';",
      'import@1.mjs':
        "import { mine } from 'interlock-node-sdk/handler';\nexport default () => mine;",
      'require@1.cjs':
        "const { mine } = require('interlock-node-sdk/handler');\nmodule.exports = () => mine;",
      // The installed one has no such export: that is what it is, and is told.
      'whole@1.mjs': "import 'interlock-node-sdk';\nexport default () => 1;",
    });
    const found = await discoverHandlers({ folder, probe });
    expect(found.problems).toMatchObject([{ file: 'whole@1.mjs', code: 'HANDLER_NOT_LOADED' }]);
    for (const path of ['import@1.mjs', 'require@1.cjs']) {
      expect(await run(path), path).toMatchObject({ how: 'returned', result: 'installed' });
    }
  });

  it('names file and line of the user for what does not load', async () => {
    const lib = '\nlet b = ;\n';
    write({
      'a/syntax@1.ts': 'const a: number = 1;\nexport default function ({\n  retrun 1;\n}',
      'a/syntax@2.mjs': 'const a = 1;\nexport default function ({\n  retrun 1;\n}',
      'a/syntax@3.cjs': 'const a = 1;\nmodule.exports = function ({\n  retrun 1;\n}',
      'enum@1.ts': '\n\nenum Colour { Red }\nexport default () => Colour.Red;',
      'export@1.mjs': "\nimport { nope } from 'node:fs';\nexport default () => nope;",
      'library@1.ts': "import './lib.ts';\nexport default () => 1;",
      'lib.ts': lib,
      'json@1.ts': "\n\nJSON.parse('{');\nexport default () => 1;",
      'throws@1.mjs':
        "import { RetryableError } from 'interlock-node-sdk/handler';\n\nthrow new RetryableError('no');",
    });
    const found = await discoverHandlers({ folder, probe });
    const told = Object.fromEntries(found.problems.map(({ file, message }) => [file, message]));
    const at = (place: string) => expect.stringContaining(`(${join(folder, place)})`);
    expect(told).toEqual({
      'a/syntax@1.ts': at('a/syntax@1.ts:3'),
      'a/syntax@2.mjs': at('a/syntax@2.mjs:3'),
      'a/syntax@3.cjs': at('a/syntax@3.cjs:3'),
      'enum@1.ts': at('enum@1.ts:3'),
      'export@1.mjs': at('export@1.mjs:2'),
      'library@1.ts': at('lib.ts:2'),
      'json@1.ts': at('json@1.ts:3'),
      'throws@1.mjs': at('throws@1.mjs:3'),
    });
  });
});
