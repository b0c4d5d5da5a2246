/** The timeline for people: what the script did stands in it, and what is alike is folded. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fcp, startFcp } from '../../src/fcp/fcp.ts';
import { HandWorker } from './hand-worker.ts';

let fcp: Fcp;
let worker: HandWorker;
beforeEach(async () => {
  fcp = await startFcp();
  worker = new HandWorker(fcp);
});
afterEach(() => fcp.stop());

const report = (attempt: Parameters<HandWorker['report']>[1]) =>
  worker.report('complete', attempt, { result: 1 });

describe('what the script did', () => {
  it('is told of an answer that was changed: which words, and how', async () => {
    fcp.offer({ type: 'demo/hello' });
    const attempt = await worker.takeOne();
    fcp.on('report', (_, ctl) =>
      ctl.pass((answer) => ({
        ...answer,
        status: 202,
        body: { ...(answer.body as object), fence: 77, accepted: undefined },
      })),
    );
    await report(attempt);
    const words =
      'the answer was changed: status 200 → 202, body.accepted true → absent, body.fence 1 → 77';
    expect(fcp.dump()).toContain(`the kit: ${words}`);
    expect(fcp.played()).toEqual([`#2 complete ${attempt.attemptId.slice(-6)}: ${words}`]);
  });

  it('is told of one report of a batch, of cuts, and of answers with their headers', async () => {
    fcp.offer({ type: 'demo/hello' });
    const attempt = await worker.takeOne();
    const id = attempt.attemptId.slice(-6);
    fcp.onReport('complete', (_, ctl) => ctl.problem(422, 'FILE_MISSING'), { times: 1 });
    await report(attempt);
    const late = { 'retry-after': '60' };
    fcp.on('report', (_, ctl) => ctl.problem(429, 'RATE_LIMITED', late), { times: 1 });
    await report(attempt);
    fcp.on('report', (_, ctl) => ctl.cutAfter('rst'), { times: 1 });
    await report(attempt).catch(() => {});
    expect(fcp.played()).toEqual([
      `#2 complete ${id}: not carried out, answered 422 {"code":"FILE_MISSING"}`,
      `#3 complete ${id}: not carried out, answered 429 {"code":"RATE_LIMITED"}, retry-after: 60`,
      `#4 complete ${id}: carried out, but the connection was ended hard (RST) without an answer`,
    ]);
  });

  it('is nothing where all answers were honest, and names no token and no key', async () => {
    fcp.offer({ type: 'demo/hello' });
    fcp.on('claim', (_, ctl) => ctl.pass((answer) => answer), { times: 1 });
    await worker.claim({ max: 0 });
    expect(fcp.played()).toEqual([]);
    fcp.on('claim', (_, ctl) => ctl.pass((answer) => ({ ...answer, body: {} })));
    await worker.claim();
    expect(fcp.played()[0]).toMatch(/body.attempts \[\{.*"leaseToken":"…".*→ absent/);
    fcp.keys.reject('il_secret');
    expect([...fcp.played(), ...fcp.timeline()].join('\n')).not.toContain('secret');
  });
});

describe('lines that are alike', () => {
  it('are folded around what differs, and whole in the whole timeline', async () => {
    fcp.offer({ type: 'demo/hello' });
    const attempt = await worker.takeOne();
    fcp.keys.reject(worker.key);
    for (let n = 0; n < 10; n++) await worker.claim();
    await report(attempt);
    for (let n = 0; n < 10; n++) await worker.claim();
    const lines = fcp.dump().split('\n');
    expect(lines.filter((line) => line.startsWith('…'))).toEqual([
      '… 7 more: POST /claims → 401',
      '… 9 more: POST /claims → 401',
    ]);
    expect(lines.some((line) => line.includes('complete') && line.includes('→ 401'))).toBe(true);
    expect(lines.length).toBeLessThan(12);
    expect(fcp.timeline().filter((line) => line.includes('→ 401'))).toHaveLength(21);
  });

  it('tells which attempts a claim was given', async () => {
    fcp.offer({ type: 'demo/hello' });
    const { attemptId } = await worker.takeOne();
    expect(fcp.dump()).toContain(`gave ${attemptId.slice(-6)} (demo/hello@1, fence 1)`);
  });
});
