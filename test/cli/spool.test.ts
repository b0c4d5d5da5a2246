import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RealSpools } from '../spool/real-spool.ts';
import { interlock } from './run.ts';
import {
  complete,
  fullSpool,
  META,
  nextStart,
  openGarage,
  owedReports,
  refuse,
  smallReport,
  tokenOf,
} from './spool-world.ts';
import { temporaryFolder } from './world.ts';

type Entry = Record<string, unknown> & { state: string; id: string; taskId?: string; file: string };

const spool = (folder: string, ...argv: string[]) =>
  interlock(['spool', ...argv, '--spool', folder]);

async function entries(folder: string, ...argv: string[]): Promise<Entry[]> {
  const { out, code } = await spool(folder, 'list', '--json', ...argv);
  expect(code).toBe(0);
  return JSON.parse(out).entries;
}

const names = (folder: string, kind: string) => readdirSync(join(folder, kind));
const person = { terminal: { out: true, err: true, in: true } };

describe('spool list', () => {
  it('shows all that lies there in one table, beside the worker, and changes nothing', async () => {
    const { folder, spool: open } = await fullSpool();
    const before = readdirSync(folder, { recursive: true }).sort();
    const { code, out, err } = await spool(folder, 'list');
    expect(code).toBe(0);
    const [head = '', ...rows] = out.trimEnd().split('\n');
    expect(head.split(/ +/)).toEqual(['STATE', 'AGE', 'TASK', 'TYPE', 'REPORT', 'BYTES', 'NOTE']);
    expect(rows.map((row) => row.replace(/ +/g, ' '))).toEqual([
      expect.stringMatching(/^owed \S+ m?s tsk_owed demo\/hello@1 complete \d+$/),
      expect.stringMatching(/^running \S+ m?s tsk_running demo\/hello@1 \d+ not begun$/),
      expect.stringMatching(/^stale .+ 409 STALE_ATTEMPT: .+ \(kept as a late report\)$/),
      expect.stringMatching(/^refused .+ tsk_large .+ 413 PAYLOAD_TOO_LARGE: The body has/),
      expect.stringMatching(
        /^corrupt .+ reports-0+1-[0-9a-f]{8}-2\.jsonl \d+ reports\/.+, line 2: does/,
      ),
    ]);
    expect(err).toContain('1 owed, 1 running, 1 stale, 1 refused, 1 corrupt');
    expect(err).toContain('for project default at http://127.0.0.1:7420');
    expect(err).toMatch(/worker garage \(process \d+ on .+\) has it and runs since/);
    const flag = ` --spool ${folder}`;
    expect(err).toContain('interlock tasks resolve tsk_late --as late-report --reason "…"');
    expect(err).toContain(
      'refused: tsk_large cannot be delivered any more, its task has ended with RESULT_REFUSED.',
    );
    expect(err).toContain(`interlock spool show tsk_large --full --json${flag}; to let it go:`);
    expect(err).toMatch(
      /corrupt: check the disk. What is left of it: \S*interlock spool show reports-\S+\.jsonl --spool /,
    );
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual(before);
    await open.close();
  });

  it('has the same in JSON, whose names stay', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    const { out } = await spool(folder, 'list', '--json');
    const list = JSON.parse(out);
    expect(list).toMatchObject({ folder, owner: { workerId: 'garage', state: 'closed' } });
    const common = ['at', 'ageMs', 'attemptId', 'bytes', 'fence', 'file', 'id', 'project'];
    const record = [
      ...common,
      'schemaVersion',
      'serviceUrl',
      'state',
      'taskId',
      'type',
      'workerId',
    ];
    const report = [...record, 'followUp', 'op'];
    const keys = list.entries.map((entry: object) => Object.keys(entry).sort());
    expect(keys).toEqual(
      [
        report,
        [...record, 'begun'],
        [...report, 'answer'],
        [...report, 'answer'],
        ['at', 'ageMs', 'bytes', 'file', 'id', 'state', 'why'],
      ].map((each) => each.sort()),
    );
    expect(list.entries[2].answer).toEqual({
      status: 409,
      code: 'STALE_ATTEMPT',
      says: 'Its outcome is kept as a late report.',
      recorded: true,
    });
    expect(await entries(folder, '--state', 'stale', '--state', 'refused')).toHaveLength(2);
  });

  it('shows where each belongs only if that differs, and a line that no start has set aside yet', async () => {
    const { folder, spool: open } = await openGarage();
    await open.writeReport(complete('a'), META);
    await open.writeReport(complete('b'), { ...META, project: 'shop' });
    await open.close();
    const [name = ''] = names(folder, 'reports');
    writeFileSync(join(folder, 'reports', name), 'damaged\n', { flag: 'a' });
    const { out } = await spool(folder, 'list');
    expect(out).toMatch(/tsk_b .+ project shop at http:\/\/127\.0\.0\.1:7420/);
    const [bad] = await entries(folder, '--state', 'corrupt');
    expect(bad).toMatchObject({ id: `reports/${name}:3`, line: 3, why: expect.any(String) });
    expect((await spool(folder, 'show', `reports/${name}:3`)).out).toMatch(/\n {2}damaged\n/);
    expect((await spool(folder, 'discard', `reports/${name}:3`, '--yes')).code).toBe(79);
  });

  it('of an empty one says so; a folder that no worker has used, and bad input, are refused', async () => {
    const { folder, spool: open } = await openGarage();
    await open.close();
    expect(await spool(folder, 'list')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringMatching(/^Nothing in .+ gave it back in order/),
    });
    const nowhere = join(temporaryFolder(), 'nowhere');
    expect(await spool(nowhere, 'list')).toMatchObject({
      code: 66,
      err: expect.stringContaining('does not exist'),
    });
    expect(existsSync(nowhere)).toBe(false);
    expect(await spool(temporaryFolder(), 'list')).toMatchObject({
      code: 66,
      err: expect.stringContaining('is no spool: no worker has used it'),
    });
    expect(await spool(folder, 'list', '--state', 'refuse')).toMatchObject({
      code: 64,
      err: expect.stringMatching(/--state "refuse" is none of .+ Did you mean refused\?/),
    });
  });

  it('names the attempt where the task has others there: discarding one must not take them along', async () => {
    const { folder, spool: open } = await openGarage();
    await refuse(open, complete('large'));
    const lost = { ...complete('second'), taskId: 'tsk_large' };
    const late = await open.writeReport(lost, META);
    await open.setAside(late, 'stale', { status: 409, problem: { code: 'STALE_ATTEMPT' } });
    await open.close();
    const { err } = await spool(folder, 'list');
    expect(err).toContain(`interlock spool discard att_second --spool ${folder}`);
    expect(err).toContain(`interlock spool discard att_large --spool ${folder}`);
    expect(err).not.toContain('discard tsk_large');
  });

  it('leads from a folder that is no spool to the one that npm start keeps', async () => {
    const cwd = temporaryFolder();
    const { spool: open } = await openGarage(join(cwd, '.interlock/spool'));
    await open.close();
    mkdirSync(join(cwd, 'below/spool'), { recursive: true });
    const argv = ['spool', 'list', '--spool', './spool'];
    const { code, err } = await interlock(argv, { cwd: join(cwd, 'below') });
    expect(code).toBe(66);
    expect(err).toMatch(/interlock spool list --spool \.\.\/\.interlock\/spool; that of another/);
  });

  it('says of a late report what it means, also where nothing can be taken', async () => {
    const { folder, spool: open } = await openGarage();
    const late = await open.writeReport(complete('late'), META);
    await open.setAside(late, 'stale', { status: 409, problem: { code: 'STALE_ATTEMPT' } });
    await open.close();
    const { err } = await spool(folder, 'list');
    expect(err).toContain('stale: it came too late to change a task. To look: ');
    expect(err).toContain(`interlock spool discard tsk_late --spool ${folder}`);
    expect(err).not.toContain('resolve');
  });

  it('finds the folder of a worker by its name', async () => {
    const state = temporaryFolder();
    const { spool: open } = await openGarage(join(state, 'interlock/spool/garage'));
    await open.close();
    const env = { XDG_STATE_HOME: state };
    const argv = ['spool', 'list', '--json', '--worker-id', 'garage'];
    const { code, out } = await interlock(argv, { env });
    if (process.platform === 'linux') expect(code).toBe(0);
    if (process.platform === 'linux')
      expect(JSON.parse(out).folder).toBe(join(state, 'interlock/spool/garage'));
  });

  it('is refused where others could have written', async () => {
    const { folder, spool: open } = await openGarage();
    await open.close();
    rmSync(join(folder, 'refused'), { recursive: true });
    symlinkSync(temporaryFolder(), join(folder, 'refused'));
    expect(await spool(folder, 'list')).toMatchObject({
      code: 82,
      err: expect.stringContaining('symbolic link'),
    });
  });
});

describe('spool show', () => {
  it('shows a record by task, attempt, file or the beginning of one, never its lease token', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    const file = names(folder, 'refused')[0] ?? '';
    for (const id of [
      'tsk_large',
      'att_large',
      'att_lar',
      `refused/${file}`,
      file,
      join(folder, 'refused', file),
    ]) {
      const { code, out } = await spool(folder, 'show', id);
      expect(code, id).toBe(0);
      expect(out).toMatch(/^state {8}refused, set aside /);
      expect(out).toContain('answer       413 PAYLOAD_TOO_LARGE: The body has 4200000 bytes');
      expect(out).toContain('lease token  masked');
      expect(out).toMatch(/… \d{4} more characters: --full/);
    }
    const all = [
      ...(await entries(folder)).flatMap(({ id }) => [
        ['show', id, '--full'],
        ['show', id, '--full', '--json'],
      ]),
      ['list'],
      ['list', '--json'],
    ];
    for (const argv of all) {
      const { code, out, err } = await spool(folder, ...argv);
      expect(code, argv.join(' ')).toBe(0);
      expect(out + err).not.toMatch(/Secret/);
    }
  });

  it('cuts a long result unless all of it is asked for', async () => {
    const { folder, spool: open } = await openGarage();
    const text = 'y'.repeat(5_000);
    await open.writeReport(complete('a', { text, token: tokenOf('a') }), META);
    await open.close();
    const cut = JSON.parse((await spool(folder, 'show', 'tsk_a', '--json')).out).entries[0].report;
    expect(cut.resultStart).toHaveLength(2_000);
    expect(cut).toMatchObject({ resultChars: expect.any(Number) });
    const full = JSON.parse((await spool(folder, 'show', 'tsk_a', '--json', '--full')).out);
    // A handler that was told its own token and returned it.
    expect(full.entries[0].report).toEqual({ result: { text, token: '(masked)' } });
  });

  it('shows what is left of a corrupt line, escaped, and why it could not be read', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    const [corrupt] = await entries(folder, '--state', 'corrupt');
    const { out } = await spool(folder, 'show', corrupt?.id ?? '');
    expect(out).toContain('line 2: does not end in a checksum');
    expect(out).toContain(
      '{"v":1, "kind":"report","leaseToken":"(masked)","x":"\\x07\\x1b[2J\\xff',
    );
    // A set-aside that was itself damaged.
    const [refused] = await entries(folder, '--state', 'refused');
    writeFileSync(join(folder, refused?.file ?? ''), `{"leaseTokeX":"${tokenOf('b')}"}\n`);
    const [damaged] = await entries(folder, '--state', 'refused');
    expect(damaged?.why).toContain('checksum');
    expect((await spool(folder, 'show', damaged?.id ?? '')).out).toContain(
      '{"leaseTokeX":"(masked)"}',
    );
    expect(await spool(folder, 'retry', damaged?.id ?? '')).toMatchObject({
      code: 74,
      out: expect.stringMatching(/^left .+ its record does not end in a checksum/),
      err: expect.stringMatching(/could not be put back: .+checksum.+spool show .+ --spool /s),
    });
    rmSync(join(folder, damaged?.file ?? ''));
    symlinkSync('/dev/zero', join(folder, damaged?.file ?? ''));
    expect(await spool(folder, 'retry', '--all')).toMatchObject({
      code: 74,
      out: expect.stringMatching(/^left .+ it cannot be read: is a symbolic link/),
    });
  });

  it('refuses a name of nothing and a beginning of several', async () => {
    const { folder, spool: open } = await openGarage();
    for (const id of ['twin_1', 'twin_2']) await open.writeReport(complete(id), META);
    await open.close();
    expect(await spool(folder, 'show', 'tsk_nothing')).toMatchObject({ code: 66 });
    expect(await spool(folder, 'show', 'tsk_twin')).toMatchObject({
      code: 64,
      err: expect.stringContaining('is the beginning of 2 names: tsk_twin_1, tsk_twin_2'),
    });
    expect((await spool(folder, 'show')).code).toBe(64);
  });
});

describe('spool retry', () => {
  it('is refused beside the worker, whom it names, and harms nothing', async () => {
    const { folder, spool: open } = await fullSpool();
    const before = names(folder, 'refused');
    const { code, err, out } = await spool(folder, 'retry', 'tsk_large', '--force');
    expect({ code, out }).toEqual({ code: 81, out: '' });
    expect(err).toMatch(
      /held by worker "garage" \(process \d+ on .+, since 20.+\), which is running/,
    );
    expect(err).toContain('tasks drain garage');
    expect(names(folder, 'refused')).toEqual(before);
    await open.writeReport(complete('after'), META);
    expect(open.stats()).toMatchObject({ ok: true });
    await open.close();
  });

  it('puts a refused report back, and the next start owes it; by the task as well as the attempt', async () => {
    for (const args of [['tsk_large', '--force'], ['att_large', '--force'], ['--all']]) {
      const { folder, spool: open } = await openGarage();
      const small = await refuse(open, complete('large', { big: true }), false);
      const waits = args[0] === '--all';
      // As where a proxy took neither.
      if (waits) await open.setAside(small, 'refused', { status: 413 });
      else await open.answered(small);
      await open.close();
      const ownerBefore = readFileSync(join(folder, 'owner.json'), 'utf8');
      const { code, out, err } = await spool(folder, 'retry', ...args);
      expect(code).toBe(0);
      expect(out).toMatch(
        waits
          ? /^retried {2}tsk_large {2}complete {2}as it was\nleft /
          : /^retried {2}tsk_large {2}complete {2}its task has ended: this one can change nothing/,
      );
      expect(err).toContain('Start the worker of this spool: it sends it first.');
      expect(names(folder, 'refused')).toHaveLength(waits ? 1 : 0);
      // The next worker names the sessions before it, and this was none.
      expect(readFileSync(join(folder, 'owner.json'), 'utf8')).toBe(ownerBefore);
      expect(existsSync(join(folder, 'owner.lock'))).toBe(false);
      expect(await nextStart(folder)).toBe(1);
      expect(await owedReports(folder)).toEqual([complete('large', { big: true })]);
    }
  });

  it('takes the place of the small report while that one waits', async () => {
    const { folder, spool: open } = await openGarage();
    await refuse(open, complete('large'), false);
    await open.close();
    const { out } = await spool(folder, 'retry', 'tsk_large', '--json');
    expect(JSON.parse(out)).toEqual({
      folder,
      retried: [
        {
          id: 'att_large',
          taskId: 'tsk_large',
          file: expect.stringMatching(/^reports\/\d{12}-[0-9a-f]{8}\.jsonl$/),
          replaces: true,
        },
      ],
      left: [],
    });
    expect(await nextStart(folder)).toBe(1);
    expect((await owedReports(folder)).map(({ op }) => op)).toEqual(['complete']);
  });

  it('of a report and the one that stood in for it, both refused, puts the whole one back', async () => {
    const { folder, spool: open } = await openGarage();
    const small = await refuse(open, complete('large'), false);
    await open.setAside(small, 'refused', { status: 422 });
    await open.forget('att_large');
    await open.close();
    const { out } = await spool(folder, 'retry', '--all');
    expect(out).toMatch(
      /^retried .+ complete .+\nleft .+ the report that it stands in for was put back\n$/,
    );
    expect(await nextStart(folder)).toBe(1);
    expect((await owedReports(folder)).map(({ op }) => op)).toEqual(['complete']);
    // Alone it goes back too, and as the later one it counts.
    expect((await spool(folder, 'retry', '--all')).out).toMatch(/^retried {2}tsk_large {2}fail/);
    expect(await nextStart(folder)).toBe(1);
    expect(await owedReports(folder)).toEqual([smallReport('large')]);
  });

  it('refuses what it can do no good for, with the reason; --force sends a stale one again', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    const refused = async (id: string, words: RegExp) =>
      expect(await spool(folder, 'retry', id)).toMatchObject({
        code: 79,
        out: '',
        err: expect.stringMatching(words),
      });
    await refused(
      'tsk_late',
      /came too late: the control plane had ended its attempt.+resolve tsk_late --as late-report --reason "…".+--force/s,
    );
    await refused(
      'tsk_large',
      /cannot be delivered any more: its task has ended with RESULT_REFUSED.+spool show tsk_large --full --json --spool \S+; to let it go: \S*interlock spool discard tsk_large --spool .+--force/s,
    );
    const all = await spool(folder, 'retry', '--all');
    expect(all).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^left {5}tsk_large {2}its task has ended with RESULT_REFUSED: it/,
      ),
      err: expect.stringContaining('interlock spool show tsk_large --full --json --spool '),
    });
    await refused('tsk_owed', /waits to be sent already/);
    await refused('tsk_running', /has no report yet/);
    const [corrupt] = await entries(folder, '--state', 'corrupt');
    await refused(corrupt?.id ?? '', /cannot be read, so it cannot be sent/);
    const forced = await spool(folder, 'retry', 'tsk_late', '--force');
    expect(forced).toMatchObject({ code: 0, out: expect.stringMatching(/^retried {2}tsk_late/) });
    expect(await nextStart(folder)).toBe(2);
    const owed = (await owedReports(folder)).map(({ taskId }) => taskId);
    expect(owed).toEqual(['tsk_owed', 'tsk_late']);
  });

  it('takes the spool of a worker that was killed, which the next one still knows', async () => {
    const spools = await RealSpools.make();
    onTestFinished(() => spools.end());
    const first = await spools.open({ sessionId: 'ses_first' });
    await refuse(first, complete('large'));
    await first.close();
    const child = spools.start('ses_killed');
    await child.message('opened');
    await child.kill();
    expect((await spool(spools.folder, 'retry', 'tsk_large', '--force')).code).toBe(0);
    const next = await spools.open({ sessionId: 'ses_next' });
    expect(next.earlierSessions).toEqual(['ses_killed', 'ses_first']);
    expect(next.predecessor?.went).toBe('died');
    expect(next.stats()).toMatchObject({ pending: 1, setAside: { refused: 0 } });
  });

  it('wants an id or --all, and says when nothing was refused', async () => {
    const { folder, spool: open } = await openGarage();
    await open.close();
    expect((await spool(folder, 'retry')).err).toContain('spool retry needs an id or --all.');
    expect((await spool(folder, 'retry', 'x', '--all')).err).toContain('an id or --all, not both');
    expect((await spool(folder, 'retry', '--all', '--force')).err).toContain(
      '--force goes with an id',
    );
    expect(await spool(folder, 'retry', '--all')).toMatchObject({
      code: 0,
      err: expect.stringContaining('No report in'),
    });
  });
});

describe('spool discard', () => {
  it('tells what is lost and asks a person; no is no', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    const argv = ['spool', 'discard', 'tsk_large', '--spool', folder];
    const no = await interlock(argv, { ...person, input: 'n\n' });
    expect(no.code).toBe(0);
    expect(no.err).toContain(
      '1 refused will be lost for good, among them the result of a task that the control plane has not got.',
    );
    expect(no.err).toContain('Discard it? [y/N] Nothing was discarded.');
    expect((await interlock(argv, { ...person, input: '' })).err).toContain(
      'Nothing was discarded',
    );
    expect(names(folder, 'refused')).toHaveLength(1);
    const yes = await interlock(argv, { ...person, input: 'y\n' });
    expect(yes).toMatchObject({ code: 0, out: 'discarded 1 refused\n' });
    expect(names(folder, 'refused')).toEqual([]);
    expect(names(folder, 'stale')).toHaveLength(1);
  });

  it('does not call discarded what somebody has put back while it asked', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    async function* afterRetry() {
      const retried = await spool(folder, 'retry', 'tsk_large', '--force');
      expect(retried.code).toBe(0);
      yield 'y\n';
    }
    const argv = ['spool', 'discard', 'tsk_large', '--spool', folder];
    expect(await interlock(argv, { ...person, stdin: afterRetry() })).toMatchObject({
      code: 79,
      out: '',
      err: expect.stringMatching(
        /It was no longer there: put back meanwhile \(interlock spool retry\).+interlock spool list --spool /s,
      ),
    });
    expect((await owedReports(folder)).map(({ taskId }) => taskId)).toContain('tsk_large');
  });

  it('needs --yes where nobody can be asked, and tells what would be lost', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    expect(await spool(folder, 'discard', '--all')).toMatchObject({
      code: 64,
      out: '',
      err: expect.stringMatching(
        /needs --yes .+ 1 stale, 1 refused, 1 corrupt will be lost for good/,
      ),
    });
    const { code, out } = await spool(folder, 'discard', '--all', '--yes', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      folder,
      discarded: [
        { state: 'stale', taskId: 'tsk_late' },
        { state: 'refused' },
        { state: 'corrupt' },
      ],
      left: [],
    });
    expect((await entries(folder)).map(({ state }) => state)).toEqual(['owed', 'running']);
  });

  it('works beside the worker, and never takes what that has still to send', async () => {
    const { folder, spool: open } = await fullSpool();
    expect((await spool(folder, 'discard', '--all', '--state', 'stale', '-y')).out).toBe(
      'discarded 1 stale\n',
    );
    for (const id of ['tsk_owed', 'att_running'])
      expect(await spool(folder, 'discard', id, '--yes')).toMatchObject({
        code: 79,
        err: expect.stringContaining('was not set aside'),
      });
    await open.close();
    expect(await nextStart(folder)).toBe(1);
    const left = (await entries(folder)).map(({ taskId }) => taskId);
    expect(left).toEqual(['tsk_owed', 'tsk_running', 'tsk_large', undefined]);
  });

  it('takes only what is older, by its own record', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    expect((await spool(folder, 'discard', '--older-than', '7d', '--yes')).err).toContain(
      'Nothing in',
    );
    expect((await spool(folder, 'discard', '--older-than', '0s', '--yes')).out).toBe(
      'discarded 1 stale, 1 refused, 1 corrupt\n',
    );
  });

  it.each([
    [[], /needs an id, --all or --older-than/],
    [['tsk_a', '--all'], /needs one of an id, --all and --older-than, not several/],
    [['--older-than', 'soon'], /--older-than "soon" is no duration: write 7d/],
    [['--all', '--state', 'stael'], /--state "stael" is none of .+ Did you mean stale\?/],
  ])('refuses %j', async (argv, words) => {
    const { folder, spool: open } = await openGarage();
    await open.close();
    const { code, err } = await spool(folder, 'discard', ...argv);
    expect(code).toBe(64);
    expect(err).toMatch(words);
  });

  it('does not follow a link in the folder', async () => {
    const { folder, spool: open } = await fullSpool();
    await open.close();
    const outside = join(temporaryFolder(), 'mine.jsonl');
    writeFileSync(outside, 'mine\n');
    symlinkSync(outside, join(folder, 'refused', 'link.jsonl'));
    mkdirSync(join(folder, 'stale', 'folder.jsonl'));
    expect((await spool(folder, 'discard', '--all', '--yes')).out).toContain('discarded');
    expect(statSync(outside).size).toBe(5);
    expect((await entries(folder, '--state', 'unreadable')).map(({ file }) => file).sort()).toEqual(
      ['refused/link.jsonl', 'stale/folder.jsonl'],
    );
  });
});
