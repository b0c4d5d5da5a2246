/** Calls of the contract by plain `fetch`, as any client would make them. */
// Bodies are of every shape.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Body = any;

export interface Keys {
  readonly producer: string;
  readonly worker: string;
  readonly operator: string;
  readonly admin: string;
}

export class Api {
  readonly #url: string;
  readonly keys: Keys;

  constructor(url: string, keys: Keys) {
    this.#url = `${url}/api/tasks/v1`;
    this.keys = keys;
  }

  /** @throws Error with what was refused: a seed that is not whole would show nothing. */
  async call(kind: keyof Keys, method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await fetch(this.#url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.keys[kind]}`,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 600)}`);
    return text === '' ? undefined : JSON.parse(text);
  }
}

let sessions = 0;

/** A worker without handlers: it says and reports what it is told to. */
export class PlayedWorker {
  readonly id: string;
  readonly #api: Api;
  readonly #session = `session-${++sessions}`;
  #requests = 0;

  constructor(api: Api, id: string) {
    this.#api = api;
    this.id = id;
  }

  present(presence: Body = {}): Promise<Body> {
    return this.#api.call('worker', 'PUT', `/workers/${this.id}`, {
      sessionId: this.#session,
      state: 'ready',
      slots: { max: 4, busy: 0 },
      pools: ['default'],
      handlersHash: 'h1',
      handlers: [],
      versions: { agent: '0.1.0', node: '24.22.3' },
      spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
      sentAt: new Date().toISOString(),
      ...presence,
    });
  }

  async claim(type: string, count: number, more: Body = {}): Promise<Body[]> {
    const { pools = ['default'], schemaVersion = 1, leaseMs, ...want } = more;
    const { attempts } = await this.#api.call('worker', 'POST', '/claims', {
      workerId: this.id,
      sessionId: this.#session,
      requestId: `${this.#session}-${++this.#requests}`,
      pools,
      want: [{ type, schemaVersion, slots: count, effectSafety: 'pure', ...want }],
      max: count,
      ...(leaseMs !== undefined && { leaseMs }),
    });
    if (attempts.length !== count)
      throw new Error(`${attempts.length} of ${count} tasks ${type} were there to be claimed`);
    return attempts;
  }

  report({ taskId, attemptId, fence, leaseToken }: Body, op: string, more: Body = {}) {
    const session = op === 'start' || op === 'effect' ? { sessionId: this.#session } : {};
    return this.#api.call('worker', 'POST', `/attempts/${attemptId}/${op}`, {
      op,
      taskId,
      attemptId,
      fence,
      leaseToken,
      ...session,
      ...more,
    });
  }
}
