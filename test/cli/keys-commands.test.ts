import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveControlPlane } from '../../src/control-plane/serve.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemRandom } from '../../src/system/random.ts';
import { earlierVersion } from '../stores/earlier-version.ts';
import { silent, startPlane } from './plane.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

/** `interlock keys …`, asked of a control plane and done on its data. */

async function admin() {
  const plane = await startPlane();
  const env = plane.env('admin');
  const run = (...argv: string[]) => interlock(['keys', ...argv], { env });
  return { plane, run };
}

async function data(): Promise<string> {
  const folder = join(temporaryFolder(), 'data');
  const served = await serveControlPlane({
    listen: '127.0.0.1:0',
    data: folder,
    clock: systemClock(),
    random: systemRandom(),
    log: silent,
  });
  await served.stop();
  return folder;
}

describe('keys new', () => {
  it('takes an end and limits, and shows them', async () => {
    const { run } = await admin();
    const made = await run(
      ...['new', 'garage', '--kind', 'task-worker', '--expires', '90d', '--rate', '10/s'],
      ...['--pool', 'a', '--pool', 'b', '--type', 'demo/hello@2', '--worker-prefix', 'garage-'],
    );
    expect(made.code, made.err).toBe(0);
    expect(made.out).toMatch(/limits +600\/min, pools a b, types demo\/hello@2, workers garage-…/);
    const [, expires = ''] = /expires +(\S+)/.exec(made.out) ?? [];
    const days = (Date.parse(expires) - systemClock().wall()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    const json = await run(
      'new',
      'x',
      '--kind',
      'task-worker',
      '--expires',
      '2126-01-31',
      '--json',
    );
    expect(JSON.parse(json.out)).toMatchObject({ expiresAt: '2126-01-31T00:00:00.000Z' });
  });

  it.each([
    [['--expires', 'soon'], /--expires "soon" is neither a duration \(90d\) nor an instant/],
    [['--expires', '2020-01-01'], /--expires 2020-01-01 lies in the past/],
    [['--expires', '0s'], /--expires /],
    [['--rate', 'fast'], /--rate "fast" is no rate of calls/],
    [['--rate', '1/h'], /one at least/],
    [['--pool', 'a b'], /--pool must be segments/],
    [['--type', 'demo/hello@x'], /--type must be a type/],
    [['--worker-prefix', '-'], /--worker-prefix must be letters/],
    [['--create-data'], /--create-data is of no use without --data/],
  ])('refuses %j before anything is made', async (more, words) => {
    const { run } = await admin();
    const refused = await run('new', 'x', '--kind', 'task-worker', ...more);
    expect(refused.code).toBe(64);
    expect(refused.err).toMatch(words);
    expect(refused.out).toBe('');
    expect(
      JSON.parse((await run('list', '--json')).out).keys.map((k: { name: string }) => k.name),
    ).not.toContain('x');
  });

  it('refuses limits that bind no admin key', async () => {
    const { run } = await admin();
    const short = await run('new', 'x', '--kind', 'worker');
    expect(short.err).toContain('Did you mean task-worker?');
    const refused = await run('new', 'x', '--kind', 'admin', '--pool', 'a');
    expect(refused).toMatchObject({
      code: 64,
      err: expect.stringMatching(/--pool does not bind an admin key/),
    });
    expect((await run('new', 'x', '--kind', 'admin', '--rate', '60/min')).code).toBe(0);
  });

  it.each([
    ['task-producer', '--worker-prefix', '--rate, --pool, --type'],
    ['metrics', '--pool', '--rate'],
  ])('refuses for the kind %s a %s that would bind nothing', async (kind, flag, binding) => {
    const { run } = await admin();
    const refused = await run('new', 'bad', '--kind', kind, flag, 'garage-');
    expect(refused.code).toBe(64);
    expect(refused.err).toContain(
      `${flag} does not bind a key of kind ${kind}; what does: ${binding}.`,
    );
  });

  it('makes a folder for data only where it is told to', async () => {
    const folder = join(temporaryFolder(), 'data');
    const argv = ['keys', 'new', 'a', '--kind', 'admin', '--data', folder];
    expect(await interlock(argv)).toMatchObject({
      code: 66,
      err: expect.stringMatching(/No control plane has used the folder[\s\S]*--create-data/),
    });
    expect((await interlock([...argv, '--create-data'])).code).toBe(0);
    // One that is used already is used.
    expect((await interlock([...argv, '--create-data'])).code).toBe(0);
    expect(
      JSON.parse((await interlock(['keys', 'list', '--data', folder, '--json'])).out).keys,
    ).toHaveLength(2);
    mkdirSync(join(folder, '..', 'other', 'things'), { recursive: true });
    const other = join(folder, '..', 'other');
    expect(
      (await interlock(['keys', 'new', 'a', '--kind', 'admin', '--data', other, '--create-data']))
        .err,
    ).toMatch(/holds other things/);
  });
});

it('says on stderr that the command has brought an earlier database to this version, once', async () => {
  const folder = temporaryFolder();
  const database = new DatabaseSync(join(folder, 'control-plane.db'));
  database.exec(earlierVersion(6));
  database.close();
  const first = await interlock(['keys', 'list', '--data', folder, '--json']);
  expect(first.code, first.err).toBe(0);
  expect(JSON.parse(first.out).keys).toEqual([]);
  expect(first.err).toContain(
    `The database in ${folder} was brought from version 6 to 7: an earlier interlock does not open it any more. The way back is a copy of the folder from before.`,
  );
  const second = await interlock(['keys', 'list', '--data', folder, '--json']);
  expect(second.code, second.err).toBe(0);
  expect(second.err).not.toContain('was brought');
});

describe('keys list', () => {
  it('shows what keys are for, whether they are used and when they end, and never a key', async () => {
    const { plane, run } = await admin();
    await run('new', 'for a day', '--kind', 'task-worker', '--expires', '1d', '--rate', '60');
    const list = await run('list');
    expect(list.code).toBe(0);
    const [head = '', first = ''] = list.out.split('\n');
    expect(head).toMatch(/^ID +NAME +KIND +MADE +LAST USED +EXPIRES +STATE +LIMITS$/);
    expect(first).toMatch(
      /^key_\w{26} +for a day +task-worker +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +- +\d{4}-\d\d-\d\d \d\d:\d\d +usable +60\/min$/,
    );
    expect(list.out).toMatch(
      /first admin key +admin +\S+ \S+ +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +never +usable +none/,
    );
    expect(list.err).toMatch(/^Times are those of this machine \(UTC([+-]\d\d:\d\d)?\)\.\n$/);
    expect(list.out).not.toMatch(/il_/);
    const { keys } = JSON.parse((await run('list', '--json')).out);
    expect(keys).toHaveLength(7);
    expect(JSON.stringify(keys)).not.toContain(plane.key('admin'));
  });

  it('needs an admin key, or stands at the data', async () => {
    const plane = await startPlane();
    const refused = await interlock(['keys', 'list'], { env: plane.env('task-producer') });
    expect(refused.code).toBe(77);
    const folder = await data();
    const list = await interlock(['keys', 'list', '--data', folder]);
    expect(list.out).toMatch(/first admin key +admin/);
    const none = await interlock(['keys', 'list', '--data', folder, '--project', 'shop']);
    expect(none).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('Project shop has no keys'),
    });
    expect((await interlock(['keys', 'list', '--data', temporaryFolder()])).code).toBe(66);
  });
});

describe('keys revoke', () => {
  it('revokes by id or by name, says what it means, and does it once', async () => {
    const { plane, run } = await admin();
    const one = JSON.parse((await run('new', 'one', '--kind', 'task-worker', '--json')).out);
    const done = await run('revoke', one.id);
    expect(done.code, done.err).toBe(0);
    expect(done.out).toMatch(
      new RegExp(`^revoked  ${one.id} \\("one", task-worker\\)  \\d{4}-.* ago\\)\\n$`),
    );
    expect(done.err).toMatch(/refused from now on \(401\)[\s\S]*ends as lost/);
    const again = await run('revoke', 'one', '--json');
    expect(JSON.parse(again.out)).toMatchObject({ id: one.id, state: 'revoked' });
    const env = { ...plane.env('admin'), INTERLOCK_ADMIN_KEY: one.key };
    expect((await interlock(['keys', 'list'], { env })).err).toMatch(/was revoked \(/);
  });

  it('wants the id where several have the name, but not for revoked ones', async () => {
    const { run } = await admin();
    const ids: string[] = [];
    for (let i = 0; i < 2; i++)
      ids.push(JSON.parse((await run('new', 'twin', '--kind', 'task-worker', '--json')).out).id);
    const refused = await run('revoke', 'twin');
    expect(refused.code).toBe(64);
    for (const id of ids) expect(refused.err).toContain(id);
    await run('revoke', ids[0] ?? '');
    expect((await run('revoke', 'twin')).out).toContain(ids[1]);
  });

  it('tells what is not there, and what to do about the last admin key', async () => {
    const { run } = await admin();
    expect(await run('revoke', 'nobody')).toMatchObject({
      code: 66,
      err: expect.stringMatching(/no key named "nobody" here[\s\S]*keys list/),
    });
    expect((await run('revoke', `key_${'0'.repeat(26)}`)).code).toBe(66);
    const last = await run('revoke', 'first admin key');
    expect(last.code).toBe(79);
    expect(last.err).toMatch(/last [\s\S]*admin key[\s\S]*Make another admin key first/);
    expect(last.err).toMatch(
      /next +Make another first: .*keys new "admin" --kind admin\. Or .*keys revoke key_\w+ --data/,
    );
    expect(last.err).not.toContain('tasks show');
  });

  it('revokes the last admin key on the machine itself, and another is made there', async () => {
    const folder = await data();
    const done = await interlock(['keys', 'revoke', 'first admin key', '--data', folder]);
    expect(done, done.err).toMatchObject({ code: 0 });
    expect(
      (await interlock(['keys', 'new', 'next', '--kind', 'admin', '--data', folder])).code,
    ).toBe(0);
    const list = await interlock(['keys', 'list', '--data', folder]);
    expect(list.out).toMatch(/next +admin .* usable[\s\S]*first admin key +admin .* revoked/);
    // It is not taken for a fresh one.
    const served = await serveControlPlane({
      listen: '127.0.0.1:0',
      data: folder,
      clock: systemClock(),
      random: systemRandom(),
      log: silent,
    });
    onTestFinished(() => served.stop());
    expect(served.adminKey).toBeUndefined();
  });
});

it('warns in doctor of a key that ends soon', async () => {
  const { plane, run } = await admin();
  const doctor = async (expires: string) => {
    const made = await run('new', 'x', '--kind', 'task-operator', '--expires', expires, '--json');
    const env = { INTERLOCK_URL: plane.url, INTERLOCK_OPERATOR_KEY: JSON.parse(made.out).key };
    return (await interlock(['tasks', 'doctor'], { env })).out;
  };
  expect(await doctor('3d')).toMatch(
    /warn +key +task-operator of project default, .*expires in (?:3 d|2 d 23 h) [\s\S]*interlock keys new/,
  );
  expect(await doctor('60d')).toMatch(/ok +key +task-operator of project default/);
});

it('shows who acted in the journal of a task', async () => {
  const { plane, run } = await admin();
  const env = plane.env('admin');
  const made = JSON.parse(
    (await run('new', 'Ada on call', '--kind', 'task-operator', '--json')).out,
  );
  const { out } = await interlock(['tasks', 'submit', 'demo/hello', '--input', '{}', '--json'], {
    env,
  });
  const { id } = JSON.parse(out);
  const operator = { INTERLOCK_URL: plane.url, INTERLOCK_OPERATOR_KEY: made.key };
  expect((await interlock(['tasks', 'cancel', id], { env: operator })).code).toBe(0);
  const events = await interlock(['tasks', 'events', id], { env });
  expect(events.out).toMatch(new RegExp(`cancelled .*by "Ada on call" \\(key:${made.id}\\)`));
});
