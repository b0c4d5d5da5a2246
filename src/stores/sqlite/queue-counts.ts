import type { TaskState } from '../../core/task.ts';
import type { Connection } from './connection.ts';

/**
 * How many tasks wait and run in each place of the queue, so that nobody counts a long one: what the group of commands under
 * way changes is summed up, and written once for each place, in the same transaction as the tasks.
 */
export class QueueCounts {
  readonly #c: Connection;
  readonly #changes = new Map<string, Change>();

  constructor(c: Connection) {
    this.#c = c;
  }

  /** @param before `undefined`: it is new. */
  moved(task: TaskState, before: unknown, after: unknown): void {
    if (before === after) return;
    const { project, pool, type, schemaVersion } = task;
    const place = `${project}\n${pool}\n${type}\n${schemaVersion}`;
    let change = this.#changes.get(place);
    if (change === undefined) {
      change = { task, queued: 0, running: 0 };
      this.#changes.set(place, change);
    }
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
    this.#changes.clear();
  }

  forget(): void {
    this.#changes.clear();
  }
}

interface Change {
  /** One of that place. */
  readonly task: TaskState;
  queued: number;
  running: number;
}

const COUNT = `INSERT INTO queue_counts (project, pool, type, schema_version, queued, running) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET queued = queued + excluded.queued, running = running + excluded.running`;
