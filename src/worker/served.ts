import { createHash } from 'node:crypto';
import { canonical } from '../contract/canonical.ts';
import type { HandlerInfo, KeptHandler, UnservedHandler } from '../contract/index.ts';
import { typeKey } from '../contract/names.ts';
import type { ServedHandler } from './context.ts';

/** The handlers that are served at a time. Never changed: others are another one of these. */
export class Served {
  readonly handlers: readonly ServedHandler[];
  /** By `demo/hello@1`. */
  readonly byType: ReadonlyMap<string, ServedHandler>;
  /** What presence tells of them, and the hash by which the control plane knows it. */
  readonly infos: HandlerInfo[];
  readonly hash: string;
  /** Those whose file cannot be loaded any more: the code of before is served. */
  readonly kept: readonly KeptHandler[];

  /** Files of the folder that cannot be served. */
  readonly unserved: readonly UnservedHandler[];

  constructor(
    handlers: readonly ServedHandler[],
    kept: readonly KeptHandler[] = [],
    unserved: readonly UnservedHandler[] = [],
  ) {
    this.handlers = handlers;
    this.kept = kept;
    this.unserved = unserved;
    this.byType = new Map(handlers.map((one) => [typeKey(one.type, one.schemaVersion), one]));
    this.infos = handlers.map(
      ({ type, schemaVersion, effectSafety, effectGate, inputSchema, outputSchema }) => ({
        type,
        schemaVersion,
        effectSafety,
        effectGate,
        ...(inputSchema === undefined ? {} : { inputSchema }),
        ...(outputSchema === undefined ? {} : { outputSchema }),
      }),
    );
    this.hash = createHash('sha256').update(canonical(this.infos)).digest('hex').slice(0, 32);
  }

  /** Types of which that one has other code, or none. */
  changedIn(next: Served): string[] {
    return [...this.byType].flatMap(([type, { code }]) => {
      const same = next.byType.get(type);
      return same !== undefined && same.code?.id === code?.id ? [] : [type];
    });
  }
}
