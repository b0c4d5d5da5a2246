/** The wire as data. What both sides say, its names, numbers and codes; no I/O and no decisions. */
export * from './canonical.ts';
export * from './claim-wait.ts';
export * from './effects.ts';
export * from './errors.ts';
export * from './handler-files.ts';
export * from './ids.ts';
export * from './json.ts';
export * from './limits.ts';
export * from './names.ts';
export * from './operations.ts';
export * from './policy.ts';
export * from './problems.ts';
export * from './service.ts';
export * from './start-in-outcome.ts';
export * from './tasks.ts';
export * from './values.ts';
export * from './worker-calls.ts';
