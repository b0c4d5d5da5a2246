import type { NoAnswerCause } from '../ports/transport.ts';

/**
 * Why there is no answer, found where it happened, on its way through code that knows only exceptions.
 * The message is the sentence for people.
 */
export class WireFault extends Error {
  readonly reason: NoAnswerCause;

  constructor(reason: NoAnswerCause, why: string, cause?: unknown) {
    super(why, cause === undefined ? undefined : { cause });
    this.name = 'WireFault';
    this.reason = reason;
  }
}

export interface Explained {
  readonly cause: NoAnswerCause;
  readonly why: string;
}

/** What a failed call of a fetch means, in one sentence. `at` names the peer: `https://tasks.example.com`. */
export function explain(error: unknown, at: string): Explained {
  const chain = causes(error);
  const fault = chain.find((one) => one instanceof WireFault);
  if (fault instanceof WireFault) return { cause: fault.reason, why: fault.message };
  for (const one of chain) {
    const known = byCode(codeOf(one), at);
    if (known) return known;
  }
  const badPort = chain.some((one) => one instanceof Error && one.message === 'bad port');
  if (badPort) {
    const why = `${at} has a port that belongs to another protocol, where HTTP clients send nothing: let the control plane listen on another port.`;
    return { cause: 'connect', why };
  }
  const said = chain.map((one) => (one instanceof Error ? one.message : String(one))).at(-1);
  return { cause: 'cut', why: `The call to ${at} failed before its answer: ${said}.` };
}

/** The sentence of a system error on a connection: `refused the connection (ECONNREFUSED)`. */
export function connectWords(code: string | undefined, message: string): string {
  const words = code === undefined ? undefined : CONNECT_WORDS[code];
  return words ? `${words} (${code})` : `could not be reached (${code ?? message})`;
}

const CONNECT_WORDS: Record<string, string> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  ETIMEDOUT: 'did not answer',
  EHOSTUNREACH: 'has no route',
  ENETUNREACH: 'is in a network that cannot be reached from here',
  EADDRNOTAVAIL: 'cannot be reached from any address of this machine',
  EACCES: 'is forbidden by a firewall of this machine',
  EPERM: 'is forbidden by a firewall of this machine',
  EMFILE: 'cannot be reached, since this process has no file descriptor left',
};

/** Codes of the HTTP machinery and of sockets that were open already. */
function byCode(code: string | undefined, at: string): Explained | undefined {
  if (code === undefined) return undefined;
  if (
    /^(ECONNRESET|EPIPE|ECONNABORTED|ERR_STREAM_PREMATURE_CLOSE|ERR_CLOSED|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|Z_BUF_ERROR|UND_ERR_CLOSED|UND_ERR_DESTROYED)$/.test(
      code,
    )
  ) {
    return {
      cause: 'cut',
      why: `The connection to ${at} ended before the answer was complete (${code}).`,
    };
  }
  if (/^(ENOTFOUND|EAI_\w+)$/.test(code))
    return { cause: 'dns', why: `The name in ${at} is not known to DNS (${code}).` };
  if (code in CONNECT_WORDS) return { cause: 'connect', why: `${at} ${connectWords(code, '')}.` };
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return { cause: 'connect', why: `${at} did not accept a connection in time.` };
  if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code))
    return { cause: 'timeout', why: `${at} did not answer in time (${code}).` };
  if (
    /^(HPE_\w+|UND_ERR_HEADERS_OVERFLOW|Z_\w+|ERR_\w*BROTLI\w*|ERR__ERROR_FORMAT\w*)$/.test(code)
  ) {
    return {
      cause: 'not-the-contract',
      why: `${at} answered something that is no proper HTTP (${code}): is that port a control plane?`,
    };
  }
  return undefined;
}

/** The error, its cause, the cause's cause …, and what an AggregateError holds. */
function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  const look = (one: unknown): void => {
    // Eight is deeper than any library nests; a chain may be a ring.
    if (one === undefined || one === null || found.length >= 8 || found.includes(one)) return;
    found.push(one);
    if (one instanceof Error) look(one.cause);
    if (one instanceof AggregateError) for (const inner of one.errors) look(inner);
  };
  look(error);
  return found;
}

export function codeOf(error: unknown): string | undefined {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (typeof code === 'string') return code;
  // undici leaves out the code where the first bytes are no HTTP at all.
  return name === 'HTTPParserError' ? 'HPE_INVALID_CONSTANT' : undefined;
}
