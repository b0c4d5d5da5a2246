import { describe, expect, it } from 'vitest';
import { type TerminalReport, terminalOps } from '../../src/contract/index.ts';
import { decideAnswer } from '../../src/core/report-answer.ts';
import { headOf } from '../../src/spool/report-head.ts';
import { bodies, complete, FOLDER, files, four, META, restart, start } from './world.ts';

describe('the body of a report', () => {
  it('is read back word for word, from the midst of a group, also after marks were added to its file', async () => {
    const { machine, process, spool } = await start();
    const words = ['ä', '𝄞', 'plain', '\u0000', '"\\'].map((word, i) =>
      complete(`att_${i}`, { word }),
    );
    const written = await Promise.all(words.map((one) => spool.writeReport(one, META)));
    expect(await Promise.all(written.map((one) => spool.body(one)))).toEqual(words);
    await spool.answered(written[1]!);
    await spool.idle();
    const next = await restart(machine, process);
    expect(next.spool.recovered.reports.map(({ head }) => head)).toEqual(
      words.filter((_, i) => i !== 1).map((one) => ({ ...one, result: null })),
    );
    expect(await bodies(next.spool)).toEqual(words.filter((_, i) => i !== 1));
  });

  it('that is done with, altered or gone is never given; what the disk refuses now is asked for again', async () => {
    const { machine, process, spool } = await start();
    const [a, b] = await Promise.all(
      ['att_a', 'att_b'].map((id) => spool.writeReport(complete(id), META)),
    );
    await spool.answered(a!);
    await expect(spool.body(a!)).rejects.toMatchObject({ code: 'SPOOL_READ_FAILED' });
    const fault = machine.disk.fail({ step: 'read', code: 'EMFILE' });
    await expect(spool.body(b!)).rejects.toMatchObject({ code: 'EMFILE' });
    fault.clear();
    expect(await spool.body(b!)).toEqual(complete('att_b'));
    const path = `${FOLDER}/${files(machine)[0]}`;
    const text = Buffer.from(await process.disk.readFile(path)).toString();
    await process.disk.writeFile(path, text.replace('"hello":"att_b"', '"hello":"att_x"'));
    await expect(spool.body(b!)).rejects.toMatchObject({
      code: 'SPOOL_READ_FAILED',
      message: expect.stringContaining('was altered'),
    });
    await process.disk.remove(path);
    await expect(spool.body(b!)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('that is gone does not keep the rest of it from being set aside', async () => {
    const { machine, process, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    await process.disk.remove(`${FOLDER}/${files(machine)[0]}`);
    await spool.setAside(report, 'stale', { status: 409 });
    expect(process.log.of('spool.body-lost')).toHaveLength(1);
    const [name] = files(machine);
    expect(JSON.parse(machine.disk.platter.tree()[`${FOLDER}/${name}`]!)).toMatchObject({
      kind: 'stale',
      answer: { status: 409 },
      record: { body: { op: 'complete', attemptId: 'att_a', result: null } },
    });
    expect(spool.stats()).toMatchObject({ pending: 0, ok: true });
  });

  it('that cannot be read now is set aside later, as it is', async () => {
    const { machine, spool } = await start();
    const report = await spool.writeReport(complete('att_a'), META);
    const fault = machine.disk.fail({ step: 'read', path: /reports/, code: 'EIO' });
    await expect(spool.setAside(report, 'refused', {})).rejects.toMatchObject({
      code: 'SPOOL_READ_FAILED',
      details: { reason: 'EIO' },
    });
    // One bad sector must not keep a worker from its work.
    expect(spool.stats()).toMatchObject({ ok: true, pending: 1 });
    fault.clear();
    await spool.setAside(report, 'refused', {});
    expect(Object.values(machine.disk.platter.tree()).join('')).toContain('"hello":"att_a"');
  });
});

const error = { code: 'TOO_BAD', message: 'x'.repeat(1_000), retryable: true };
const WHOLE: TerminalReport[] = [
  complete('att_a', 'x'.repeat(10_000)),
  { op: 'fail', ...four('att_a'), error },
  { op: 'fail', ...four('att_a'), error, begun: false },
  { op: 'unknown', ...four('att_a'), error },
  { op: 'cancelled', ...four('att_a') },
  { op: 'lost', ...four('att_a'), reason: 'drain', begun: true, killed: true, message: 'long' },
  { op: 'release', ...four('att_a'), reason: 'host-unavailable', message: 'long' },
];

describe('the head of a report', () => {
  it('decides the same as the whole, whatever the answer is, and is small', () => {
    expect(new Set(WHOLE.map(({ op }) => op))).toEqual(new Set(terminalOps));
    const answers = [400, 401, 403, 404, 409, 413, 422, 426, 429, 500].flatMap((status) =>
      ['STALE_ATTEMPT', 'LEASE_EXPIRED', 'NOT_FOUND', 'UNSUPPORTED_OPERATION', 'X'].map((code) => ({
        kind: 'refused' as const,
        status,
        problem: { type: 'x', title: 'x', status, code, kind: 'attempt', project: 'home' } as never,
      })),
    );
    for (const whole of WHOLE) {
      const head = headOf(whole);
      expect(JSON.stringify(head).length).toBeLessThan(300);
      for (const answer of answers)
        for (const followUp of [true, false])
          for (const begun of [true, false, undefined]) {
            const facts = { project: 'home', followUp, begun };
            expect(decideAnswer(head, answer, facts)).toEqual(decideAnswer(whole, answer, facts));
          }
    }
  });
});
