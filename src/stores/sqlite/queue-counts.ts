import type { TaskState } from '../../core/task.ts';
import type { Connection } from './connection.ts';

/**
 * How many tasks wait and run in each place of the queue, so that nobody counts a long one: what the group of commands under
 * way changes is summed up, and written once for each place, in the same transaction as the tasks.
 */
export class QueueCounts {
  readonly #c: Connection;
  #changes = new Map<string, Change>();
  #last: Change | undefined;

  constructor(c: Connection) {
    this.#c = c;
  }

  /** @param before `undefined`: it is new. */
  moved(task: TaskState, before: unknown, after: unknown): void {
    if (before === after) return;
    // Tasks that come together are mostly of one place.
    if (this.#last === undefined || !samePlace(this.#last.task, task)) this.#last = this.#of(task);
    const change = this.#last;
    if (before === 'queued' || before === 'running') change[before]--;
    if (after === 'queued' || after === 'running') change[after]++;
  }

  flush(): void {
    if (this.#changes.size === 0) return;
    for (const { task, queued, running } of this.#changes.values()) {
      if (queued === 0 && running === 0) continue;
      const { project, pool, type, schemaVersion } = task;
      this.#c.run(COUNT, project, pool, type, schemaVersion, queued, running);
    }
    this.forget();
  }

  forget(): void {
    this.#changes = new Map();
    this.#last = undefined;
  }

  #of(task: TaskState): Change {
    const place = JSON.stringify([task.project, task.pool, task.type, task.schemaVersion]);
    let change = this.#changes.get(place);
    if (change === undefined) {
      change = { task, queued: 0, running: 0 };
      this.#changes.set(place, change);
    }
    return change;
  }
}

const samePlace = (a: TaskState, b: TaskState) =>
  a.type === b.type &&
  a.schemaVersion === b.schemaVersion &&
  a.pool === b.pool &&
  a.project === b.project;

interface Change {
  /** One of that place. */
  readonly task: TaskState;
  queued: number;
  running: number;
}

const COUNT = `INSERT INTO queue_counts (project, pool, type, schema_version, queued, running) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET queued = queued + excluded.queued, running = running + excluded.running`;
