/** What went wrong is told by its message alone: what happened, to what, and the next step. Anything else is a bug with a stack. */
export class Trouble extends Error {}
