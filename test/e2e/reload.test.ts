/** A real worker that reads its handlers, settings and key again on SIGHUP, and whose code nobody can pull away. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lib, reload, Volume, versioned } from './handlers-folder.ts';
import { childrenOf, until } from './processes.ts';
import { World } from './world.ts';

interface Told {
  readonly version: number;
  readonly own: number;
  readonly pid: number;
}

const world = new World();
beforeAll(async () => {
  await world.controlPlane('task-producer', 'task-operator', 'task-worker');
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

let count = 0;
/** A worker of its own with a type of its own. */
async function setUp(args: readonly string[] = []) {
  const id = `reload-${++count}`;
  const type = `test/${id}`;
  const volume = new Volume(world.path(id));
  const files = (version: number) => ({
    [`${type}@1.mjs`]: versioned(version),
    'test/lib.mjs': lib(version),
  });
  volume.swap(files(1));
  const start = () => world.worker({ id, handlers: volume.folder, max: 2, args });
  const submit = (input: unknown = {}) => world.producer.submit(type, 1, input);
  const run = async () => {
    const task = await submit();
    const { result } = await world.producer.await(task);
    return result as Told;
  };
  const view = async () => (await world.call('GET', `/workers/${id}`, undefined, OPERATOR)).body;
  const code = () => readdirSync(join(world.spool(id), 'code'));
  return { id, type, volume, files, worker: await start(), submit, run, view, code };
}
const OPERATOR = { as: 'task-operator' } as const;

describe.concurrent('SIGHUP', () => {
  it('F38 new tasks use the code behind a swapped link, one that runs ends on the old, whose files are gone', async () => {
    const { type, volume, files, worker, submit, run } = await setUp();
    const began = world.path('began');
    const goOn = world.path('go-on');
    const running = await submit({ began, until: goOn });
    await until(() => world.lines('began').length === 1, 'handler');
    const idle = await run();
    volume.swap(files(2));
    expect(await reload(worker)).toMatchObject({ event: 'reload.done', changed: [`${type}@1`] });
    const fresh = await run();
    expect([idle.version, fresh.version, fresh.own]).toEqual([1, 2, 2]);
    // The host that rested is gone, the one that works is not.
    expect(childrenOf(worker.pid)).not.toContain(idle.pid);
    writeFileSync(goOn, '');
    const old = (await world.producer.await(running)).result as Told;
    expect(old).toMatchObject({ version: 1, own: 1 });
    await until(() => !childrenOf(worker.pid).includes(old.pid), 'end of the old host');
    const hashOf = async (taskId: string) =>
      (await world.journal(taskId)).find(({ kind }) => kind === 'started')?.data.codeHash;
    const newer = await submit();
    await world.producer.await(newer);
    expect(await hashOf(running.id)).toMatch(/^[0-9a-f]{64}$/);
    expect(await hashOf(newer.id)).toMatch(/^[0-9a-f]{64}$/);
    expect(await hashOf(newer.id)).not.toBe(await hashOf(running.id));
  });

  it('F38 a half-written file never becomes active, with and without a signal, also where a new host is needed', async () => {
    const { type, volume, files, worker, run, view } = await setUp();
    const first = await run();
    volume.swap({
      ...files(2),
      [`${type}@1.mjs`]: 'import { version } from "./lib.mjs"; export def',
    });
    process.kill(first.pid, 'SIGKILL');
    const second = await run();
    expect(second).toMatchObject({ version: 1, own: 1 });
    expect(second.pid).not.toBe(first.pid);
    expect(await reload(worker)).toMatchObject({ kept: [`${type}@1`], changed: [] });
    expect(await run()).toEqual(second);
    process.kill(second.pid, 'SIGKILL');
    expect(await run()).toMatchObject({ version: 1, own: 1 });
    const kept = await until(async () => (await view()).keptHandlers, 'word of it');
    expect(kept).toMatchObject([
      { type, schemaVersion: 1, why: expect.stringContaining('SyntaxError') },
    ]);
    expect(Date.now() - Date.parse(kept[0].since)).toBeLessThan(60_000);
    expect(worker.events('handler.kept')).toHaveLength(1);
    volume.swap(files(3));
    await reload(worker);
    expect(await run()).toMatchObject({ version: 3, own: 3 });
    await until(async () => (await view()).keptHandlers === undefined, 'end of it');
  });

  it('leaves a warm host of unchanged code alone, and serves what is new', async () => {
    const { type, volume, worker, run } = await setUp();
    volume.write('other@1.mjs', `export const effectSafety = 'pure'; export default () => 1;`);
    const before = await run();
    expect(await reload(worker)).toMatchObject({ added: ['other@1'], changed: [], unchanged: 1 });
    expect(await run()).toEqual(before);
    volume.write('other@1.mjs', `export const effectSafety = 'pure'; export default () => 2;`);
    expect(await reload(worker)).toMatchObject({ changed: ['other@1'], unchanged: 1 });
    expect(await run()).toEqual(before);
    const other = await world.producer.submit('other', 1, 0);
    expect((await world.producer.await(other)).result).toBe(2);
    expect(type).not.toBe('other');
  });

  it('claims nothing, with a reason, when the last handler is gone, and all when it is back', async () => {
    const { type, volume, worker, run, submit, view } = await setUp();
    volume.remove(`${type}@1.mjs`);
    expect(await reload(worker)).toMatchObject({ removed: [`${type}@1`] });
    expect(worker.events('handlers.gone')).toHaveLength(1);
    await until(async () => (await view()).notClaiming?.includes('no handler left'), 'reason');
    expect((await view()).handlers).toEqual([]);
    const task = await submit();
    volume.write(
      `${type}@1.mjs`,
      `export const effectSafety = 'pure'; export default () => 'back';`,
    );
    await reload(worker);
    expect((await world.producer.await(task)).result).toBe('back');
    expect(await run()).toBe('back');
  });

  it('serves what loads while a file still does, and that one as soon as it has loaded', async () => {
    const folder = world.path('slow');
    mkdirSync(folder);
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    write('quick@1.mjs', `export const effectSafety = 'pure'; export default () => 'quick';`);
    write(
      'slow@1.mjs',
      `import { existsSync } from 'node:fs';
while (!existsSync(new URL('go', import.meta.url))) await new Promise((on) => setTimeout(on, 20));
export const effectSafety = 'pure';
export default () => 'slow';`,
    );
    const worker = await world.worker({ id: 'slow', handlers: folder });
    const [quick, slow] = await Promise.all([
      world.producer.submit('quick', 1, 0),
      world.producer.submit('slow', 1, 0),
    ]);
    expect((await world.producer.await(quick)).result).toBe('quick');
    const { body } = await world.call('GET', '/workers/slow', undefined, OPERATOR);
    expect(body.unservedHandlers).toMatchObject([
      { type: 'slow', why: expect.stringContaining('still loading') },
    ]);
    expect(worker.events('handler.not-served')).toEqual([]);
    write('go', '');
    expect((await world.producer.await(slow)).result).toBe('slow');
    expect(worker.events('handler.loaded')).toMatchObject([{ type: 'slow@1' }]);
  });

  it('takes over settings of a config file, names those that need a restart, and keeps all of a bad one', async () => {
    const config = world.path('worker.json');
    const write = (more: object) => writeFileSync(config, JSON.stringify(more));
    write({ pool: ['default'], 'poll-max': '10s' });
    const { worker, view } = await setUp(['--config', config]);
    write({ pool: ['default', 'gpu'], 'poll-max': '12s', 'ca-file': '/nowhere.pem' });
    const done = await reload(worker);
    expect(done.msg).toContain('pool is default, gpu; poll-max is 12 s');
    expect(worker.events('reload.restart-needed')).toMatchObject([{ settings: ['ca-file'] }]);
    await until(async () => (await view()).pools.length === 2, 'pools');
    writeFileSync(config, '{ "pool": ');
    expect(await reload(worker)).toMatchObject({
      event: 'reload.kept',
      msg: expect.stringContaining(config),
    });
    expect((await view()).pools).toEqual(['default', 'gpu']);
  });

  it('F38 reloads again and again without a process, a file or memory left over', async () => {
    const { id, volume, files, worker, run, code } = await setUp();
    const memory = () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${worker.pid}/status`, 'utf8'))?.[1]) / 1024;
    await run();
    const before = memory();
    for (let version = 2; version < 12; version++) {
      volume.swap(files(version));
      await reload(worker);
      if (version % 3 === 0) expect(await run()).toMatchObject({ version, own: version });
    }
    const grown = memory() - before;
    console.log(`F38: 10 reloads cost the agent ${grown.toFixed(1)} MB`);
    expect(grown).toBeLessThan(30);
    // Three at once are one after the other, and the last word counts.
    volume.swap(files(99));
    for (let times = 0; times < 3; times++) worker.kill('SIGHUP');
    await until(async () => (await run()).version === 99, 'new code');
    const [session = ''] = code();
    const kept = () => readdirSync(join(world.spool(id), 'code', session));
    await until(() => kept().length === 1, 'end of the older code');
    await until(() => childrenOf(worker.pid).length <= 1, 'end of old hosts and probes');
    worker.kill('SIGTERM');
    expect(await worker.ending()).toMatchObject({ code: 0 });
    expect(code()).toEqual([]);
  });
});
