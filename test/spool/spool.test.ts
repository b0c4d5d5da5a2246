import { describe, expect, it } from 'vitest';
import { spoolDefaults } from '../../src/core/defaults.ts';
import {
  bodies,
  complete,
  FOLDER,
  files,
  four,
  held,
  META,
  open,
  reportIds,
  restart,
  runningIds,
  start,
} from './world.ts';

describe('reports', () => {
  it('are there for the next session, word for word, in their order, with where they belong', async () => {
    const { machine, process, spool } = await start({ project: 'home' });
    const results = [
      { deep: [1.1, 1e300, 'Grüße 世界 \u0000', null, { __proto__: 1 }] },
      JSON.parse('{"__proto__":{"x":1},"b":2,"a":1}'),
      '\ud83d\ude00',
    ];
    for (const [i, result] of results.entries())
      await spool.writeReport(complete(`att_${i}`, result), {
        ...META,
        workedAt: { startedAt: '2026-01-01T00:00:01.000Z' },
      });
    const next = await restart(machine, process);
    expect((await bodies(next.spool)).map((report) => JSON.stringify(report))).toEqual(
      results.map((result, i) => JSON.stringify(complete(`att_${i}`, result))),
    );
    expect(next.spool.recovered.reports[0]).toMatchObject({
      serviceUrl: 'http://127.0.0.1:7420',
      project: 'home',
      workerId: 'garage',
      sessionId: expect.stringMatching(/^ses_/),
      ...META,
      workedAt: { startedAt: '2026-01-01T00:00:01.000Z' },
      followUp: false,
    });
  });

  it('lie in one file if they were ready together, and leave it one by one', async () => {
    const { machine, process, spool } = await start();
    const three = await Promise.all(
      ['att_a', 'att_b', 'att_c'].map((id) => spool.writeReport(complete(id), META)),
    );
    expect(files(machine)).toHaveLength(1);
    expect(spool.stats()).toMatchObject({ pending: 3, oldestMs: 0, ok: true });
    await spool.answered(three[1]!);
    await spool.idle();
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual(['att_a', 'att_c']);
    for (const report of next.spool.recovered.reports) await next.spool.answered(report);
    await next.spool.idle();
    expect(files(machine)).toEqual([]);
    expect(next.spool.stats()).toMatchObject({ pending: 0, bytes: 0, oldestMs: null });
  });

  it('that were ready together do not go with the first that is answered', async () => {
    const { machine, process, spool } = await start();
    await Promise.all(
      ['att_a', 'att_b', 'att_c'].map(async (id) => {
        const report = await spool.writeReport(complete(id), META);
        if (id === 'att_a') await spool.answered(report);
      }),
    );
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual(['att_b', 'att_c']);
  });

  it('wait for a sync that began after they were there', async () => {
    const { machine, spool } = await start();
    const slow = machine.disk.fail({ step: 'syncFile', path: /reports/, ms: 100 });
    const first = spool.writeReport(complete('att_a'), META);
    await machine.clock.advance(50);
    const second = spool.writeReport(complete('att_b'), META);
    await machine.clock.time.until(first);
    await Promise.race([second, machine.clock.time.settle()]);
    slow.clear();
    machine.powerCut();
    expect(reportIds(await open(machine.start()))).toEqual(['att_a']);

    const again = await start();
    again.machine.disk.fail({ step: 'syncFile', path: /reports/, ms: 100, times: 2 });
    const both = ['att_a', 'att_b'].map(async (id, i) => {
      await again.machine.clock.sleep(i * 50);
      return again.spool.writeReport(complete(id), META);
    });
    await again.machine.clock.time.until(Promise.all(both));
    again.machine.powerCut();
    expect(reportIds(await open(again.machine.start()))).toEqual(['att_a', 'att_b']);
  });

  it('are gone once answered, also if told twice', async () => {
    const { machine, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    expect(spool.has('att_a')).toBe(true);
    await Promise.all([spool.answered(report), spool.answered(report)]);
    await spool.answered(report);
    await spool.idle();
    expect(spool.has('att_a')).toBe(false);
    expect(files(machine)).toEqual([]);
    expect(spool.stats().pending).toBe(0);
  });

  it('take the place of an earlier report of their attempt', async () => {
    const { machine, process, spool } = await start();
    const first = await spool.writeReport(complete('att_a', 1), META);
    const second = await spool.writeReport(complete('att_a', 2), META);
    await spool.answered(first);
    await spool.idle();
    expect(spool.stats().pending).toBe(1);
    const next = await restart(machine, process);
    expect(second.head).toMatchObject({ op: 'complete', attemptId: 'att_a' });
    expect(await bodies(next.spool)).toEqual([complete('att_a', 2)]);
  });

  it('of one attempt never share a file, even if they come together', async () => {
    const { machine, process, spool } = await start();
    await Promise.all([1, 2, 3].map((n) => spool.writeReport(complete('att_a', n), META)));
    await spool.idle();
    expect(files(machine)).toHaveLength(1);
    const next = await restart(machine, process);
    expect(await bodies(next.spool)).toEqual([complete('att_a', 3)]);
  });

  it('tell their age and their bytes', async () => {
    const { machine, spool } = await start();
    await spool.writeReport(complete('att_a'), META);
    await machine.clock.advance(90_000);
    const second = await spool.writeReport(complete('att_b'), META);
    expect(spool.stats()).toMatchObject({ pending: 2, oldestMs: 90_000 });
    expect(spool.stats().bytes).toBe(second.bytes * 2);
  });

  it('carry the project once it is known', async () => {
    const { spool } = await start();
    expect(await spool.writeReport(complete('att_a'), META)).not.toHaveProperty('project');
    spool.useProject('home');
    expect((await spool.writeReport(complete('att_b'), META)).project).toBe('home');
    const other = await spool.writeReport(complete('att_c'), { ...META, project: 'other' });
    expect(other.project).toBe('other');
  });

  it('never appear with their token in the log', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_r')]);
    const report = await spool.writeReport(complete('att_a'), META);
    await spool.setAside(report, 'stale', { status: 409 });
    machine.disk.fail({ code: 'EIO', step: 'append', path: /reports/, times: 1 });
    await expect(spool.writeReport(complete('att_b'), META)).rejects.toThrow();
    const next = await restart(machine, process);
    expect(process.log.text() + next.process.log.text()).not.toContain('token-of');
  });
});

describe('running records', () => {
  it('are there for the next session until a report says how it went', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim(['att_a', 'att_b', 'att_c', 'att_d'].map((id) => held(id)));
    await spool.markBegun('att_a');
    await spool.markBegun('att_b');
    await spool.markBegun('att_unknown');
    await spool.writeReport(complete('att_b'), META);
    await spool.forget('att_c');
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual(['att_b']);
    expect(next.spool.recovered.running.map(({ attemptId, begun }) => [attemptId, begun])).toEqual([
      ['att_a', true],
      ['att_d', false],
    ]);
    expect(next.spool.recovered.running[0]).toMatchObject({
      ...held('att_a'),
      serviceUrl: 'http://127.0.0.1:7420',
      workerId: 'garage',
    });
  });

  it('come with what the handler said last, when it began, and in which host', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_a'), held('att_b'), held('att_c')]);
    await spool.markBegun('att_a', 'ses_1/1');
    await spool.markProgress('att_a', { percent: 10, message: 'first' });
    await spool.markProgress('att_a', { percent: 20 });
    await spool.markProgress('att_c', { message: 'said before its beginning was marked' });
    await spool.markProgress('att_unknown', { percent: 1 });
    await spool.markBegun('att_b');
    const at = new Date(process.clock.wall()).toISOString();
    const next = await restart(machine, process);
    const [a, b, c] = next.spool.recovered.running;
    expect(a).toMatchObject({ begun: true, begunAt: at, host: 'ses_1/1' });
    expect(a?.lastProgress).toEqual({ percent: 20, at });
    expect(b).not.toHaveProperty('host');
    expect(b).not.toHaveProperty('lastProgress');
    expect(c).toMatchObject({ begun: false, lastProgress: { at } });
    expect(next.spool.recovered.corrupt).toBe(0);
  });

  it('hold nothing but what is needed to end the attempt', async () => {
    const { machine, spool } = await start();
    const attempt = { ...held('att_a'), input: 'a private matter', checkpoint: 1 };
    await spool.recordClaim([attempt]);
    expect(JSON.stringify(machine.disk.platter.tree())).not.toContain('private');
  });

  it('end with the report that an earlier session’s attempt is lost', async () => {
    const { machine, process, spool } = await start();
    await spool.recordClaim([held('att_a'), held('att_b')]);
    const next = await restart(machine, process);
    const reports = [];
    for (const { attemptId, begun } of next.spool.recovered.running) {
      const lost = { op: 'lost', ...four(attemptId), reason: 'worker-restarted', begun } as const;
      reports.push(await next.spool.writeReport(lost, META));
    }
    await next.spool.idle();
    expect(files(machine).filter((name) => name.startsWith('running'))).toEqual([]);
    const third = await restart(machine, next.process);
    expect(reportIds(third.spool)).toEqual(['att_a', 'att_b']);
    expect(runningIds(third.spool)).toEqual([]);
  });

  it('of a claim go when the last of them is done', async () => {
    const { machine, spool } = await start();
    await spool.recordClaim([held('att_a'), held('att_b', 'pure')]);
    await spool.recordClaim([held('att_a')]);
    expect(files(machine)).toHaveLength(1);
    await spool.forget('att_a');
    expect(files(machine)).toHaveLength(1);
    await spool.forget('att_b');
    await spool.forget('att_b');
    await spool.idle();
    expect(files(machine)).toEqual([]);
  });

  it('are followed by what is said of them while they are being written', async () => {
    const { machine, process, spool } = await start();
    machine.disk.fail({ step: 'append', path: /running/, ms: 100, times: 1 });
    const recorded = spool.recordClaim([held('att_a', 'pure'), held('att_b', 'pure')]);
    // By then they are on their way.
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
    void spool.markBegun('att_b', 'host-1');
    const report = await spool.writeReport(complete('att_a'), META);
    await machine.clock.time.until(Promise.all([recorded, spool.answered(report)]));
    await spool.markProgress('att_b', { percent: 5 });
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual([]);
    expect(next.spool.recovered.running).toMatchObject([
      { attemptId: 'att_b', begun: true, host: 'host-1', lastProgress: { percent: 5 } },
    ]);
  });

  it('go before the answered report does: a kill in between leaves no record without its report', async () => {
    const { machine, spool } = await start();
    await spool.recordClaim([held('att_a')]);
    machine.disk.fail({ step: 'append', path: /running/, ms: 100 });
    const report = await spool.writeReport(complete('att_a'), META);
    const answered = spool.answered(report);
    const marks = () =>
      Object.values(machine.disk.platter.tree())
        .join('')
        .match(/"mark":"\w+"/g);
    await machine.clock.advance(99);
    expect(marks()).toBeNull();
    await machine.clock.time.until(answered);
    expect(marks()).toEqual(['"mark":"answered"', '"mark":"ended"']);
    expect(machine.disk.trace.slice(-2)).toEqual([
      expect.stringMatching(/^append .*\/running\//),
      expect.stringMatching(/^append .*\/reports\//),
    ]);
    await machine.clock.advance(spoolDefaults.segmentLingerMs + 1_000);
    expect(files(machine)).toEqual([]);
  });

  it('cost no fsync for attempts that may be repeated', async () => {
    const { machine, spool } = await start();
    const syncs = () => machine.disk.trace.filter((step) => step.startsWith('sync')).length;
    const before = syncs();
    await spool.recordClaim([held('att_a', 'pure'), held('att_b', 'idempotent')]);
    await spool.markBegun('att_a');
    expect(syncs()).toBe(before);
    await spool.recordClaim([held('att_c', 'pure'), held('att_d')]);
    expect(syncs()).toBe(before + 2);
  });
});

describe('set-asides', () => {
  it('as stale are kept with the answer, and never owed again', async () => {
    const { machine, process, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    await spool.setAside(report, 'stale', { status: 409, recorded: true });
    await spool.idle();
    expect(spool.stats()).toMatchObject({ pending: 0, setAside: { stale: 1 } });
    const [name] = files(machine);
    expect(name).toMatch(/^stale\/att_a-complete-[0-9a-f]{16}\.jsonl$/);
    const kept = JSON.parse(machine.disk.platter.tree()[`${FOLDER}/${name}`]!);
    expect(kept).toMatchObject({
      kind: 'stale',
      answer: { status: 409, recorded: true },
      record: { kind: 'report', body: complete('att_a') },
    });
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual([]);
    expect(next.spool.stats().setAside.stale).toBe(1);
  });

  it('as refused stay owed until their follow-up is durable, but are not counted', async () => {
    const { machine, process, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    await spool.setAside(report, 'refused', { status: 413 });
    expect(spool.stats()).toMatchObject({ pending: 0, bytes: 0, setAside: { refused: 1 } });
    // Killed here, the next session sends it again, is refused again and comes to the follow-up.
    const next = await restart(machine, process);
    expect(reportIds(next.spool)).toEqual(['att_a']);
    const again = next.spool.recovered.reports[0]!;
    await next.spool.setAside(again, 'refused', { status: 413 });
    expect(next.spool.stats().setAside.refused).toBe(1);
    const fail = {
      op: 'fail',
      ...four('att_a'),
      error: { code: 'RESULT_REFUSED', message: 'too large', retryable: false },
    } as const;
    const followUp = await next.spool.writeReport(fail, { ...META, followUp: true });
    const third = await restart(machine, next.process);
    expect(third.spool.recovered.reports).toMatchObject([{ followUp: true }]);
    expect(await bodies(third.spool)).toEqual([fail]);
    // The follow-up is refused too: that is the end of it, also for the session after.
    await third.spool.setAside(third.spool.recovered.reports[0]!, 'refused', { status: 400 });
    const fourth = await restart(machine, third.process);
    expect(reportIds(fourth.spool)).toEqual([]);
    expect(fourth.spool.stats().setAside.refused).toBe(2);
    expect(followUp.followUp).toBe(true);
  });

  it('as refused go when nothing follows', async () => {
    const { machine, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    await spool.setAside(report, 'refused', { status: 409 });
    await spool.forget('att_a');
    await spool.idle();
    expect(files(machine).map((name) => name.split('/')[0])).toEqual(['refused']);
  });

  it('are durable before the promise resolves', async () => {
    const { machine, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    await spool.setAside(report, 'stale', { status: 409 });
    machine.powerCut();
    const next = await open(machine.start());
    expect(next.stats().setAside.stale).toBe(1);
    expect(reportIds(next)).toEqual([]);
  });

  it('take ids that are paths for names all the same', async () => {
    const { machine, spool } = await start();
    const report = await spool.writeReport(complete('../../etc/passwd'), META);
    await spool.setAside(report, 'stale', { status: 409 });
    await spool.idle();
    expect(files(machine)).toEqual([
      expect.stringMatching(/^stale\/etcpasswd-complete-[0-9a-f]{16}\.jsonl$/),
    ]);
  });

  it('are removed at a start when their time is over', async () => {
    const { machine, process, spool } = await start();
    const old = await spool.writeReport(complete('att_old'), META);
    await spool.setAside(old, 'stale', { status: 409 });
    await machine.clock.advance(29 * 86_400_000);
    const young = await spool.writeReport(complete('att_young'), META);
    await spool.setAside(young, 'stale', { status: 409 });
    await machine.clock.advance(2 * 86_400_000);
    const next = await restart(machine, process);
    await next.spool.idle();
    expect(files(machine)).toEqual([expect.stringMatching(/att_young/)]);
    expect(next.spool.stats().setAside.stale).toBe(1);
  });
});

describe('sessions', () => {
  it('before this one are known, newest first, at most eight, each once', async () => {
    const { machine, process, spool } = await start({ sessionId: 'ses_first' });
    expect(spool.earlierSessions).toEqual([]);
    let last = process;
    for (let i = 0; i < 12; i++)
      last = (await restart(machine, last, { sessionId: `ses_${'x'.repeat(i + 1)}` })).process;
    const { spool: latest } = await restart(machine, last, { sessionId: 'ses_last' });
    expect(latest.earlierSessions).toHaveLength(8);
    expect(latest.earlierSessions[0]).toBe(`ses_${'x'.repeat(12)}`);
    expect(latest.earlierSessions).not.toContain('ses_last');
  });

  it('are known after a power cut right after the opening', async () => {
    const { machine } = await start({ sessionId: 'ses_cut' });
    machine.powerCut();
    const next = await open(machine.start());
    expect(next.earlierSessions).toEqual(['ses_cut']);
  });

  it('of another worker are not named, but its records are sent', async () => {
    const { machine, process, spool } = await start({ workerId: 'attic' });
    await spool.writeReport(complete('att_a'), META);
    const next = await restart(machine, process, { workerId: 'garage' });
    expect(next.spool.earlierSessions).toEqual([]);
    expect(next.spool.recovered.reports[0]).toMatchObject({ workerId: 'attic' });
  });

  it('are learnt from running records where the owner record is lost', async () => {
    const { machine, process, spool } = await start({ sessionId: 'ses_lost' });
    await spool.recordClaim([held('att_a')]);
    await process.disk.writeFile(`${FOLDER}/owner.json`, 'garbage');
    process.kill();
    const opened = open(machine.start(), { sessionId: 'ses_next' });
    const next = await machine.clock.time.until(opened);
    expect(next.earlierSessions).toEqual(['ses_lost']);
    machine.powerCut();
    expect((await open(machine.start())).earlierSessions).toEqual(['ses_next', 'ses_lost']);
  });
});

describe('closing', () => {
  it('waits for what is under way, may be done twice, and takes nothing after', async () => {
    const { machine, process, spool } = await start();
    const written = spool.writeReport(complete('att_a'), META);
    await Promise.all([spool.close(), spool.close()]);
    await written;
    await expect(spool.writeReport(complete('att_b'), META)).rejects.toMatchObject({
      code: 'SPOOL_CLOSED',
    });
    await expect(spool.recordClaim([held('att_c')])).rejects.toMatchObject({
      code: 'SPOOL_CLOSED',
    });
    // Given back in order: the next one need not wait for the process to end.
    const next = await open(machine.start());
    expect(reportIds(next)).toEqual(['att_a']);
    process.kill();
  });
});
