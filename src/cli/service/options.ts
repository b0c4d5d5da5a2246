import { checkName } from './describe.ts';
import type { ServiceId } from './papers.ts';
import { kindOf, type ServiceWorld } from './world.ts';

/** The options by which every command says which service it means. */
export interface WhichService {
  readonly name: string | undefined;
  readonly user: boolean;
  readonly kind?: string | undefined;
  readonly 'dry-run'?: boolean;
}

/** Throws `USAGE`, or `SERVICE_MANAGER_ABSENT`. */
export function serviceMeant(args: WhichService, world: ServiceWorld, command: string): ServiceId {
  checkName(args.name, command);
  const kind = kindOf(args.kind, world, args['dry-run'] === true);
  return { kind, name: args.name, scope: args.user ? 'user' : 'system' };
}
