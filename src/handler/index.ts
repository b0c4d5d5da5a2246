/** `interlock-node-sdk/handler`: what a handler's file may import. Small, and without dependencies. */
export type { HandlerContext, HandlerLog } from './context.ts';
export { defineHandler, type HandlerDefinition, type HandlerFunction } from './define.ts';
export {
  EffectRefusedError,
  type HandlerErrorOptions,
  HostError,
  RetryableError,
  type StopReason,
  UnknownOutcomeError,
} from './errors.ts';
export type { JsonSchema, StandardSchema } from './schema.ts';
