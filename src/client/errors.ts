import { type JsonIssue, problemCodes, TaskError } from '../contract/index.ts';
import type { NoAnswerCause } from '../ports/transport.ts';
import type { HttpAnswer } from '../wire/judge.ts';

/** An answer that is no success, as the error that a caller gets. */
export function toTaskError(answer: Exclude<HttpAnswer<unknown>, { kind: 'ok' }>): TaskError {
  if (answer.kind === 'no-answer') return noAnswerError(answer.cause, answer.why);
  const { problem, status, retryAfterMs } = answer;
  const { code, detail, title, hint, type: _type, ...facts } = problem;
  const known = problemCodes[code as keyof typeof problemCodes];
  return new TaskError(
    code,
    detail ?? title ?? known?.title ?? `The call was refused (${status})`,
    {
      retryable: busy(status),
      hint: asDetails(hint ?? (isNoCall(problem) ? NO_CALL : known?.next)),
      details: { ...facts, status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    },
  );
}

/** `UNREACHABLE`, `NOT_THE_CONTRACT` or `ABORTED`, with `details.cause`. The call may have had its effect. */
function noAnswerError(cause: NoAnswerCause, why: string): TaskError {
  const strange = cause === 'not-the-contract' || cause === 'redirect' || cause === 'too-large';
  const code = strange ? 'NOT_THE_CONTRACT' : cause === 'aborted' ? 'ABORTED' : 'UNREACHABLE';
  const retryable = !FOR_GOOD.has(cause);
  return new TaskError(code, why, {
    retryable,
    hint: noAnswerHint(cause, why),
    details: { cause },
  });
}

/** The next step. @param why names the address, and so tells whether the other scheme may be meant. */
export function noAnswerHint(cause: NoAnswerCause, why: string): string {
  if (cause === 'tls' && why.includes('is it http://?'))
    return 'Write the address with http:// if that port speaks no TLS; else check which program answers there.';
  if (cause === 'cut' && why.includes(' http://'))
    return `${HINTS.cut} If it ends so every time, that port may speak TLS: then its address begins with https://.`;
  return HINTS[cause];
}

/** `INVALID_REQUEST` as the control plane would say it, found before anything was sent. */
export function invalidRequest(issues: readonly JsonIssue[]): TaskError {
  const said = issues.map(({ path, message }) => `${path || 'the request'} ${message}`).join('; ');
  return new TaskError('INVALID_REQUEST', `The request is not valid: ${said}.`, {
    hint: asDetails(problemCodes.INVALID_REQUEST.next),
    details: { issues: issues.map(({ path, message }) => ({ path, message })) },
  });
}

/** The words of the contract name fields of the answer; of an error they are in `details`. */
function asDetails<Hint extends string | undefined>(hint: Hint): Hint {
  return hint?.replaceAll('`issues`', '`details.issues`') as Hint;
}

/** Whether the same call may be answered better in a while. */
export function worthAgain(answer: Exclude<HttpAnswer<unknown>, { kind: 'ok' }>): boolean {
  return answer.kind === 'no-answer' ? !FOR_GOOD.has(answer.cause) : busy(answer.status);
}

function busy(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/** What does not mend itself while a caller waits. */
const FOR_GOOD: ReadonlySet<NoAnswerCause> = new Set(['tls', 'redirect', 'too-large', 'aborted']);

/** Not a task or worker is missing but the call itself: no id is wrong, the address or the version is. */
export function isNoCall({
  code,
  kind,
}: {
  readonly code: string;
  readonly kind?: unknown;
}): boolean {
  return code === 'NOT_FOUND' && kind === 'route';
}

const NO_CALL =
  'Check the address; if it is right, that control plane is of a version without this call: update it.';

const HINTS: Record<NoAnswerCause, string> = {
  // What to check is said by the message.
  dns: 'Correct the address (`serviceUrl`, --url) if it is wrong; else call again once the name is found.',
  connect: 'Check that the control plane is running and reachable at that address.',
  tls: 'Check the certificate and the authorities that are trusted here (`caFile`, --ca-file).',
  proxy: 'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.',
  timeout:
    'It may be overloaded or unreachable; the call may still have had its effect. Try again.',
  cut: 'The call may still have had its effect. Try again.',
  'not-the-contract':
    'Check that the address is that of a control plane and not of a proxy or page.',
  redirect: 'Give the address that it redirects to, if that is the right one.',
  'too-large':
    'The call may have had its effect. Ask for less: fewer items, or a smaller page without inputs and results.',
  aborted: 'It was given up by the caller.',
};
