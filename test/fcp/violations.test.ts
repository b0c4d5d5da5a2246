import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Fcp, type FcpOptions, startFcp } from '../../src/fcp/fcp.ts';
import { type GrantedAttempt, HandWorker } from './hand-worker.ts';

let fcp: Fcp;
let worker: HandWorker;

/** With no grace a worker is held to every answer at once; `CROSSING` lets all messages cross. */
const CROSSING = { graceMs: 60_000 };

async function begin(options: FcpOptions): Promise<void> {
  await fcp?.stop();
  fcp = await startFcp(options);
  worker = new HandWorker(fcp);
}

beforeEach(() => begin({ graceMs: 0 }));
afterEach(() => fcp.stop());

const kinds = () => fcp.violations.map((violation) => violation.kind);

async function taken(effectSafety = 'pure'): Promise<GrantedAttempt> {
  fcp.offer({ type: 'demo/hello', effectSafety });
  return worker.takeOne();
}

it('finds nothing in the life of a good worker', async () => {
  await worker.present('ready', { handlers: [{ type: 'demo/hello', schemaVersion: 1 }] });
  const attempt = await taken('non-idempotent');
  await worker.report('start', attempt);
  await worker.report('log', attempt, { n: 1, lines: [{ at: 'now', level: 'info', text: '' }] });
  await worker.report('complete', attempt, { result: null });
  await worker.report('complete', attempt, { result: null });
  await worker.present('draining');
  await worker.present('offline');
  expect(fcp.violations).toEqual([]);
});

it('finds requests without a contract header, keys in addresses and bodies', async () => {
  await worker.call('GET', '/doctor', undefined, { 'interlock-contract': [] });
  await worker.call('GET', '/doctor?key=il%5Fother');
  await worker.claim({ note: worker.key });
  const attempt = await taken();
  await worker.call('GET', `/doctor?token=${attempt.leaseToken}`);
  expect(kinds()).toEqual([
    'no-contract-header',
    'secret-in-address',
    'secret-in-body',
    'secret-in-address',
  ]);
  expect(fcp.violations[0]).toMatchObject({ request: 1 });
});

it("finds a key or any token that was ever given in a body, a report's own leaseToken aside", async () => {
  const [one, two] = [await taken(), await taken()];
  await worker.present('ready', { versions: { worker: '1', debug: `token ${one.leaseToken}` } });
  await worker.report('progress', one, { n: 1, message: `has ${two.leaseToken}` });
  await worker.batch(
    worker.reportBody('renew', two),
    worker.reportBody('log', one, { n: 1, lines: [], [worker.key]: 1 }),
  );
  await worker.report('complete', two, { result: { leaseToken: two.leaseToken } });
  await worker.claim({ leaseToken: one.leaseToken });
  const found = fcp.violations.filter(({ kind }) => kind === 'secret-in-body');
  expect(found.map(({ detail }) => detail)).toEqual([
    'a leaseToken is in "versions.debug" of PUT present',
    'a leaseToken is in "message" of POST report',
    'the key is in "reports.1" of POST batch',
    'a leaseToken is in "result.leaseToken" of POST report',
    'a leaseToken is in "leaseToken" of POST claim',
  ]);
});

it('looks into bodies of any depth for secrets', async () => {
  const attempt = await taken();
  const result = JSON.parse(`${'['.repeat(1_000)}"${attempt.leaseToken}"${']'.repeat(1_000)}`);
  await worker.report('complete', attempt, { result });
  expect(kinds()).toEqual(['secret-in-body']);
});

it('finds calls, ops and attempts that do not exist, and bodies that are wrong', async () => {
  const attempt = await taken();
  await worker.call('POST', '/claim', {});
  await worker.report('finish', attempt);
  await worker.report('renew', { ...attempt, attemptId: 'att_none' });
  await worker.report('lost', attempt, { reason: 'whatever' });
  await worker.batch(worker.reportBody('fail', attempt, { error: { code: 'no', message: '' } }));
  await worker.claim({ max: -1 });
  await worker.present('asleep');
  expect(kinds()).toEqual([
    'unknown-route',
    'unknown-op',
    'unknown-attempt',
    'invalid-request',
    'invalid-request',
    'invalid-request',
    'invalid-request',
  ]);
});

it('finds new claims after the worker said draining; a repeated one is none', async () => {
  const body = worker.claimBody();
  await worker.call('POST', '/claims', body);
  await worker.present('draining');
  await worker.call('POST', '/claims', body);
  expect(kinds()).toEqual([]);
  await worker.claim();
  expect(kinds()).toEqual(['claim-while-draining']);
});

it('finds nothing in messages that may have crossed an answer', async () => {
  await begin(CROSSING);
  const attempt = await taken();
  await worker.report('start', attempt);
  await worker.report('start', attempt);
  fcp.onReport('renew', (_, ctl) => ctl.stale(), { times: 1 });
  await worker.report('renew', attempt);
  await worker.report('complete', attempt, { result: 1 });
  await worker.report('renew', attempt);
  await worker.present('draining');
  await worker.claim();
  await new HandWorker(fcp).claim();
  await worker.claim();
  await worker.claim();
  expect(kinds()).toEqual([]);
});

it('finds new claims after the control plane said drain, or superseded', async () => {
  const other = new HandWorker(fcp, 'other');
  const newer = new HandWorker(fcp, 'other');
  await worker.present('ready');
  fcp.drain('hand');
  await worker.claim();
  await other.claim();
  await newer.claim();
  await other.claim();
  expect(kinds()).toEqual([]);
  await worker.claim();
  await other.claim();
  await newer.claim();
  expect(kinds()).toEqual(['claim-while-draining', 'claim-after-superseded']);
});

it('finds a requestId with another body, and claims in a hot loop', async () => {
  const body = worker.claimBody();
  await worker.call('POST', '/claims', body);
  await worker.call('POST', '/claims', { ...body, max: 1 });
  expect(kinds()).toEqual(['request-id-reused']);
  for (let i = 0; i < 15; i++) await worker.claim();
  expect(new Set(kinds())).toEqual(new Set(['request-id-reused', 'claim-hot-loop']));
});

it('finds whatever follows STALE_ATTEMPT, also one that a script has told', async () => {
  const attempt = await taken();
  fcp.onReport('renew', (_, ctl) => ctl.stale(), { times: 1 });
  await worker.batch(worker.reportBody('renew', attempt));
  expect(kinds()).toEqual([]);
  await worker.report('progress', attempt, { n: 1 });
  await worker.report('complete', attempt, { result: 1 });
  expect(kinds()).toEqual(['report-after-stale', 'report-after-stale']);
});

it('lets an outcome follow that was sent before the stale renewal, but none that was told stale itself', async () => {
  const attempt = await taken();
  fcp.on('report', (_, ctl) => ctl.html(503), { times: 1 });
  await worker.report('complete', attempt, { result: 1 });
  fcp.onReport('renew', (_, ctl) => ctl.stale(), { times: 1 });
  await worker.report('renew', attempt);
  fcp.onReport('complete', (_, ctl) => ctl.stale(), { times: 1 });
  await worker.report('complete', attempt, { result: 1 });
  expect(kinds()).toEqual([]);
  await worker.report('complete', attempt, { result: 1 });
  expect(kinds()).toEqual(['report-after-stale']);
});

it('finds a second start, a renewal after the end and a second outcome', async () => {
  const attempt = await taken();
  await worker.report('start', attempt);
  await worker.report('start', attempt);
  expect(kinds()).toEqual(['second-start']);
  await worker.report('complete', attempt, { result: 1 });
  await worker.report('complete', attempt, { result: 1 });
  await worker.report('renew', attempt);
  await worker.report('lost', attempt, { reason: 'drain', begun: true });
  expect(kinds()).toEqual(['second-start', 'report-after-end', 'second-outcome']);
});

it('lets a restarted worker contradict a release whose answer it never saw', async () => {
  const attempt = await taken();
  await worker.report('release', attempt, { reason: 'drain' });
  await new HandWorker(fcp).report('lost', attempt, { reason: 'worker-restarted', begun: false });
  expect(kinds()).toEqual([]);
});

it('finds a result without its gate, and a release after the handler began', async () => {
  const gated = await taken('non-idempotent');
  await worker.report('complete', gated, { result: 1 });
  const pure = await taken();
  await worker.report('start', pure);
  await worker.report('release', pure, { reason: 'drain' });
  expect(kinds()).toEqual(['gate-skipped', 'release-after-start']);
});

it('finds a second progress while the first is on its way', async () => {
  const attempt = await taken();
  fcp.on('report', (_, ctl) => ctl.later(fcp.next('report')), { times: 1 });
  const first = fcp.next('report');
  const one = worker.report('progress', attempt, { n: 1 });
  await first;
  await worker.report('progress', attempt, { n: 2 });
  await one;
  expect(kinds()).toEqual(['two-on-their-way']);
});

it('keeps quiet about kinds that a test tolerates', async () => {
  const lenient = await startFcp({ tolerate: ['unknown-route'] });
  await new HandWorker(lenient).call('GET', '/nowhere');
  expect(lenient.violations).toEqual([]);
  await lenient.stop();
});
