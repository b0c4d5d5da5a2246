import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { typeKey } from '../../contract/index.ts';
import { VERSION } from '../../contract/version.ts';
import { statusDefaults } from '../../core/defaults.ts';
import { BOUNDS_SECONDS, type Counts } from './counts.ts';
import type { StatusReport } from './report.ts';
import type { Page } from './server.ts';

/**
 * The page for scrapers. Loaded with the first scrape: a worker that nobody scrapes pays for counting and nothing else. What
 * is a state is read when it is asked for; counts were kept all the time.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #counts: Counts;
  readonly #read: () => StatusReport | undefined;
  /** Read once for a scrape, so that its rows fit together. */
  #now: StatusReport | undefined;

  /** @param read `undefined` while there is no worker yet. */
  constructor(counts: Counts, workerId: string, read: () => StatusReport | undefined) {
    this.#counts = counts;
    this.#read = read;
    const { version } = process;
    this.#gauge('info', 'Versions of this worker; the value is always 1.', {
      labels: ['worker_id', 'version', 'node_version'],
      rows: () => [[{ worker_id: workerId, version: VERSION, node_version: version }, 1]],
    });
    this.#gauges();
    this.#counters();
    new Kept(this.#registry, counts);
    collectDefaultMetrics({
      register: this.#registry,
      eventLoopMonitoringPrecision: statusDefaults.loopDelayMs,
    });
  }

  async page(): Promise<Page> {
    this.#now = this.#read();
    const body = await this.#registry.metrics();
    return { status: 200, type: this.#registry.contentType, body };
  }

  #gauges(): void {
    const one = (name: string, help: string, value: (status: StatusReport) => number | undefined) =>
      this.#gauge(name, help, {
        labels: [],
        rows: (status) => {
          const read = status && value(status);
          return read === undefined ? [] : [[{}, read]];
        },
      });
    one('ready', '1 while claims or renewals succeed in time and nothing holds claims back.', (s) =>
      Number(s.ready),
    );
    one('draining', '1 while it drains or has stopped.', (s) =>
      Number(s.state === 'draining' || s.state === 'stopped'),
    );
    one('slots', 'Handlers that may run at once.', (s) => s.slots.max);
    one('slots_busy', 'Slots that are taken.', (s) => s.slots.busy);
    one('attempts_waiting', 'Attempts that wait for a slot.', (s) => s.slots.waiting);
    one('stuck_handlers', 'Handlers that were killed or told to stop and do not go.', (s) =>
      Number(s.stuck.length),
    );
    one('paused_types', 'Types that are left out of claims for a while.', (s) =>
      Number(s.pausedTypes.length),
    );
    one('kept_handlers', 'Types served with older code, since their file does not load.', (s) =>
      Number(s.keptHandlers.length),
    );
    one('unserved_handlers', 'Files of the handlers folder that cannot be served.', (s) =>
      Number(s.unservedHandlers.length),
    );
    one('hints_connected', '1 while the stream of hints is open.', (s) => Number(s.hintsWork));
    one('spool_records', 'Reports on disk that are not answered.', (s) => s.spool.records);
    one('spool_bytes', 'Bytes of those reports.', (s) => s.spool.bytes);
    one(
      'spool_oldest_age_seconds',
      'Age of the oldest of those reports; 0 without one.',
      (s) => (s.spool.oldestMs ?? 0) / 1_000,
    );
    one('spool_writable', '1 while the spool can take more.', (s) => Number(s.spool.ok));
    const at = (s: StatusReport, ago: number | undefined) =>
      ago === undefined ? undefined : (Date.parse(s.now) - ago) / 1_000;
    one('last_claim_success_timestamp_seconds', 'When a claim last succeeded.', (s) =>
      at(s, s.lastClaimOkMs),
    );
    one('last_renewal_success_timestamp_seconds', 'When a renewal last succeeded.', (s) =>
      at(s, s.lastRenewalOkMs),
    );
    this.#gauge('running', 'Handlers that run, by type.', {
      labels: ['type'],
      rows: (status) => {
        const running = new Map<string, number>();
        for (const handler of status?.handlers ?? []) running.set(this.#type(handler), 0);
        for (const attempt of status?.attempts ?? []) {
          if (attempt.phase !== 'running') continue;
          const type = this.#type(attempt);
          running.set(type, (running.get(type) ?? 0) + 1);
        }
        return [...running].map(([type, count]) => [{ type }, count]);
      },
    });
  }

  #counters(): void {
    const { attempts, claims, renewals, reports } = this.#counts;
    this.#counter('claims_total', 'Claims, by how they ended.', ['outcome'], () =>
      [...claims].map(([outcome, count]) => [{ outcome }, count]),
    );
    this.#counter('renewals_total', 'Renewals of leases, one for each attempt.', ['result'], () =>
      [...renewals].map(([result, count]) => [{ result }, count]),
    );
    this.#counter(
      'reports_total',
      'Last reports of attempts that were sent.',
      ['op', 'result'],
      () => [...reports].map(([op, result, count]) => [{ op, result }, count]),
    );
    this.#counter(
      'attempts_total',
      'Attempts that ended here, by type and how.',
      ['type', 'outcome'],
      () => [...attempts].map(([type, outcome, count]) => [{ type, outcome }, count]),
    );
    this.#counter('leases_lost_total', 'Leases that ran out before they were renewed.', [], () => [
      [{}, this.#counts.leasesLost],
    ]);
  }

  #type({ type, schemaVersion }: { readonly type: string; readonly schemaVersion: number }) {
    return this.#counts.label(typeKey(type, schemaVersion));
  }

  #gauge(name: string, help: string, { labels, rows }: { labels: string[]; rows: Rows }): void {
    const metrics = this;
    new Gauge({
      name: PREFIX + name,
      help,
      labelNames: labels,
      registers: [this.#registry],
      collect() {
        this.reset();
        const all = rows(metrics.#now);
        // Nothing is not 0: without labels a reset says 0.
        if (all.length === 0 && labels.length === 0) this.remove();
        for (const [row, value] of all) this.set(row, value);
      },
    });
  }

  #counter(name: string, help: string, labelNames: string[], rows: Rows): void {
    new Counter({
      name: PREFIX + name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [row, value] of rows(undefined)) this.inc(row, value);
      },
    });
  }
}

type Rows = (status: StatusReport | undefined) => (readonly [Record<string, string>, number])[];

/** The histogram that was kept since the start, in the form of the library. */
class Kept extends Histogram<'type'> {
  readonly #kept: Counts;

  constructor(register: Registry, counts: Counts) {
    super({
      name: PREFIX + DURATION,
      help: DURATION_HELP,
      labelNames: ['type'],
      buckets: BOUNDS_SECONDS,
      registers: [register],
    });
    this.#kept = counts;
  }

  override async get(): ReturnType<Histogram<'type'>['get']> {
    const name = `${PREFIX}${DURATION}`;
    const values: Row[] = [];
    for (const [type, { buckets, sum, count }] of this.#kept.durations) {
      let upTo = 0;
      for (const [i, bound] of BOUNDS_SECONDS.entries()) {
        upTo += buckets[i] ?? 0;
        values.push({ metricName: `${name}_bucket`, labels: { type, le: bound }, value: upTo });
      }
      values.push({ metricName: `${name}_bucket`, labels: { type, le: '+Inf' }, value: count });
      values.push({ metricName: `${name}_sum`, labels: { type }, value: sum });
      values.push({ metricName: `${name}_count`, labels: { type }, value: count });
    }
    const told = { name, help: DURATION_HELP, type: 'histogram', values, aggregator: 'sum' };
    return told as unknown as Awaited<ReturnType<Histogram<'type'>['get']>>;
  }

  /** What a registry asks for where it is there. */
  getForPromString(): ReturnType<Histogram<'type'>['get']> {
    return this.get();
  }
}

/** What the library's types leave out: `le`. */
interface Row {
  readonly metricName: string;
  readonly labels: { readonly type: string; readonly le?: number | string };
  readonly value: number;
}

const PREFIX = 'interlock_worker_';
const DURATION = 'handler_duration_seconds';
const DURATION_HELP = 'How long handlers took, by type.';
