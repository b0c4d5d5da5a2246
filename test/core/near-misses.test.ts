import { describe, expect, it } from 'vitest';
import { type Fleet, nearMisses, settleWords, type Wanted } from '../../src/core/near-misses.ts';

/** What a task asks for beside what is online. */

const wanted: Wanted = { project: 'p', type: 'demo/print', schemaVersion: 1, pool: 'default' };
const worker = (
  workerId: string,
  type: string,
  schemaVersion = 1,
  pools = ['default'],
  state: Fleet['workers'][number]['state'] = 'ready',
): Fleet['workers'][number] => ({ workerId, state, pools, types: [{ type, schemaVersion }] });
const online = (n: number) => Array.from({ length: n }, (_, i) => worker(`w${i}`, 'x/y'));
const near = (...workers: Fleet['workers']) => nearMisses(wanted, [{ project: 'p', workers }]);

describe('near misses', () => {
  it('tell each word that differs, the nearest first', () => {
    const offers = near(
      worker('a', 'Demo/Print', 2, ['gpu']),
      worker('b', 'demo/print', 2),
      worker('c', 'demo/print', 1, ['gpu', 'other']),
      worker('d', 'demo/print', 1, ['default'], 'offline'),
      worker('e', 'demo/other'),
    );
    expect(
      offers.map(({ workers, pool, differs }) => [workers.join(), pool, differs.join()]),
    ).toEqual([
      ['c', 'gpu', 'pool'],
      ['c', 'other', 'pool'],
      ['b', 'default', 'version'],
      ['d', 'default', 'offline'],
      ['a', 'gpu', 'case,version,pool'],
    ]);
  });

  it('name first the worker that has a file for it and cannot serve that', () => {
    const unserved = [
      { type: 'demo/print', schemaVersion: 1, why: 'demo/print@1.mjs: it throws.' },
    ];
    expect(settleWords(wanted, [], [{ ...worker('a', 'x/y'), unserved }])).toEqual([
      'a does not serve it: demo/print@1.mjs: it throws.',
    ]);
  });

  it('tell a name that is a slip away after another version, and its next step', () => {
    const offers = near(
      worker('a', 'demo/pirnt'),
      worker('b', 'demo/print', 2),
      worker('c', 'x/y'),
    );
    expect(offers.map(({ type, differs }) => [type, differs.join()])).toEqual([
      ['demo/print', 'version'],
      ['demo/pirnt', 'name'],
    ]);
    const slip = near(worker('a', 'demo/pirnt'));
    expect(settleWords(wanted, slip, online(1))[0]).toContain(
      'a serves demo/pirnt@1, a name like it; the task asks for demo/print@1.',
    );
  });

  it('gather workers that offer the same, and are bounded', () => {
    const many = Array.from({ length: 100 }, (_, i) => worker(`w${i}`, 'demo/print', 2));
    expect(near(...many)).toMatchObject([{ workers: { length: 100 }, differs: ['version'] }]);
    const versions = Array.from({ length: 100 }, (_, i) => worker(`w${i}`, 'demo/print', i + 2));
    expect(near(...versions)).toHaveLength(8);
    const pools = Array.from({ length: 100 }, (_, i) => `p${i}`);
    expect(near(worker('w', 'demo/print', 1, pools))).toHaveLength(3);
  });

  it('tell a worker of another project as such', () => {
    const [offer] = nearMisses(wanted, [
      { project: 'p', workers: [] },
      { project: 'q', workers: [worker('a', 'demo/print')] },
    ]);
    expect(offer).toMatchObject({ project: 'q', differs: ['project'] });
  });
});

describe('what settles it', () => {
  it('is said for each word that differs, and what always does at the end', () => {
    const offers = near(worker('a', 'Demo/Print', 2, ['gpu']));
    const sentences = settleWords(wanted, offers, online(1));
    expect(sentences).toEqual([
      'Names are literal: a serves Demo/Print, the task asks for demo/print. Submit it under the name that is served, or rename the handler.',
      'a serves version 2, the task asks for version 1. Serve demo/print@1 beside Demo/Print@2, or submit tasks of version 2.',
      'a serves it in pool gpu, the task waits in pool default. Add --pools default to a worker, or submit into pool gpu.',
      expect.stringContaining('Start a worker that serves demo/print@1 in pool default'),
    ]);
  });

  it('is to start a worker where nothing comes near, and says what is online', () => {
    expect(settleWords(wanted, [], [])[0]).toMatch(
      /^No worker is online in project p\. Start a worker/,
    );
    expect(settleWords(wanted, [], online(1))[0]).toMatch(
      /^The worker that is online serves other types\./,
    );
    expect(settleWords(wanted, [], online(3))[0]).toMatch(
      /^The 3 workers that are online serve other types\./,
    );
  });

  it('is to start the worker again that is offline', () => {
    const offers = near(worker('a', 'demo/print', 1, ['default'], 'offline'));
    expect(settleWords(wanted, offers, [])[0]).toBe('Start a again: it is offline.');
  });
});
