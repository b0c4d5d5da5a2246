import { Broken } from '../case.ts';
import { expect, shown } from '../check.ts';
import type { Seen } from './caller.ts';
import type { ControlPlaneWorld } from './world.ts';

/** What cases ask of a refused request, and the limits that they send beyond. */

/**
 * The request is refused as `400 INVALID_REQUEST`, and `issues` tell each of these paths. How a path is written is the
 * peer's: `input.items[3].id`, `/input/items/3/id` and `$.input.items[3].id` are the same.
 */
export function refusesAt(seen: Seen, ...paths: string[]): Seen {
  seen.refuses(400, 'INVALID_REQUEST');
  const told = issuesOf(seen);
  for (const path of paths) {
    if (told.some((issue) => plainPath(issue.path) === plainPath(path))) continue;
    throw new Broken(
      `${seen.what} was refused with issues at ${shown(told.map((issue) => issue.path))}; expected is ${shown(path)}.`,
    );
  }
  return seen;
}

/** @throws Broken where `issues` is no list of paths and messages. */
export function issuesOf(seen: Seen): readonly { path: string; message: string }[] {
  const { issues } = seen.body<{ issues?: unknown }>();
  const sound =
    Array.isArray(issues) &&
    issues.length > 0 &&
    issues.every((one) => typeof one?.path === 'string' && typeof one?.message === 'string');
  expect(sound, `${seen.what} was refused with issues ${shown(issues)}; expected are paths.`);
  return issues as { path: string; message: string }[];
}

function plainPath(path: string): string {
  return path
    .replace(/^\$/, '')
    .split(/[./[\]"']+/)
    .filter(Boolean)
    .join('.');
}

export interface Limits {
  readonly inlineBytes: number;
  readonly batch: number;
  /** Absent: 100. */
  readonly claimMax?: number;
  readonly batchBytes: number;
  readonly leaseMs: { readonly min: number; readonly default: number; readonly max: number };
  readonly checkpointBytes: number;
  readonly logLineBytes: number;
}

/** What `GET /` says. @throws Broken where that is no answer. */
export async function limitsOf(world: ControlPlaneWorld): Promise<Limits> {
  const seen = (await world.call({ method: 'GET', path: '/' })).is(200);
  return seen.body<{ limits: Limits }>().limits;
}

/** Tasks of a type of this case, as a list gives them: at most a page. */
export async function listed(
  world: ControlPlaneWorld,
  type: string,
  more = '',
  key?: string,
): Promise<readonly Record<string, unknown>[]> {
  const path = `/tasks?type=${encodeURIComponent(type)}${more}`;
  return (await world.get(path, key)).is(200).body<{ tasks: Record<string, unknown>[] }>().tasks;
}

/** The form of an instant: RFC 3339, UTC. */
export function isInstant(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|\+00:00)$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
}
