import type { Timer } from '../src/ports/clock.ts';
import type { WireFetch, WireInit, WireResponse } from '../src/wire/fetch.ts';
import type { ControlPlaneNode } from './control-plane-node.ts';
import type { Faults } from './faults.ts';
import type { History, HttpCall } from './history.ts';
import type { Life } from './life.ts';
import type { SimulatedRandom } from './random.ts';
import type { SimulatedTime } from './time.ts';

export interface Sender {
  readonly name: string;
  readonly session?: string;
  readonly life: Life;
  readonly draining?: () => boolean;
  /** kill -9 of the sender. */
  readonly crash?: () => void;
}

export interface LineOptions {
  readonly time: SimulatedTime;
  readonly faults: Faults;
  readonly random: SimulatedRandom;
  readonly history: History;
  readonly plane: ControlPlaneNode;
  /** One way, at least. */
  readonly latencyMs: number;
}

export const BASE = 'http://127.0.0.1:7420/api/tasks/v1';

/**
 * The network between one machine and the control plane, as a `fetch`: it delays, loses, repeats and garbles. The real
 * transport stands on one side, the real control plane on the other.
 */
export class Line {
  readonly #o: LineOptions;
  readonly #streams = new Set<Stream>();
  #downUntil = 0;

  constructor(options: LineOptions) {
    this.#o = options;
  }

  /** Nothing passes until then; streams stay open and are dead. */
  goDown(ms: number): void {
    this.#downUntil = Math.max(this.#downUntil, this.#o.time.nowMs + ms);
    for (const stream of this.#streams) stream.mute();
  }

  heal(): void {
    this.#downUntil = 0;
  }

  cutStreams(): void {
    for (const stream of [...this.#streams]) stream.cut();
  }

  get streams(): number {
    return this.#streams.size;
  }

  fetch(sender: Sender): WireFetch {
    return (url, init) => this.#call(sender, url, init);
  }

  #call(sender: Sender, url: string, init: WireInit): Promise<WireResponse> {
    const { time, faults, history } = this.#o;
    if (!sender.life.alive) return new Promise(() => {});
    const call: HttpCall = {
      n: history.calls.length,
      by: sender.name,
      ...(sender.session === undefined ? {} : { session: sender.session }),
      method: init.method,
      path: url.slice(BASE.length),
      body: init.body === undefined ? undefined : JSON.parse(String(init.body)),
      sentAt: time.nowMs,
      ...(sender.draining?.() ? { draining: true } : {}),
      arrivals: [],
    };
    history.calls.push(call);
    history.tell(time.nowMs, `${call.by} → ${call.method} ${short(call)}`);
    const strange = this.#strange(call) ?? this.#old(call);
    const repeated = faults.strikes('repeatRequest');
    const lostBefore = faults.strikes('dropRequest');
    const lostAfter = faults.strikes('dropAnswer');
    const cutAfter = faults.strikes('cutAnswer');
    const refused = faults.strikes('refuseConnection');
    const diesBefore = faults.strikes('killAtCall') && faults.of('killAtCall').chance(0.5);
    const diesAfter = faults.strikes('killAtCall');

    return new Promise<WireResponse>((resolve, reject) => {
      const { life } = sender;
      let over = false;
      const coming = new Set<Timer>();
      const abort = () => {
        over = true;
        for (const timer of coming) timer.cancel();
        reject(init.signal.reason);
      };
      init.signal.addEventListener('abort', abort, { once: true });
      if (init.signal.aborted) return reject(init.signal.reason);
      const back = (act: () => void) => {
        const latency = this.#latency();
        if (over) return;
        const timer = life.clock.timer(latency, () => {
          coming.delete(timer);
          act();
        });
        coming.add(timer);
      };
      const fail = (code: string) =>
        back(() => reject(Object.assign(new Error(`simulated ${code}`), { code })));
      if (diesBefore && sender.crash) {
        sender.crash();
        return;
      }
      if (time.nowMs < this.#downUntil || lostBefore) return;
      if (refused) return fail('ECONNREFUSED');
      if (strange) return back(() => resolve(strange));
      const arrive = (first: boolean) => async () => {
        const answered = this.#o.plane.handle(url, init);
        if (answered === undefined) {
          if (first) fail('ECONNREFUSED');
          return;
        }
        let response: Response;
        try {
          response = await answered;
        } catch {
          // The control plane died meanwhile.
          if (first) fail('ECONNRESET');
          return;
        }
        const stream = response.headers.get('content-type')?.startsWith('text/event-stream');
        if (stream && response.body) {
          call.arrivals.push({ at: time.nowMs, status: response.status, answer: undefined });
          if (!first) return void response.body.cancel().catch(() => {});
          return back(() => {
            if (init.signal.aborted) void response.body?.cancel().catch(() => {});
            else resolve(this.#open(response, life, init.signal));
          });
        }
        const text = await response.text();
        const answer = parsed(text);
        call.arrivals.push({ at: time.nowMs, status: response.status, answer });
        history.tell(time.nowMs, `${call.by} ← ${response.status} ${short(call)}`);
        if (!first || lostAfter || time.nowMs < this.#downUntil) return;
        if (cutAfter) return fail('ECONNRESET');
        back(() => {
          if (diesAfter && sender.crash) return sender.crash();
          // Who gave up waiting does not hear it.
          if (init.signal.aborted) return;
          call.deliveredAt = time.nowMs;
          resolve({
            status: response.status,
            headers: response.headers,
            body: new Response(text).body as ReadableStream<Uint8Array>,
          });
        });
      };
      time.at(time.nowMs + this.#latency(), arrive(true));
      if (repeated)
        time.at(
          time.nowMs + this.#latency() + faults.between('repeatRequest', 0, 20_000),
          arrive(false),
        );
    });
  }

  /** The answer of an earlier claim of the same process once more; the request goes no further. */
  #old(call: HttpCall): WireResponse | undefined {
    const { faults, history, time } = this.#o;
    if (call.path !== '/claims' || !faults.strikes('oldAnswer')) return undefined;
    const earlier = history.calls.filter(
      ({ by, path, deliveredAt, arrivals }) =>
        by === call.by &&
        path === '/claims' &&
        deliveredAt !== undefined &&
        ((arrivals[0]?.answer as { attempts?: unknown[] })?.attempts?.length ?? 0) > 0,
    );
    if (earlier.length === 0) return undefined;
    const { arrivals } = faults.of('oldAnswer').pick(earlier);
    history.tell(time.nowMs, `${call.by} ⇠ an old answer ${short(call)}`);
    return {
      status: 200,
      headers: new Headers({ 'content-type': 'application/json' }),
      body: new Response(JSON.stringify(arrivals[0]?.answer)).body as ReadableStream<Uint8Array>,
    };
  }

  /** What stands between worker and control plane answers in its place. */
  #strange(call: HttpCall): WireResponse | undefined {
    const { faults } = this.#o;
    const html = '<!doctype html><title>Something</title><p>Not the control plane</p>';
    const made: [boolean, number, string, Record<string, string>][] = [
      [faults.strikes('html502'), 502, html, { 'content-type': 'text/html' }],
      [faults.strikes('html200'), 200, html, { 'content-type': 'text/html' }],
      [
        faults.strikes('tooMany'),
        429,
        JSON.stringify({
          status: 429,
          code: 'RATE_LIMITED',
          title: 'Too many',
          type: 'about:blank',
        }),
        { 'content-type': 'application/problem+json', 'retry-after': '2' },
      ],
      [faults.strikes('redirect'), 302, '', { location: 'https://portal.example/login' }],
    ];
    const one = made.find(([strikes]) => strikes);
    if (one === undefined) return undefined;
    const [, status, text, headers] = one;
    this.#o.history.tell(this.#o.time.nowMs, `${call.by} ⇠ ${status} ${short(call)}`);
    return {
      status,
      headers: new Headers(headers),
      body: new Response(text).body as ReadableStream<Uint8Array>,
    };
  }

  #latency(): number {
    const { faults, random, latencyMs } = this.#o;
    const more = faults.strikes('slow') ? faults.between('slow', 500, 9_000) : 0;
    return latencyMs * (1 + random.fraction()) + more;
  }

  #open(response: Response, life: Life, signal: AbortSignal): WireResponse {
    const { faults, time, plane } = this.#o;
    const muted = faults.strikes('muteStream');
    const ends = faults.strikes('shortStream');
    const stream: Stream = new Stream(response.body as ReadableStream<Uint8Array>, {
      life,
      latency: () => this.#latency(),
      onEnd: () => {
        this.#streams.delete(stream);
        plane.streamEnded(stream);
      },
    });
    this.#streams.add(stream);
    plane.streamOpened(stream);
    life.onDeath(() => stream.drop());
    signal.addEventListener('abort', () => stream.drop(), { once: true });
    if (ends) time.at(time.nowMs + faults.between('shortStream', 0, 800), () => stream.cut());
    if (muted) time.at(time.nowMs + faults.between('muteStream', 100, 60_000), () => stream.mute());
    return { status: response.status, headers: response.headers, body: stream.body };
  }
}

/** An event stream on its way, chunk by chunk and in order. */
export class Stream {
  readonly body: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #o: { life: Life; latency: () => number; onEnd: () => void };
  #muted = false;
  #over = false;
  #lastAt = 0;
  readonly #coming = new Set<Timer>();

  constructor(
    from: ReadableStream<Uint8Array>,
    options: { life: Life; latency: () => number; onEnd: () => void },
  ) {
    this.#o = options;
    this.#reader = from.getReader();
    this.body = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => this.drop(),
    });
    void this.#pump();
  }

  mute(): void {
    this.#muted = true;
  }

  /** The reader sees the connection break. */
  cut(): void {
    this.#end(() =>
      this.#controller.error(Object.assign(new Error('simulated reset'), { code: 'ECONNRESET' })),
    );
  }

  /** The reader let go of it, or is gone. */
  drop(): void {
    this.#end(() => {});
  }

  async #pump(): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader
        .read()
        .catch(() => ({ done: true, value: undefined }));
      if (this.#over) return;
      const { clock } = this.#o.life;
      const at = Math.max(this.#lastAt, clock.now() + this.#o.latency());
      this.#lastAt = at;
      const timer = clock.timer(at - clock.now(), () => {
        this.#coming.delete(timer);
        if (this.#over || this.#muted) return;
        if (done) this.#end(() => this.#controller.close());
        else if (value) this.#controller.enqueue(value);
      });
      this.#coming.add(timer);
      if (done) return;
    }
  }

  #end(act: () => void): void {
    if (this.#over) return;
    this.#over = true;
    for (const timer of this.#coming) timer.cancel();
    this.#reader.cancel().catch(() => {});
    act();
    this.#o.onEnd();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `/claims`, `/attempts/batch renew,complete`, for the story. */
function short({ path, body }: HttpCall): string {
  const reports = Array.isArray(body?.reports) ? body.reports : [];
  const ops = reports.map(
    (one: { op: string; attemptId: string }) => `${one.op}:${one.attemptId.slice(-6)}`,
  );
  return `${path.replace(/\?.*/, '').replace(/att_\w*(\w{6})/, '…$1')}${ops.length > 0 ? ` ${ops.join(',')}` : ''}`;
}
