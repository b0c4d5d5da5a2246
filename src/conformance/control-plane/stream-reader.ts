import { readEventStream, type StreamEnd } from '../../wire/event-stream.ts';
import { Broken } from '../case.ts';
import { shown } from '../check.ts';
import type { ControlPlaneWorld } from './world.ts';

/** One event of a stream. */
export interface Frame {
  readonly event: string;
  /** `undefined` where its data is no JSON object. */
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** On the kit's clock, milliseconds. */
  readonly atMs: number;
}

/** A stream of events, read as it comes; what came is kept until a case asks for it. */
export class StreamReader {
  /** Every event so far. */
  readonly frames: Frame[] = [];
  readonly #world: ControlPlaneWorld;
  readonly #path: string;
  readonly #close: AbortController;
  #end: StreamEnd | undefined;

  constructor(
    world: ControlPlaneWorld,
    path: string,
    body: ReadableStream<Uint8Array>,
    close: AbortController,
  ) {
    this.#world = world;
    this.#path = path;
    this.#close = close;
    const listener = {
      event: (event: string, text: string) => {
        this.frames.push({ event, data: dataOf(text), atMs: world.clock.now() });
        world.transcript.add(`GET ${path} ← ${event} ${text.slice(0, 300)}`);
      },
      bytes: () => {},
    };
    void readEventStream(body, listener, AbortSignal.any([close.signal, world.signal])).then(
      (end) => {
        this.#end = end;
      },
    );
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** The first event that fits, of those that came and those that come. @throws Broken after `ms` [20 s]. */
  next(what: string, fits: (frame: Frame) => boolean, ms?: number): Promise<Frame> {
    const seen = () => this.frames.slice(-5).map(({ event, data }) => `${event} ${shown(data)}`);
    const words = () =>
      `${what} on GET ${this.#path} (last came: ${seen().join(', ') || 'nothing'})`;
    return this.#world.until(
      words,
      async () => {
        const found = this.frames.find(fits);
        if (found === undefined && this.ended)
          throw new Broken(`GET ${this.#path} ended before ${what} came.`);
        return found;
      },
      ms,
    );
  }

  /** Resolves once the peer has ended it. @throws Broken after `ms`. */
  async end(why: string, ms?: number): Promise<void> {
    const words = `the end of GET ${this.#path} (${why})`;
    await this.#world.until(words, async () => this.ended || undefined, ms);
  }

  /** Goes away. Twice is fine. */
  close(): void {
    this.#close.abort();
  }
}

/** @throws Broken where the answer is no event stream. */
export async function openStream(
  world: ControlPlaneWorld,
  path: string,
  key: string,
): Promise<StreamReader> {
  const close = new AbortController();
  const response = await world.open({ method: 'GET', path, key, signal: close.signal });
  const type = response.headers.get('content-type') ?? 'none';
  if (response.status === 200 && response.body && /^text\/event-stream\s*(;|$)/i.test(type))
    return new StreamReader(world, path, response.body, close);
  close.abort();
  throw new Broken(
    `GET ${path} was answered ${response.status} with Content-Type ${type}; expected is 200 with text/event-stream.`,
  );
}

function dataOf(text: string): Frame['data'] {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as Frame['data']) : undefined;
  } catch {
    return undefined;
  }
}
