import { World } from '../control-plane/world.ts';
import { Visitor } from './visitor.ts';

/** A control plane with pages, somebody who sits at its machine, and workers that are played by hand. */
export class Garage {
  readonly world: World;
  readonly visitor: Visitor;
  #calls = 0;

  constructor(world: World) {
    this.world = world;
    this.visitor = new Visitor(world);
  }

  static async open(): Promise<Garage> {
    const place = { loopback: true, behindProxy: false, secure: false };
    return new Garage(await World.start({ pages: { place } }));
  }

  /** A worker says that it is there. */
  async present(workerId: string, more: Record<string, unknown> = {}) {
    const reply = await this.world.call('PUT', `/workers/${workerId}`, {
      body: {
        sessionId: `ses-${workerId}`,
        state: 'ready',
        slots: { max: 2, busy: 0 },
        pools: ['default'],
        handlersHash: 'h1',
        handlers: [{ type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure' }],
        versions: { worker: '0.1.0' },
        spool: { pending: 0, bytes: 0, oldestMs: null, ok: true },
        ...more,
      },
    });
    if (reply.status >= 300) throw new Error(reply.text);
  }

  /** A worker takes what waits. @returns attempts, as they were given. */
  async claim(workerId: string, type = 'demo/hello') {
    const reply = await this.world.call('POST', '/claims', {
      body: {
        workerId,
        sessionId: `ses-${workerId}`,
        requestId: `req-${++this.#calls}`,
        pools: ['default'],
        want: [{ type, schemaVersion: 1, slots: 10, effectSafety: 'pure' }],
        max: 10,
      },
    });
    return reply.body.attempts as {
      taskId: string;
      attemptId: string;
      fence: number;
      leaseToken: string;
    }[];
  }

  async report(
    attempt: { taskId: string; attemptId: string; fence: number; leaseToken: string },
    workerId: string,
    op: string,
    more: Record<string, unknown> = {},
  ) {
    const { taskId, attemptId, fence, leaseToken } = attempt;
    const reply = await this.world.call('POST', `/attempts/${attemptId}/${op}`, {
      body: { taskId, fence, leaseToken, sessionId: `ses-${workerId}`, ...more },
    });
    if (reply.status >= 300) throw new Error(reply.text);
  }

  /** One task, from its start on a worker to its end. */
  async run(workerId: string, how: { waitMs: number; runMs: number; fails?: boolean }) {
    await this.world.submit({ policy: { maxAttempts: 1 } });
    await this.world.clock.advance(how.waitMs);
    const [attempt] = await this.claim(workerId);
    if (attempt === undefined) throw new Error('nothing was claimed');
    await this.report(attempt, workerId, 'start');
    await this.world.clock.advance(how.runMs);
    if (how.fails)
      await this.report(attempt, workerId, 'fail', { error: { code: 'E', message: 'm' } });
    else await this.report(attempt, workerId, 'complete', { result: 1 });
    return attempt;
  }
}

/** What a page says, without its markup. */
export function textOf(page: string): string {
  return page
    .replace(/<head>.*<\/head>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Markup that must never come out as markup. */
export const SCRIPT = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;
