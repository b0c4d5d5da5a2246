import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type ServedControlPlane, serveControlPlane } from '../../src/control-plane/serve.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';

const folders: string[] = [];
const served: ServedControlPlane[] = [];
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

afterEach(async () => {
  for (const one of served.splice(0)) await one.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'interlock-serve-'));
  folders.push(made);
  return made;
}

async function serve(data: string, more = {}): Promise<ServedControlPlane> {
  const one = await serveControlPlane({
    listen: '127.0.0.1:0',
    data,
    clock: systemClock(),
    random: systemRandom(),
    log: quiet,
    ...more,
  });
  served.push(one);
  return one;
}

it('prints an admin key at the first start only, and keeps its files to their owner', async () => {
  const data = join(folder(), 'data');
  const first = await serve(data);
  expect(first.adminKey).toMatch(/^il_[0-9A-Za-z]{43}$/);
  const answer = await fetch(`${first.url}/api/tasks/v1/doctor`, {
    headers: { authorization: `Bearer ${first.adminKey}` },
  });
  expect(await answer.json()).toMatchObject({
    project: 'default',
    keyKind: 'admin',
    queueDepth: 0,
  });
  expect(statSync(data).mode & 0o777).toBe(0o700);
  for (const name of ['secret', 'control-plane.db', 'control-plane.db-wal'])
    expect(statSync(join(data, name)).mode & 0o077, name).toBe(0);
  await first.stop();
  const second = await serve(data);
  expect(second.adminKey).toBeUndefined();
});
