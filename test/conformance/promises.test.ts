import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conformancePage } from '../../scripts/conformance-page.ts';
import { contractPage } from '../../scripts/contract-page.ts';
import { controlPlaneCases } from '../../src/conformance/control-plane/index.ts';
import { promises, readPromises } from '../../src/conformance/promises.ts';
import { unseen, unserved } from '../../src/conformance/unseen.ts';
import { workerCases } from '../../src/conformance/worker/index.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/contract.md'), 'utf8');
const cases = [...controlPlaneCases, ...workerCases];
const checked = new Set(cases.flatMap((one) => one.promises));

describe('the numbered promises of docs/contract.md', () => {
  it('are found, each with its section and its sentence without marks', () => {
    expect(promises.size).toBeGreaterThan(250);
    expect(promises.get('1.1')).toEqual({
      number: '1.1',
      section: 'Truth and fencing',
      text: 'The control plane numbers the journal entries of a task with seq 1, 2, 3 … without gaps.',
    });
    for (const { number, section, text } of promises.values()) {
      expect(section, number).not.toBe('');
      expect(text, number).not.toMatch(/[`†]|\*\*/);
    }
  });

  it('say by their subject who keeps them, and end as sentences', () => {
    const odd = [...promises.values()].filter(
      ({ text }) => !/^(The control plane|The worker|A client)\b.*[.]$/.test(text),
    );
    expect(odd.map(({ number, text }) => `${number} ${text}`)).toEqual([]);
  });

  it('are written so that each is read: no line looks nearly like one', () => {
    const nearly = page.match(/^ *[-*] .{0,3}\d+\.\d+.*$/gm) ?? [];
    expect(nearly.length).toBe(promises.size);
  });

  it('stand in the section of their number, in ascending order', () => {
    const titles = [...page.matchAll(/^## (\d+)\. (.+)$/gm)];
    const section = new Map(titles.map(([, number, title]) => [title, Number(number)]));
    let last = [0, 0];
    for (const { number, section: title } of promises.values()) {
      const [major = 0, minor = 0] = number.split('.').map(Number);
      expect(section.get(title), number).toBe(major);
      expect(major > last[0]! || minor > last[1]!, `${number} after ${last.join('.')}`).toBe(true);
      last = [major, minor];
    }
  });

  it('are named once: the same number twice is a throw', () => {
    expect(() => readPromises('- **1.1** One.\n- **1.1** Two.')).toThrow('1.1');
  });

  it('are named by the page itself only where they are', () => {
    const prose = page.replace(/^- \*\*\d+\.\d+\*\*|^ {2}<sub>.*$/gm, '');
    const named = [...prose.matchAll(/[(–, ](\d\.\d+)(?=[)–, .])/g)].map((match) => match[1]!);
    const real = named.filter((number) => !['3.1', '2.0', '0.2', '0.1'].includes(number));
    expect(real.length).toBeGreaterThan(20);
    expect(real.filter((number) => !promises.has(number))).toEqual([]);
  });
});

describe('who checks a promise', () => {
  it('no case, reason or list names a number that there is not', () => {
    const named = cases.flatMap(({ name, promises: of }) => of.map((number) => [number, name]));
    const others = [...Object.keys(unseen), ...unserved].map((number) => [number, 'unseen.ts']);
    const unknown = [...named, ...others].filter(([number = '']) => !promises.has(number));
    expect(unknown).toEqual([]);
  });

  it('every promise has a case, or a reason why none can see it, or is not served', () => {
    const told = new Set([...checked, ...Object.keys(unseen), ...unserved]);
    expect([...promises.keys()].filter((number) => !told.has(number))).toEqual([]);
  });

  it('every case names a promise', () => {
    expect(cases.filter(({ promises: of }) => of.length === 0)).toEqual([]);
  });

  it('what no case can see has a reason and a test of this project, and no case', () => {
    for (const [number, { why, test }] of Object.entries(unseen)) {
      expect(why, number).toMatch(/^[a-z].*[^.]$/);
      expect(existsSync(join(root, test)), `${number}: ${test}`).toBe(true);
    }
    expect([...Object.keys(unseen), ...unserved].filter((number) => checked.has(number))).toEqual(
      [],
    );
    expect(Object.keys(unseen).filter((number) => unserved.includes(number))).toEqual([]);
  });
});

describe('docs/contract.md', () => {
  const beside = {
    unseen: { '1.2': { why: 'it is inside', test: 'test/a.test.ts' } },
    unserved: [],
  };
  const text = '- **1.1** One.\n- **1.2** Two.\n- **1.3** Three.\n';

  it('tells the cases and the reasons under the promises, and the same when it is made again', () => {
    const made = contractPage(text, [{ name: 'a/b', promises: ['1.1', '1.1'] }], beside);
    expect(made.split('\n')).toEqual([
      '- **1.1** One.',
      '  <sub>Checked by: `a/b`</sub>',
      '- **1.2** Two.',
      '  <sub>Not seen from outside: it is inside; test/a.test.ts</sub>',
      '- **1.3** Three.',
      '',
    ]);
    expect(contractPage(made, [{ name: 'a/b', promises: ['1.1'] }], beside)).toBe(made);
    expect(contractPage(made, [], { unseen: {}, unserved: [] })).toBe(text);
  });

  it('is what the cases say: else run `npm run docs`', () => {
    expect(contractPage(page, cases, { unseen, unserved }) === page).toBe(true);
  });
});

it('docs/conformance.md tells what the manifest says: else run `npm run docs`', () => {
  const now = readFileSync(join(root, 'docs/conformance.md'), 'utf8');
  expect(conformancePage(now) === now).toBe(true);
});
