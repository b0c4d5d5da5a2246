import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Job } from '../../src/ports/carrier.ts';
import { type Collected, startJob } from './collected.ts';
import { marked } from './process-harness.ts';
import { sharedCarrier } from './shared-harness.ts';

/** A file that hosts load from the disk, and that says something else by now than the worker read. */
let shared: ReturnType<typeof sharedCarrier>;
let folder: string;
beforeEach(() => {
  shared = sharedCarrier();
  folder = mkdtempSync(join(tmpdir(), 'misread-'));
});
afterEach(async () => {
  await shared.carrier.close();
  expect(marked(shared.marker)).toEqual([]);
  rmSync(folder, { recursive: true });
});

function write(says: string): void {
  const text = `import { writeFileSync } from 'node:fs';
${says}
export default (input) => { writeFileSync(input.ran, ''); return process.pid; };`;
  writeFileSync(join(folder, 'now.mjs'), text);
}
const ran = () => join(folder, 'ran');
const job = (more: Partial<Job>): Collected =>
  startJob(shared.carrier, { file: join(folder, 'now.mjs'), input: { ran: ran() }, ...more });

const NON_IDEMPOTENT = "export const effectSafety = 'non-idempotent';";

it.each([
  [
    'a non-idempotent one in a shared host',
    NON_IDEMPOTENT,
    { effectSafety: 'pure', sharesHost: true },
    /claimed as pure, in a process that it shares; .* says non-idempotent with the gate "start", in a process of its own\./,
  ],
  [
    'one without a word for it as pure',
    '',
    { effectSafety: 'pure' },
    /claimed as pure; .* says non-idempotent with the gate "start"\./,
  ],
  [
    'one that wants a host of its own in a shared one',
    "export const effectSafety = 'idempotent';",
    { effectSafety: 'idempotent', sharesHost: true },
    /that it shares; .* says idempotent, in a process of its own\./,
  ],
  [
    'one whose gate is its start as if it were its effect',
    NON_IDEMPOTENT,
    { effectSafety: 'non-idempotent', effectGate: 'effect' },
    /with the gate "effect"; .* with the gate "start"\./,
  ],
] as const)('does not run %s', async (_name, says, as, words) => {
  write(says);
  const one = job(as);
  const end = await one.ended;
  expect(end).toMatchObject({
    how: 'not-begun',
    error: { code: 'HANDLER_NOT_LOADED', retryable: true },
  });
  const message = end.how === 'not-begun' ? end.error.message : '';
  expect(message).toMatch(words);
  expect(message).toMatch(/now\.mjs has changed .* Nothing was run\. Send the worker SIGHUP/);
  expect(one.told.begun).toBe(0);
  expect(existsSync(ran())).toBe(false);
});

it.each([undefined, true] as const)(
  'takes another host where a file has become one that may run twice (shared: %s)',
  async (sharesHost) => {
    write(NON_IDEMPOTENT);
    const first = await job({ effectSafety: 'non-idempotent' }).ended;
    write("export const effectSafety = 'pure'; export const host = 'shared';");
    const as = { effectSafety: 'pure', ...(sharesHost && { sharesHost }) } as const;
    const second = await job(as).ended;
    expect([first.how, second.how]).toEqual(['returned', 'returned']);
    expect(second).not.toEqual(first);
  },
);

it('takes another shared host where the file of the one there is has become more careful and less again', async () => {
  const as = { effectSafety: 'pure', sharesHost: true } as const;
  write("export const effectSafety = 'idempotent'; export const host = 'shared';");
  const first = await job({ ...as, effectSafety: 'idempotent' }).ended;
  expect((await job(as).ended).how).toBe('not-begun');
  write("export const effectSafety = 'pure'; export const host = 'shared';");
  const third = await job(as).ended;
  expect([first.how, third.how]).toEqual(['returned', 'returned']);
  expect(third).not.toEqual(first);
});
