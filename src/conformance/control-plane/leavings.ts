import type { Seen, Sent } from './caller.ts';
import type { AttemptOffer, KeyShape, TaskShape } from './wire-shapes.ts';
import type { Side, WorkerIds } from './worker-ids.ts';
import type { KitKeys } from './world.ts';

/** A task that could not be ended. */
export interface Left {
  readonly taskId: string;
  /** That may read it. */
  readonly key: string;
}

/** A call whose signal neither the end of the case nor that of the run aborts. */
type Call = (sent: Sent) => Promise<Seen>;

interface Spoken {
  readonly workerId: string;
  readonly last: Sent;
  readonly keys: Set<string | undefined>;
}

interface LeavingsOptions {
  readonly keys: KitKeys;
  readonly workerIds: WorkerIds;
  readonly run: string;
  readonly pool: string;
  /** The names of the keys that the case makes begin so. */
  readonly keyNames: string;
  /** A 128-bit id of the contract's form. */
  id(prefix: string): string;
}

/** Everything that a case has made, read off its calls, so that nothing of it stays that could run. */
export class Leavings {
  readonly #options: LeavingsOptions;
  /** Tasks, and the key that may cancel them. */
  readonly #tasks = new Map<string, string>();
  /** By their ids. */
  readonly #keys = new Set<string>();
  #askedForKeys = false;
  /** The latest attempt of each task that an answer told, and the key that claimed it. */
  readonly #attempts = new Map<string, { readonly offer: AttemptOffer; readonly key: string }>();
  /** Attempts that have asked for a gate. */
  readonly #begun = new Set<string>();
  /** Claims whose answer has not come: what they got, they get again. */
  readonly #openClaims = new Map<string, Sent>();
  /** Who spoke last for each worker of each project, and with which keys. */
  readonly #workers = new Map<string, Spoken>();
  /** Names to give back. */
  readonly #taken = new Map<string, Side>();

  constructor(options: LeavingsOptions) {
    this.#options = options;
  }

  /** A name for a worker of this key: one that goes round, or `undefined` where the key is no key of the run. */
  workerId(key: string): string | undefined {
    const { keys, workerIds } = this.#options;
    const side =
      key === keys.worker ? 'worker' : key === keys.otherWorker ? 'other-worker' : undefined;
    if (side === undefined) return undefined;
    const taken = workerIds.take(side);
    this.#taken.set(taken, side);
    return taken;
  }

  task(id: unknown, key: string): void {
    if (typeof id === 'string') this.#tasks.set(id, key);
  }

  key(id: string): void {
    this.#keys.add(id);
  }

  /** Before a call is sent: whether it will be answered, nobody knows. */
  sends(sent: Sent): void {
    if (isClaim(sent)) this.#openClaims.set(nameOf(sent), sent);
    if (sent.method === 'POST' && sent.path === '/keys') this.#askedForKeys = true;
    const [, attemptId, op] = REPORT.exec(sent.path) ?? [];
    if (attemptId !== undefined && isGate(op)) this.#begun.add(attemptId);
    if (sent.path === '/attempts/batch')
      for (const one of listIn(sent.body, 'reports'))
        if (isGate(one.op)) this.#begun.add(String(one.attemptId));
  }

  saw(sent: Sent, seen: Seen): void {
    if (isClaim(sent) && seen.status < 500) this.#openClaims.delete(nameOf(sent));
    if (seen.status >= 300) return;
    const { producer, worker } = this.#options.keys;
    if (sent.method === 'POST' && sent.path === '/tasks')
      this.task(seen.json?.id, sent.key ?? producer);
    if (sent.path === '/tasks/batch')
      for (const { body } of listIn({ items: seen.json }, 'items'))
        this.task((body as { id?: unknown } | undefined)?.id, sent.key ?? producer);
    if (isClaim(sent))
      for (const offer of listIn(seen.json, 'attempts') as unknown as AttemptOffer[])
        if (offer.fence >= (this.#attempts.get(offer.taskId)?.offer.fence ?? 0))
          this.#attempts.set(offer.taskId, { offer, key: sent.key ?? worker });
    if (isClaim(sent) || isPresence(sent)) this.#spoke(sent);
  }

  /** @returns the tasks that still run and cannot be ended from here: nobody knows the token of their attempt. */
  async clear(call: Call): Promise<readonly Left[]> {
    const asked: Call = (sent) => call({ ...sent, signal: undefined });
    let running = await this.#cancel(asked);
    running = await this.#end(running, asked);
    if (running.length > 0) {
      for (const claim of [...this.#openClaims.values()].slice(-MOST_CLAIMS))
        await asked(claim).then(
          (seen) => this.saw(claim, seen),
          () => {},
        );
      running = await this.#end(running, asked);
    }
    await this.#sayOffline(asked);
    for (const id of [...this.#keys, ...(await this.#keysOfLateAnswers(asked))]) {
      const key = this.#options.keys.admin;
      await asked({ method: 'DELETE', path: `/keys/${id}`, key }).catch(() => {});
    }
    return running;
  }

  /** Keys that were made though nobody saw the answer: they are the newest, so the first page has them. */
  async #keysOfLateAnswers(call: Call): Promise<readonly string[]> {
    if (!this.#askedForKeys) return [];
    const { keys, keyNames } = this.#options;
    const sent = { method: 'GET', path: '/keys?limit=100', key: keys.admin } as const;
    const seen = await call(sent).catch(() => undefined);
    return (listIn(seen?.json, 'keys') as readonly Partial<KeyShape>[])
      .filter(({ name, revokedAt }) => name?.startsWith(keyNames) && revokedAt === undefined)
      .flatMap(({ id }) => (id === undefined || this.#keys.has(id) ? [] : [id]));
  }

  /** @returns those that run all the same, until their worker obeys. */
  async #cancel(call: Call): Promise<Left[]> {
    const { producer } = this.#options.keys;
    const running = new Map<string, Left>();
    const cancel = async ([taskId, key]: readonly [string, string]) => {
      const path = `/tasks/${taskId}/cancel`;
      const body = { reason: 'The conformance run is over.' };
      const post = (by: string) => call({ method: 'POST', path, key: by, body });
      try {
        const seen = await post(key);
        // A key that the case has made, and revoked.
        const refused = isRefusedKey(seen) && key !== producer;
        const { json } = refused ? await post(producer) : seen;
        const asks = refused ? producer : key;
        if (json?.status === 'running') running.set(taskId, { taskId, key: asks });
      } catch {
        running.set(taskId, { taskId, key });
      }
    };
    await atOnce([...this.#tasks], cancel);
    // A submission whose answer never came has made a task all the same.
    for (let page = 0; page < PAGES; page++) {
      const more = (await this.#open(call)).filter(({ id }) => !this.#tasks.has(id));
      for (const { id } of more) this.#tasks.set(id, producer);
      if (more.length === 0) break;
      await atOnce(
        more.map(({ id }) => [id, producer] as const),
        cancel,
      );
    }
    return [...running.values()];
  }

  async #open(call: Call): Promise<readonly TaskShape[]> {
    const { pool, run, keys } = this.#options;
    const query = `pool=${encodeURIComponent(pool)}&status=queued,running&limit=100`;
    const path = `/tasks?${query}`;
    const seen = await call({ method: 'GET', path, key: keys.producer }).catch(() => undefined);
    const tasks = listIn(seen?.json, 'tasks') as unknown as TaskShape[];
    // A peer that ignores the filter would have us cancel what is not ours.
    return tasks.filter((task) => task.pool === pool && task.labels?.conformance === run);
  }

  async #end(tasks: readonly Left[], call: Call): Promise<Left[]> {
    const left: Left[] = [];
    await atOnce(tasks, async (task) => {
      if (!(await this.#ended(task, call).catch(() => false))) left.push(task);
    });
    return left;
  }

  /** Ends the attempt of a task as its worker would, with the token that it got. */
  async #ended(task: Left, call: Call): Promise<boolean> {
    const { worker } = this.#options.keys;
    const held = this.#attempts.get(task.taskId);
    if (held !== undefined) {
      const { attemptId, taskId, fence, leaseToken } = held.offer;
      // `cancelled` past a gate leaves an outcome that somebody would have to look after.
      for (const op of this.#begun.has(attemptId) ? ['complete', 'fail'] : Object.keys(ENDS)) {
        const body = { taskId, fence, leaseToken, ...ENDS[op] };
        const path = `/attempts/${attemptId}/${op}`;
        let seen = await call({ method: 'POST', path, key: held.key, body });
        if (isRefusedKey(seen) && held.key !== worker)
          seen = await call({ method: 'POST', path, key: worker, body });
        if (seen.status === 200) break;
      }
    }
    const seen = await call({ method: 'GET', path: `/tasks/${task.taskId}`, key: task.key });
    return seen.status !== 401 && !RUNNABLE.has(seen.json?.status);
  }

  #spoke(sent: Sent): void {
    const body = sent.body as { workerId?: string } | undefined;
    const workerId = body?.workerId ?? PRESENCE.exec(sent.path)?.[1];
    if (workerId === undefined) return;
    const { otherWorker } = this.#options.keys;
    const project = sent.key !== undefined && sent.key === otherWorker ? 'other' : 'own';
    const spoken = this.#workers.get(`${project} ${workerId}`);
    const keys = (spoken?.keys ?? new Set()).add(sent.key);
    this.#workers.set(`${project} ${workerId}`, { workerId, last: sent, keys });
  }

  /** Tells every worker offline, so that none is missed, and gives the names back that the next may use. */
  async #sayOffline(call: Call): Promise<void> {
    const { keys, workerIds, pool, id } = this.#options;
    for (const claim of this.#openClaims.values()) this.#spoke(claim);
    const back = new Map(this.#taken);
    await atOnce([...this.#workers.values()], async ({ workerId, last, keys: spoke }) => {
      const { sessionId } = last.body as { sessionId?: unknown };
      const goodbye = (session: unknown, key: string | undefined) =>
        call({
          method: 'PUT',
          path: `/workers/${workerId}`,
          key,
          body: {
            sessionId: session,
            state: 'offline',
            slots: { max: 1, busy: 0 },
            pools: [pool],
            handlersHash: 'none',
            handlers: [],
            versions: { agent: 'conformance' },
            spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
          },
        }).catch(() => undefined);
      let said = await goodbye(sessionId, last.key);
      // Its key was revoked: whoever comes then may speak for it.
      if (said !== undefined && isRefusedKey(said)) said = await goodbye(id('ses'), keys.worker);
      const own = this.#taken.get(workerId) === 'worker' ? keys.worker : keys.otherWorker;
      if (said?.status !== 200 || [...spoke].some((key) => key !== own)) back.delete(workerId);
    });
    for (const [workerId, side] of back) workerIds.giveBack(side, workerId);
  }
}

/** How an attempt is ended, what is tried first at the front. */
const ENDS: Readonly<Record<string, object>> = {
  cancelled: {},
  complete: { result: null },
  fail: {
    error: {
      code: 'CONFORMANCE_OVER',
      message: 'The conformance run is over.',
      retryable: false,
    },
  },
};
const RUNNABLE: ReadonlySet<unknown> = new Set(['queued', 'running']);
const REPORT = /^\/attempts\/([^/]+)\/(\w+)$/;
const PRESENCE = /^\/workers\/([^/]+)$/;
/** Calls at the same time: those that the case had. */
const AT_ONCE = 4;
/** A case made some dozens of tasks at most. */
const PAGES = 5;
/** Whose answers are asked for again at most. */
const MOST_CLAIMS = 60;

const isGate = (op: unknown) => op === 'start' || op === 'effect';
const isRefusedKey = ({ status }: Seen) => status === 401 || status === 403;

function isClaim({ path, body }: Sent): boolean {
  const { workerId, requestId } = (body ?? {}) as Record<string, unknown>;
  return path === '/claims' && typeof workerId === 'string' && typeof requestId === 'string';
}

function isPresence({ method, path, body }: Sent): boolean {
  const { sessionId } = (body ?? {}) as Record<string, unknown>;
  return method === 'PUT' && PRESENCE.test(path) && typeof sessionId === 'string';
}

function nameOf({ body }: Sent): string {
  const { workerId, sessionId, requestId } = body as Record<string, unknown>;
  return `${workerId} ${sessionId} ${requestId}`;
}

function listIn(value: unknown, name: string): readonly Record<string, unknown>[] {
  const list = (value as Record<string, unknown> | undefined)?.[name];
  return Array.isArray(list) ? list.filter((one) => one !== null && typeof one === 'object') : [];
}

async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const turns = Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  });
  await Promise.all(turns);
}
