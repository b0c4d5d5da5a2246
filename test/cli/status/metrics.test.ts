import { expect, it } from 'vitest';
import { BOUNDS_SECONDS, Counts, TYPES_MAX } from '../../../src/cli/status/counts.ts';
import { Metrics } from '../../../src/cli/status/metrics.ts';
import type { StatusReport } from '../../../src/cli/status/report.ts';
import { type Family, readExposition } from './exposition.ts';

const status = {
  workerId: 'garage "1"',
  state: 'ready',
  pid: 1,
  ready: true,
  now: '2026-01-01T00:00:10.000Z',
  pausedTypes: [],
  keptHandlers: [],
  unservedHandlers: [],
  stuck: [],
  slots: { max: 4, busy: 2, waiting: 1 },
  hintsWork: true,
  unanswered: 3,
  uptimeMs: 60_000,
  lastClaimOkMs: 4_000,
  spool: { records: 3, bytes: 700, oldestMs: 1_500, ok: true },
  drain: { atMostMs: 600_000 },
  handlers: [
    { type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure', effectGate: 'start' },
    { type: 'demo/idle', schemaVersion: 2, effectSafety: 'idempotent', effectGate: 'start' },
  ],
  versions: {},
  attempts: [1, 2].map((n) => ({
    taskId: `tsk_${n}`,
    attemptId: `att_${n}`,
    type: 'demo/hello',
    schemaVersion: 1,
    phase: n === 1 ? 'running' : 'spooled',
    leaseLeftMs: 20_000,
    stuck: false,
  })),
} as unknown as StatusReport;

async function scrape(
  counts: Counts,
  read: () => StatusReport | undefined = () => status,
): Promise<Map<string, Family>> {
  const { body, type } = await new Metrics(counts, 'garage "1"', read).page();
  expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
  return readExposition(body);
}

function values(families: Map<string, Family>, name: string): Record<string, number> {
  const { samples = [] } = families.get(`interlock_worker_${name}`) ?? {};
  return Object.fromEntries(
    samples.map(({ labels, value }) => [Object.values(labels).join(' '), value]),
  );
}

it('tells what was counted before anybody scraped, under names with units', async () => {
  const counts = new Counts();
  counts.claim('granted');
  counts.claim('granted');
  counts.claim('no-answer');
  counts.renewal('ok');
  counts.report('complete', 'accepted');
  counts.report('complete', 'no-answer');
  counts.attempt('demo/hello@1', 'complete');
  counts.attempt('demo/hello@1', 'fail');
  counts.leaseLost();
  const families = await scrape(counts);
  expect(values(families, 'claims_total')).toEqual({
    granted: 2,
    empty: 0,
    refused: 0,
    'no-answer': 1,
  });
  expect(values(families, 'renewals_total')).toMatchObject({ ok: 1, stale: 0 });
  expect(values(families, 'reports_total')).toEqual({
    'complete accepted': 1,
    'complete no-answer': 1,
  });
  expect(values(families, 'attempts_total')).toEqual({
    'demo/hello@1 complete': 1,
    'demo/hello@1 fail': 1,
  });
  expect(values(families, 'leases_lost_total')).toEqual({ '': 1 });
  expect(values(families, 'running')).toEqual({ 'demo/hello@1': 1, 'demo/idle@2': 0 });
  const gauges = {
    ...{ ready: 1, draining: 0, slots: 4, slots_busy: 2, attempts_waiting: 1, stuck_handlers: 0 },
    ...{
      paused_types: 0,
      kept_handlers: 0,
      hints_connected: 1,
      spool_records: 3,
      spool_bytes: 700,
    },
    ...{ spool_oldest_age_seconds: 1.5, spool_writable: 1 },
    last_claim_success_timestamp_seconds: Date.parse('2026-01-01T00:00:06Z') / 1_000,
  };
  for (const [name, value] of Object.entries(gauges))
    expect(values(families, name), name).toEqual({ '': value });
  // It has not happened: that is no instant.
  expect(values(families, 'last_renewal_success_timestamp_seconds')).toEqual({});
  const [info] = families.get('interlock_worker_info')?.samples ?? [];
  expect(info).toMatchObject({ labels: { worker_id: 'garage \\"1\\"' }, value: 1 });
  for (const name of ['process_resident_memory_bytes', 'process_cpu_seconds_total'])
    expect(families.has(name), name).toBe(true);
  for (const { name, type, help } of families.values()) {
    expect(help, name).not.toBe('');
    if (name.startsWith('interlock_'))
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
  }
});

it('counts on between two scrapes', async () => {
  const counts = new Counts();
  const metrics = new Metrics(counts, 'garage', () => status);
  for (const expected of [1, 2, 3]) {
    counts.claim('empty');
    const families = readExposition((await metrics.page()).body);
    expect(values(families, 'claims_total').empty).toBe(expected);
  }
});

it('keeps how long handlers took in buckets that add up', async () => {
  const counts = new Counts();
  for (const ms of [5, 10, 300, 7_000, 90_000_000]) counts.handler('demo/hello@1', ms);
  const families = await scrape(counts);
  const family = families.get('interlock_worker_handler_duration_seconds');
  const buckets = (family?.samples ?? [])
    .filter(({ name }) => name.endsWith('_bucket'))
    .map(({ labels, value }) => [labels.le, value]);
  expect(buckets).toHaveLength(BOUNDS_SECONDS.length + 1);
  expect(Object.fromEntries(buckets)).toMatchObject({
    ...{ '0.01': 2, '0.1': 2, '0.5': 3, '5': 3, '10': 4, '86400': 4, '+Inf': 5 },
  });
  const of = (what: string) => family?.samples.find(({ name }) => name.endsWith(what))?.value;
  expect(of('_count')).toBe(5);
  expect(of('_sum')).toBeCloseTo(90_007.315, 3);
});

it('has a bound on the types that are told apart', async () => {
  const counts = new Counts();
  for (let n = 0; n < 10 * TYPES_MAX; n++) {
    counts.handler(`demo/type-${n}@1`, 1);
    counts.attempt(`demo/type-${n}@1`, 'complete');
  }
  const families = await scrape(counts);
  const types = new Set(
    [...families.values()].flatMap(({ samples }) => samples.map(({ labels }) => labels.type)),
  );
  types.delete(undefined);
  expect(types).toContain('other');
  expect([...types].filter((type) => type?.startsWith('demo/'))).toHaveLength(TYPES_MAX);
  expect(values(families, 'attempts_total')['other complete']).toBe(9 * TYPES_MAX);
});

it('answers before there is a worker', async () => {
  const families = await scrape(new Counts(), () => undefined);
  expect(values(families, 'slots')).toEqual({});
  expect(values(families, 'claims_total')).toMatchObject({ granted: 0 });
});
