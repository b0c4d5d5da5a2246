import * as z from 'zod';
import { bounds } from './limits.ts';
import { instant, schemaVersion, typeName } from './names.ts';

/** What presence tells of handler files that the worker cannot load. */

/** A type whose handler's file does not load any more, so that the worker serves the code that it had before. */
export const keptHandler = z.object({
  type: typeName,
  schemaVersion,
  /** In words: what is wrong with the file. */
  why: z.string().max(bounds.reasonChars),
  /** When that was first seen, by the worker's clock. */
  since: instant,
});
export type KeptHandler = z.infer<typeof keptHandler>;
export const keptHandlers = z.array(keptHandler).max(bounds.keptHandlers);
/** Control planes of before ignored it, whatever it held. */
export const keptHandlersMeta = {
  openapi: { examples: [[]] },
  description: `Types that the worker serves with older code, since their file does not load any more: at most ${bounds.keptHandlers}, each with \`type\`, \`schemaVersion\`, \`why\` and \`since\`. What does not fit is ignored.`,
};

/** A file of the handlers folder that cannot be served, and of which there is no code of before. */
export const unservedHandler = z.object({
  /** As seen from the handlers folder. */
  file: z.string().max(bounds.reasonChars),
  /** Where the name of the file tells. */
  type: typeName.optional(),
  schemaVersion: schemaVersion.optional(),
  /** In words: what is wrong with it, and what to do. */
  why: z.string().max(bounds.reasonChars),
  /** When that was first seen, by the worker's clock. */
  since: instant,
});
export type UnservedHandler = z.infer<typeof unservedHandler>;
export const unservedHandlers = z.array(unservedHandler).max(bounds.unservedHandlers);
/** Control planes of before ignored it, whatever it held. */
export const unservedHandlersMeta = {
  openapi: { examples: [[]] },
  description: `Files of the handlers folder that the worker cannot serve: at most ${bounds.unservedHandlers}, each with \`file\`, \`type\` and \`schemaVersion\` where its name tells, \`why\` and \`since\`. What does not fit is ignored.`,
};
