/** With a stop at its end, if it has none: what is quoted may end with a question. */
export function sentence(text: string): string {
  return /[.!?\u2026]$/.test(text) ? text : `${text}.`;
}

/** As it goes on into another sentence. */
export function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}
