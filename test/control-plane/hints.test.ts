import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/ports/store.ts';
import { World } from './world.ts';

/** Streams of hints: who is told what, when they end, and that nobody is kept waiting. */

let world: World;
beforeEach(async () => {
  world = await World.start();
});
afterEach(() => world.app.stop());

interface Heard {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: hints are of every shape
  readonly data: any;
}

/** Reads a stream as it comes. */
class Listening {
  readonly heard: Heard[] = [];
  readonly status: number;
  readonly response: Response;
  ended: 'closed' | 'failed' | undefined;
  readonly reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(response: Response, reads = true) {
    this.response = response;
    this.status = response.status;
    this.reader = response.body?.getReader();
    if (reads) void this.#read();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    try {
      for (;;) {
        const { done, value } = (await this.reader?.read()) ?? { done: true, value: undefined };
        if (done) break;
        text += decoder.decode(value, { stream: true });
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const [, event = '', data = ''] =
            /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
          this.heard.push({ event, data: JSON.parse(data) });
          text = text.slice(end + 2);
        }
      }
      this.ended = 'closed';
    } catch {
      this.ended = 'failed';
    }
  }

  events(but: string = 'ping'): Heard[] {
    return this.heard.filter(({ event }) => event !== but);
  }
}

async function listen(path: string, key: string, reads = true): Promise<Listening> {
  const response = await world.app.fetch(
    new Request(`http://cp.test/api/tasks/v1${path}`, {
      headers: { authorization: `Bearer ${key}` },
    }),
  );
  const listening = new Listening(response, reads);
  await world.clock.advance(0);
  return listening;
}

const hints = async (worker: string, session = `ses-${worker}`, reads = true) =>
  listen(`/hints?workerId=${worker}&sessionId=${session}`, await world.key('task-worker'), reads);

/** A worker that asked for work and got none. */
async function idle(worker: string, max = 1): Promise<Listening> {
  const stream = await hints(worker);
  await world.claim(worker, { max });
  return stream;
}

describe('a worker’s stream', () => {
  it('opens with a ping and pings every 15 s', async () => {
    const stream = await hints('w1');
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.heard).toEqual([{ event: 'ping', data: {} }]);
    await world.clock.advance(46_000);
    expect(stream.heard).toHaveLength(4);
  });

  it('wakes for a task of a type and pool that the worker wants', async () => {
    const stream = await idle('w1');
    await world.submit();
    await world.clock.advance(0);
    expect(stream.events()).toEqual([{ event: 'wake', data: { types: ['demo/hello@1'] } }]);
    await world.submit({ type: 'demo/other' });
    await world.submit({ pool: 'gpu' });
    await world.submit({ schemaVersion: 2 });
    await world.clock.advance(1_000);
    expect(stream.events()).toHaveLength(1);
  });

  it('knows a worker by its presence before it has claimed', async () => {
    await world.call('PUT', '/workers/w1', {
      body: {
        sessionId: 'ses-w1',
        state: 'ready',
        slots: { max: 1, busy: 0 },
        pools: ['default'],
        handlersHash: 'h',
        handlers: [{ type: 'demo/hello', schemaVersion: 1 }],
        versions: {},
        spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
      },
    });
    const stream = await hints('w1');
    await world.submit();
    await world.clock.advance(0);
    expect(stream.events()).toHaveLength(1);
  });

  it('wakes at most twice as many ready workers as there are tasks, others each time', async () => {
    const streams = await Promise.all(Array.from({ length: 10 }, (_, i) => idle(`w${i}`)));
    const woken = () => streams.filter((stream) => stream.events().length > 0).length;
    await world.submit();
    await world.clock.advance(0);
    expect(woken()).toBe(2);
    await world.submit();
    await world.clock.advance(0);
    expect(woken()).toBe(4);
    await Promise.all(Array.from({ length: 20 }, () => world.submit()));
    await world.clock.advance(100);
    expect(woken()).toBe(10);
  });

  it('wakes no worker that is full or drains', async () => {
    const [full, draining] = [await idle('full'), await idle('draining')];
    await world.submit();
    await world.clock.advance(100);
    expect(await world.claim('full')).toHaveLength(1);
    await world.call('POST', '/workers/draining/drain');
    await world.claim('draining');
    const before = [full.events().length, draining.events('wake').length];
    await world.submit();
    await world.clock.advance(1_000);
    expect(full.events()).toHaveLength(before[0] as number);
    expect(draining.events('ping').filter(({ event }) => event === 'wake')).toHaveLength(1);
  });

  it('gathers what comes within a moment into one hint', async () => {
    const stream = await idle('w1', 10);
    for (let i = 0; i < 20; i++) await world.submit({ type: 'demo/hello' });
    await world.clock.advance(1_000);
    expect(stream.events().length).toBeLessThanOrEqual(2);
    expect((await world.call('GET', '/doctor')).body.outboxDebt).toBe(0);
  });

  it('wakes when a task becomes available later, to the millisecond of its time', async () => {
    const stream = await idle('w1');
    await world.submit({ notBeforeAt: '2026-01-01T00:01:00.100Z' });
    await world.clock.advance(60_099 - (world.clock.wall() - Date.UTC(2026, 0, 1)));
    expect(stream.events()).toEqual([]);
    await world.clock.advance(1);
    expect(stream.events()).toHaveLength(1);
  });

  it('wakes a worker for what comes right after its claim, in the same commit too', async () => {
    const stream = await hints('w1');
    await world.claim('w1', { max: 0 });
    const body = world.claimBody('w1', { max: 1 });
    // The claim found nothing; the submit beside it must not find a worker without a free slot.
    const [claimed] = await Promise.all([
      world.call('POST', '/claims', { body }),
      world.call('POST', '/tasks', { body: { type: 'demo/hello', schemaVersion: 1, input: 1 } }),
    ]);
    await world.clock.advance(100);
    expect(claimed.body.attempts.length + stream.events().length).toBe(1);
  });

  it('wakes for a task that comes back', async () => {
    const { task, attempt } = await world.running();
    const stream = await idle('w2');
    await world.report(attempt, 'release', { reason: 'drain' });
    await world.clock.advance(0);
    expect(stream.events()).toHaveLength(1);
    const [second] = await world.claim('w1');
    await world.gate(second);
    await world.report(second, 'fail', { error: { code: 'X', message: 'x', retryable: true } });
    expect((await world.task(task.id)).status).toBe('queued');
    await world.clock.advance(60_000);
    expect(stream.events()).toHaveLength(2);
  });

  it('tells of a cancel and a drain', async () => {
    const stream = await hints('w1');
    const other = await hints('w2');
    const { task, attempt } = await world.running();
    await world.call('POST', `/tasks/${task.id}/cancel`, { body: {} });
    await world.call('POST', '/workers/w1/drain');
    await world.clock.advance(0);
    expect(stream.events()).toEqual([
      { event: 'cancel', data: { attemptId: attempt.attemptId } },
      { event: 'drain', data: {} },
    ]);
    expect(other.events()).toEqual([]);
    // A stream that opens later hears of the drain too.
    expect((await hints('w1')).events()).toEqual([{ event: 'drain', data: {} }]);
  });

  it('is one for each session: a new one ends the old', async () => {
    const [first, second] = [await hints('w1'), await hints('w1')];
    await world.clock.advance(0);
    expect([first.ended, second.ended]).toEqual(['closed', undefined]);
  });

  it('ends when its session is superseded, and does not open for one that was', async () => {
    await world.claim('w1');
    const old = await hints('w1');
    await world.claim('w1', { sessionId: 'new' });
    await world.clock.advance(0);
    expect(old.ended).toBe('closed');
    expect((await hints('w1')).status).toBe(409);
    expect((await hints('w1', 'new')).status).toBe(200);
  });

  it('asks for a worker key, a worker id and a session', async () => {
    const worker = await world.key('task-worker');
    expect(
      (await listen('/hints?workerId=w1&sessionId=s', await world.key('task-producer'))).status,
    ).toBe(403);
    expect((await listen('/hints?workerId=w1', worker)).status).toBe(400);
    expect((await listen('/hints?workerId=a%20b&sessionId=s', worker)).status).toBe(400);
  });
});

describe('a producer’s stream', () => {
  it('tells of every change of the project’s tasks, and of no other’s', async () => {
    const mine = await listen('/events', await world.key('task-producer'));
    const theirs = await listen('/events', await world.key('task-producer', 'other'));
    const { task, attempt } = await world.running();
    await world.report(attempt, 'renew');
    await world.report(attempt, 'complete', { result: 'secret' });
    await world.clock.advance(0);
    expect(mine.events()).toEqual([
      { event: 'task', data: { taskId: task.id, seq: 1, status: 'queued' } },
      { event: 'task', data: { taskId: task.id, seq: 2, status: 'running' } },
      { event: 'task', data: { taskId: task.id, seq: 3, status: 'succeeded' } },
    ]);
    expect(theirs.events()).toEqual([]);
  });

  it('is cut when its reader takes nothing, and costs no more than its buffer', async () => {
    world = await World.start({ timing: { streamBufferBytes: 2_000 } });
    const slow = await listen('/events', await world.key('task-producer'), false);
    for (let i = 0; i < 60; i++) await world.submit();
    let bytes = 0;
    for (;;) {
      const got = await slow.reader?.read();
      if (!got || got.done) break;
      bytes += got.value.byteLength;
    }
    expect(bytes).toBeGreaterThan(1_000);
    expect(bytes).toBeLessThan(2_500);
    // Others go on.
    const quick = await listen('/events', await world.key('task-producer'));
    await world.submit();
    await world.clock.advance(0);
    expect(quick.events()).toHaveLength(1);
  });
});

describe('every stream', () => {
  it('is authorised again every minute', async () => {
    const store = world.store as { -readonly [K in keyof Store]: Store[K] };
    const stream = await listen('/events', await world.key('task-producer'));
    const worker = await hints('w1');
    store.keyById = async () => undefined;
    await world.clock.advance(59_000);
    expect([stream.ended, worker.ended]).toEqual([undefined, undefined]);
    await world.clock.advance(2_000);
    expect([stream.ended, worker.ended]).toEqual(['closed', 'closed']);
  });

  it('survives a store that cannot be asked', async () => {
    const store = world.store as { -readonly [K in keyof Store]: Store[K] };
    const stream = await listen('/events', await world.key('task-producer'));
    store.keyById = () => Promise.reject(new Error('busy'));
    await world.clock.advance(61_000);
    expect(stream.ended).toBeUndefined();
    expect(world.log.at(-1)?.event).toBe('hints.reauthorise-failed');
  });

  it('ends with the control plane, and none opens after', async () => {
    const [producer, worker] = [
      await listen('/events', await world.key('task-producer')),
      await hints('w1'),
    ];
    await world.app.stop();
    await world.app.stop();
    await world.clock.advance(0);
    expect([producer.ended, worker.ended]).toEqual(['closed', 'closed']);
    expect((await hints('w1')).status).toBe(503);
    expect((await listen('/events', await world.key('task-producer'))).status).toBe(503);
  });

  it('is forgotten when its reader leaves', async () => {
    const stream = await idle('w1');
    await stream.reader?.cancel();
    await world.submit();
    await world.clock.advance(16_000);
    expect(stream.events()).toEqual([]);
    expect((await world.call('GET', '/doctor')).body.outboxDebt).toBe(0);
  });
});

describe('a task that failed for a reason of its host (F56)', () => {
  /** It failed on w1 and may be claimed again. */
  async function failed(code: string) {
    const { task, attempt } = await world.running(
      {},
      { policy: { backoff: { initialMs: 100, jitter: 0 } } },
    );
    await world.report(attempt, 'fail', { error: { code, message: 'no card', retryable: true } });
    await world.clock.advance(100);
    return task.id as string;
  }
  const claimed = async (worker: string) => (await world.claim(worker)).map(({ taskId }) => taskId);
  const waits = async (worker: string) => {
    await world.claim(worker);
    return listen(
      `/hints?workerId=${worker}&sessionId=ses-${worker}`,
      await world.key('task-worker'),
    );
  };

  it('is left to another worker that waits for such tasks', async () => {
    await waits('w2');
    await world.claim('w2');
    const id = await failed('HOST_UNHEALTHY');
    expect(await claimed('w1')).toEqual([]);
    expect(await claimed('w2')).toEqual([id]);
  });

  it('is given to the same one where no other waits, or none that comes', async () => {
    const id = await failed('HOST_UNHEALTHY');
    expect(await claimed('w1')).toEqual([id]);
    await waits('w2');
    await world.claim('w2');
    const other = await failed('HOST_UNHEALTHY');
    expect(await claimed('w1')).toEqual([]);
    await world.clock.advance(5_000);
    expect(await claimed('w1')).toEqual([other]);
  });

  it('and of its own alike is given to whoever asks first', async () => {
    await waits('w2');
    await world.claim('w2');
    const id = await failed('TOO_BIG');
    expect(await claimed('w1')).toEqual([id]);
  });
});
