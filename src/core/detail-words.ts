import { type LastProgress, progressInWords } from './lost-evidence.ts';

/**
 * The details of an error or a loss, one clause each: `exitCode 7`, `last progress 40 %, "page 4" at 2026-11-29 18:31:02`.
 * @param timeOf an instant as its reader sees it.
 */
export function detailWords(
  details: Readonly<Record<string, unknown>>,
  timeOf: (at: string) => string,
): string[] {
  const { thrownIn, ...told } = details;
  const placed = Array.isArray(told.stack) && told.stack.length > 0 && typeof thrownIn === 'string';
  return Object.entries(placed ? told : details)
    .filter(([, value]) => value !== undefined && value !== null)
    .flatMap(([name, value]) =>
      name === 'stack' && Array.isArray(value) && value.length > 0
        ? placeWords(value, thrownIn)
        : ((OTHERS[name] && othersWords(OTHERS[name], value)) ??
          wordsOf(name, value, timeOf) ??
          `${name} ${plainly(value)}`),
    );
}

/** `EACCES: permission denied`: with the code once, where the message begins with it. */
export function withCode(code: string, message: string): string {
  const again = message.startsWith(code) && !/^\w/.test(message.slice(code.length));
  return code === '' || again ? message : `${code}: ${message}`;
}

/** @param thrownIn who threw, where it was not the handler's own code: a package's name, or `Node.js`. */
function placeWords(stack: readonly unknown[], thrownIn: unknown): string {
  const [at, ...callers] = stack.map(String);
  const from = callers.length > 0 ? `, called from ${callers.join(', ')}` : '';
  if (typeof thrownIn !== 'string') return `thrown at ${at}${from}`;
  return `thrown in ${thrownIn}, in your code at ${at}${from}`;
}

/** Causes of an error, and the parts of an AggregateError. */
const OTHERS: Readonly<Record<string, string>> = {
  causes: 'caused by',
  errors: 'one of its errors:',
};
const OTHERS_FACTS: ReadonlySet<string> = new Set(['message', 'name', 'code', 'stack', 'thrownIn']);

/** A clause for each; `undefined` where it is something of the handler's own. */
function othersWords(begin: string, value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isOther)) return undefined;
  return value.map(({ message, name, code, stack, thrownIn }) => {
    const said = code === undefined || message.includes(code) ? message : `${code}: ${message}`;
    const where = stack?.length ? ` (${placeWords(stack, thrownIn)})` : '';
    return `${begin} ${name === undefined || said.startsWith(name) ? '' : `${name}: `}${said}${where}`;
  });
}

interface Other {
  readonly message: string;
  readonly name?: string;
  readonly code?: string;
  readonly stack?: readonly unknown[];
  readonly thrownIn?: string;
}

function isOther(value: unknown): value is Other {
  if (typeof value !== 'object' || value === null) return false;
  const { message, stack, ...rest } = value as Readonly<Record<string, unknown>>;
  return (
    typeof message === 'string' &&
    (stack === undefined || Array.isArray(stack)) &&
    Object.entries(rest).every(([key, one]) => OTHERS_FACTS.has(key) && typeof one === 'string')
  );
}

function wordsOf(name: string, value: unknown, timeOf: (at: string) => string): string | undefined {
  if (name === 'begunAt' || name === 'claimedAt')
    return typeof value === 'string' ? `${name.slice(0, -2)} at ${timeOf(value)}` : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const facts = value as Readonly<Record<string, unknown>>;
  if (name === 'lastProgress' && typeof facts.at === 'string') {
    const { percent, message } = facts;
    const said: LastProgress = {
      at: facts.at,
      ...(typeof percent === 'number' ? { percent } : {}),
      ...(typeof message === 'string' ? { message } : {}),
    };
    return `last progress ${progressInWords(said)} at ${timeOf(facts.at)}`;
  }
  if (name === 'workerProcess' && typeof facts.went === 'string') {
    const where =
      facts.pid === undefined ? '' : ` ${String(facts.pid)} on ${String(facts.hostName)}`;
    return `worker process${where}: ${WENT[facts.went] ?? facts.went}`;
  }
  return undefined;
}

const WENT: Readonly<Record<string, string>> = {
  died: 'killed or crashed',
  'machine-restarted': 'the machine was restarted',
  'in-order': 'left in order',
  unknown: 'it is not known how it ended',
};

/** A text of at most so many characters, its last one `…` where it was longer. No half character is left. */
export function cut(text: string, chars: number): string {
  return text.length > chars
    ? `${text.slice(0, chars - 1).replace(/[\ud800-\udbff]$/, '')}…`
    : text;
}

/** As `cut`, but after the last sentence that fits, where one does: half a next step helps nobody. */
export function cutAtSentence(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const whole = /^.*[^.][.!?](?= )/s.exec(text.slice(0, chars - 1))?.[0];
  return whole === undefined ? cut(text, chars) : `${whole} …`;
}

function plainly(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
