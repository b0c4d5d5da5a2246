import { keyState, localKey } from '../core/key-rules.ts';
import type { KeyRow, Reads } from '../ports/store.ts';
import type { Who } from './page.ts';
import type { Session } from './session.ts';

/** Kinds of key that may read tasks, and so have pages to look at. */
const LOOKING: ReadonlySet<string> = new Set(['task-producer', 'task-operator', 'admin']);

export function mayLook({ kind }: KeyRow): boolean {
  return LOOKING.has(kind);
}

/**
 * Who looks, asked anew with each request: a key that was revoked or has expired is none from then on.
 * `ended`: the session was signed in with keys, and none of them is one any more.
 */
export async function whoLooks(
  reads: Reads,
  session: Session | undefined,
  local: boolean,
  nowMs: number,
): Promise<Who | 'ended' | undefined> {
  if (session !== undefined && session.keys.length > 0) {
    const rows: KeyRow[] = [];
    for (const id of session.keys) {
      const row = await reads.keyById(id);
      if (row && keyState(nowMs, row) === 'usable' && mayLook(row)) rows.push(row);
    }
    const key = rows.find((row) => row.project === session.project) ?? rows[0];
    if (key === undefined) return 'ended';
    return { key, local: false, projects: [...new Set(rows.map((row) => row.project))].sort() };
  }
  if (!local) return undefined;
  const projects = await reads.projects();
  const wished = session?.project;
  const project =
    wished !== undefined && projects.includes(wished)
      ? wished
      : projects.includes('default')
        ? 'default'
        : (projects[0] ?? 'default');
  return { key: localKey(project), local: true, projects };
}
