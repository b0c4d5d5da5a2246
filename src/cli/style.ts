/** Colour for people, only where they see it; words carry the meaning without it. */
export interface Style {
  readonly colour: boolean;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
  faint(text: string): string;
  strong(text: string): string;
  /** The colour of a task's or a worker's state. */
  state(state: string, text?: string): string;
}

export function makeStyle(colour: boolean): Style {
  const paint = (code: number) => (text: string) =>
    colour ? `\u001b[${code}m${text}\u001b[0m` : text;
  const [good, bad, warn, faint, strong, busy] = [32, 31, 33, 2, 1, 36].map(paint) as [
    Paint,
    Paint,
    Paint,
    Paint,
    Paint,
    Paint,
  ];
  const states: Readonly<Record<string, Paint>> = {
    succeeded: good,
    ready: good,
    running: busy,
    full: busy,
    failed: bad,
    'outcome-unknown': bad,
    expired: warn,
    draining: warn,
    cancelled: faint,
    offline: faint,
  };
  return {
    colour,
    good,
    bad,
    warn,
    faint,
    strong,
    state: (state, text = state) => (states[state] ?? ((plain) => plain))(text),
  };
}

type Paint = (text: string) => string;

/** https://no-color.org: set and not empty means no; `FORCE_COLOR` means yes. */
export function wantsColour(
  env: Readonly<Record<string, string | undefined>>,
  terminal: boolean,
): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
  return terminal && env.TERM !== 'dumb';
}

/** What others wrote, safe on a terminal: no control characters, no text direction tricks. Line breaks stay if asked. */
export function plain(text: string, lines = false): string {
  const safe = text.replace(lines ? HARMFUL_KEEPING_LINES : HARMFUL, '\uFFFD');
  return safe;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be replaced
const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const HARMFUL_KEEPING_LINES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be replaced
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
