import type { Case } from '../case.ts';
import type { HandlerType } from './manifest.ts';
import type { World } from './world.ts';

/** A case of the worker kit. */
export interface WorkerCase extends Case<World> {
  /** Types of the handlers of the manifest whose tasks it offers: no others, all of them. */
  readonly handlers: readonly HandlerType[];
}
