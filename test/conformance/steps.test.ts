import { describe, expect, it } from 'vitest';
import { NotApplicable, type Verdict } from '../../src/conformance/case.ts';
import { Seen } from '../../src/conformance/control-plane/caller.ts';
import { inTime, steady } from '../../src/conformance/control-plane/steps.ts';
import { junitReport } from '../../src/conformance/reports/junit.ts';
import { peopleReport, verdictLine } from '../../src/conformance/reports/people.ts';

/** A refusal that came so long after its lease began. */
const answer = (status: number, receivedAtMs: number) =>
  new Seen('POST /x', { status, headers: new Headers() }, '{}', { sentAtMs: 0, receivedAtMs });

describe('a case that has to be done within a short lease', () => {
  it('takes a refusal within the lease as the peer’s own, and an acceptance always', async () => {
    const refused = answer(409, 900);
    expect(await steady(async () => inTime(refused, 0, 1_000))).toBe(refused);
    const late = answer(200, 5_000);
    expect(await steady(async () => inTime(late, 0, 1_000))).toBe(late);
  });

  it('is played again where this machine was too slow, with a turn of its own', async () => {
    const turns: number[] = [];
    const done = await steady(async (turn) => {
      turns.push(turn);
      return inTime(answer(409, turn < 3 ? 2_000 : 500), 0, 1_000).receivedAtMs;
    });
    expect({ turns, done }).toEqual({ turns: [1, 2, 3], done: 500 });
  });

  it('is skipped, and says why, where this machine stays too slow', async () => {
    const played = steady(async () => inTime(answer(409, 1_500), 0, 1_000));
    await expect(played).rejects.toBeInstanceOf(NotApplicable);
    await expect(played).rejects.toThrow('took 1500 ms for what a lease of 1000 ms is for');
  });

  it('fails at once where something else is wrong', async () => {
    let turns = 0;
    const played = steady(async () => {
      turns++;
      inTime(answer(409, 100), 0, 1_000).is(200);
    });
    await expect(played).rejects.toThrow('expected is 200');
    expect(turns).toBe(1);
  });
});

it('tells a page of HTML by its title alone', () => {
  const page = `<!DOCTYPE html><title>502 Bad Gateway</title>${'<p>Sorry.</p>'.repeat(50)}`;
  const times = { sentAtMs: 0, receivedAtMs: 0 };
  const seen = new Seen('POST /x', { status: 502, headers: new Headers() }, page, times);
  expect(() => seen.is(200)).toThrow(
    'POST /x was answered 502 "a page of HTML, “502 Bad Gateway”"; expected is 200.',
  );
});

it('reports a case that the end of the run interrupted as not judged', () => {
  const stopped: Verdict = {
    ...{ name: 'a/case', title: 'does it', promises: ['1.1'], ms: 5 },
    ...{ outcome: 'stopped', says: 'the run was stopped.' },
  };
  const facts = { target: 'x', version: '1', startedAt: '2026-01-01T00:00:00.000Z', ms: 5 };
  const run = { kit: 'control-plane', ...facts } as const;
  const xml = junitReport(run, [stopped]);
  expect(xml).toContain('tests="1" failures="0" errors="0" skipped="1"');
  expect(xml).toContain('<skipped message="the run was stopped."/>');
  const plain = (text: string) => text;
  const marks = { good: plain, bad: plain, faint: plain };
  expect(verdictLine(stopped, marks)).toBe('- a/case  does it: not judged, the run was stopped.');
  expect(peopleReport(run, [stopped], () => undefined, marks).at(-1)).toContain(
    '0 passed, 0 failed, 1 stopped in',
  );
});
