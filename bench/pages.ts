import { findChromium, launch, NO_CHROMIUM, Window } from '../test/browser/chromium.ts';
import { fill, noop } from './enqueue.ts';
import { API, type Bench, inFlight } from './processes.ts';
import { median, medianOf, percentile, type Row } from './rows.ts';

/** Pages of a project with many tasks, as a browser on this machine asks for them, and how soon a change shows. */

const TYPES = 20;
/** What is claimed and ended: of these every tenth fails. */
const ENDED_SHARE = 0.1;

interface Attempt {
  readonly taskId: string;
  readonly attemptId: string;
  readonly fence: number;
  readonly leaseToken: string;
}

export async function pages(bench: Bench, tasks: number, times: number): Promise<Row[]> {
  for (let at = 0; at < TYPES; at++)
    await fill(bench, 'default', Math.ceil(tasks / TYPES), `bench/page-${at}`);
  await end(bench, Math.round((tasks * ENDED_SHARE) / 100) * 100);
  const list = await bench.call<{ tasks: { id: string }[] }>('GET', '/tasks?status=failed&limit=1');
  const failed = list.tasks[0]?.id;
  const paths = [
    '/tasks',
    '/tasks?status=queued',
    '/tasks?status=failed',
    '/tasks?type=bench/page-7&schemaVersion=1',
    '/tasks?label=nobody',
    `/tasks/${failed}`,
    `/tasks/${failed}/retry`,
    '/task-types',
    '/task-type?type=bench/page-7&schemaVersion=1',
    '/workers',
    '/workers/pages',
    '/submit',
  ];
  const rows: Row[] = [];
  const all: number[] = [];
  for (const path of paths) {
    const { took, status } = await look(bench, path, times);
    if (status === 404) continue;
    if (status !== 200) throw new Error(`GET ${path}: ${status}`);
    all.push(...took);
    rows.push({
      what: `pages: ${path.replace(failed ?? '', '{id}')}, ${tasks} tasks (${medianOf(times)})`,
      value: median(took),
      unit: 'ms',
      aim: '< 200',
      note: `longest ${Math.round(percentile(took, 1))} ms`,
    });
  }
  const longest = { what: 'pages: the longest of them all', value: percentile(all, 1), unit: 'ms' };
  return [...rows, longest, ...(await liveUpdate(bench, Math.min(times, 10)))];
}

async function look(bench: Bench, path: string, times: number) {
  const took: number[] = [];
  let status = 0;
  // The first one reads what lies on the disk: it counts as one of them.
  for (let at = 0; at < times; at++) {
    const from = performance.now();
    const answer = await bench.pool.request({
      method: 'GET',
      path,
      headers: { accept: 'text/html' },
    });
    await answer.body.text();
    took.push(performance.now() - from);
    status = answer.statusCode;
  }
  return { took, status };
}

/** Claims and ends tasks as a worker would, without handlers. */
async function end(bench: Bench, count: number): Promise<void> {
  const call = async <T>(method: 'PUT' | 'POST', path: string, body: unknown): Promise<T> => {
    const answer = await bench.pool.request({
      method,
      path: API + path,
      headers: {
        authorization: `Bearer ${bench.keys['task-worker']}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    const value = await answer.body.json();
    if (answer.statusCode >= 300) throw new Error(`${path}: ${JSON.stringify(value)}`);
    return value as T;
  };
  const types = Array.from({ length: TYPES }, (_, at) => ({
    type: `bench/page-${at}`,
    schemaVersion: 1,
    effectSafety: 'pure',
    effectGate: 'start',
  }));
  await call('PUT', '/workers/pages', {
    sessionId: 'pages',
    state: 'ready',
    slots: { max: 100, busy: 0 },
    pools: ['default'],
    handlersHash: 'pages',
    handlers: types,
    versions: {},
    spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
  });
  await inFlight(Math.ceil(count / 100), 1, async (turn) => {
    const { attempts } = await call<{ attempts: Attempt[] }>('POST', '/claims', {
      workerId: 'pages',
      sessionId: 'pages',
      requestId: `pages-${turn}`,
      pools: ['default'],
      want: types.map((one) => ({ ...one, slots: 100 })),
      max: 100,
    });
    const reports = attempts.map(({ taskId, attemptId, fence, leaseToken }, at) => ({
      ...{ taskId, attemptId, fence, leaseToken },
      ...(at % 10 === 0
        ? { op: 'fail', error: { code: 'BENCH', message: 'As it should.', retryable: false } }
        : { op: 'complete', result: { at } }),
    }));
    await call('POST', '/attempts/batch', { reports });
  });
}

/** From the send of a submission until a browser shows the task in its list. */
async function liveUpdate(bench: Bench, times: number): Promise<Row[]> {
  const what = `pages: submit → shown in the list of a browser (${medianOf(times)})`;
  const chromium = findChromium();
  if (chromium === undefined) return [{ what, value: Number.NaN, unit: 'ms', note: NO_CHROMIUM }];
  const browser = await launch(chromium);
  try {
    const { page, ...window } = await Window.open(browser, bench.url);
    await page.goto(`${bench.url}/tasks`);
    await page.locator('#live-state', { hasText: 'Live' }).waitFor();
    const took: number[] = [];
    for (let at = 0; at < times; at++) {
      const from = performance.now();
      const { id } = await bench.call<{ id: string }>('POST', '/tasks', noop(at, 'parked'));
      await page.locator(`main a[href="/tasks/${id}"]`).first().waitFor();
      took.push(performance.now() - from);
    }
    await window.context.close();
    const note = `longest ${Math.round(percentile(took, 1))} ms`;
    return [{ what, value: median(took), unit: 'ms', aim: '< 1,000', note }];
  } finally {
    await browser.close();
  }
}
