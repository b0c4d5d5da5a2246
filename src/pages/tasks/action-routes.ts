import { parseJson } from '../../contract/json.ts';
import { bounds } from '../../contract/limits.ts';
import { makeProblem, type Problem } from '../../contract/problems.ts';
import { openAttempt, timeline } from '../../core/attempt-timeline.ts';
import {
  cancelState,
  doneWords,
  possibleActions,
  resolutionChoices,
  type TaskAction,
} from '../../core/task-actions.ts';
import { taskPageDefaults } from '../../core/task-page-defaults.ts';
import type { PageAnswer, PageRequest, PageRoute } from '../page.ts';
import { type ActionModel, actionHtml, TITLES, type Typed } from './action-page.ts';
import { taskAddress } from './addresses.ts';
import { CALLS } from './task-route.ts';

/** Cancel, retry, resolve: a page that says what will happen, and its form. */
export const actionRoutes: readonly PageRoute[] = (['cancel', 'retry', 'resolve'] as const).flatMap(
  (action): PageRoute[] => [
    { method: 'GET', path: `/tasks/{id}/${action}`, answer: (request) => asked(request, action) },
    {
      method: 'POST',
      path: `/tasks/{id}/${action}`,
      large: action === 'resolve',
      answer: (request) => sent(request, action),
    },
  ],
);

async function asked(request: PageRequest, action: TaskAction): Promise<PageAnswer> {
  // Who may not do it is told so before anything is typed.
  if (!request.may(CALLS[action]))
    return {
      problem: makeProblem(
        'SCOPE_DENIED',
        `To ${action} a task needs a key of another kind; this one (${request.who.key.id}) is of kind ${request.who.key.kind}.`,
      ),
    };
  const only = request.query.get('as') ?? '';
  return shown(request, action, { typed: { ...NOTHING, resolution: only }, problems: {} });
}

async function sent(request: PageRequest, action: TaskAction): Promise<PageAnswer> {
  const { form } = request;
  const id = request.params.id ?? '';
  const word = (name: string) => form.get(name) ?? '';
  const typed: Typed = {
    // A browser sends line breaks as two characters, and counts them as one.
    reason: word('reason').replaceAll('\r\n', '\n').trim(),
    attempts: word('attempts').trim(),
    accept: word('accept'),
    resolution: word('resolution'),
    result: word('result').trim(),
  };
  const { body, problems } = bodyOf(action, typed);
  const again = { typed, actionId: word('actionId'), ifSeq: word('ifSeq') };
  if (Object.keys(problems).length > 0)
    return shown(request, action, { ...again, problems, status: 400 });
  // Of a form of ours it always stands there; what is typed in would count as entry 0.
  if (!SEQ.test(again.ifSeq))
    return shown(request, action, {
      typed,
      problems: {
        form: 'The form does not say which state of the task it is about. Send it anew.',
      },
      status: 400,
    });
  if (action === 'cancel') {
    const moved = await movedSince(request, word('spoke'));
    if (moved !== undefined)
      return shown(request, action, { typed, problems: { form: moved }, status: 409 });
  }
  const done = await request.call(CALLS[action], {
    params: { id },
    body: { ...body, actionId: again.actionId, ifSeq: Number(again.ifSeq) },
  });
  if (done.ok) return { seeOther: taskAddress(id), said: doneWords(action, done.value) };
  const { problem } = done;
  // It changed meanwhile, or it cannot be: the page of now says so, and what was typed is not lost.
  if (problem.code === 'CONFLICT' || problem.code === 'TASK_TERMINAL')
    return shown(request, action, {
      typed,
      problems: { form: words(problem) },
      status: problem.status,
    });
  if (problem.code === 'INVALID_REQUEST' || problem.code === 'PAYLOAD_TOO_LARGE')
    return shown(request, action, {
      ...again,
      problems: { form: words(problem) },
      status: problem.status,
    });
  return done;
}

/** Why a cancel would do other things than its page has said; one that has ended is told of by the call itself. */
async function movedSince(request: PageRequest, spoke: string): Promise<string | undefined> {
  const found = await taskNow(request);
  if ('problem' in found) return undefined;
  const now = cancelState(found.task, openAttempt(found.timeline));
  if (now === spoke || !possibleActions(found.task).includes('cancel')) return undefined;
  const was = spoke === '' ? '' : `It was ${spoke.slice(0, 100)} when you were asked. `;
  return `${was}It is ${now} now, so that something else would happen. Nothing was done: read what will happen, then decide.`;
}

/** The task and what the end of its journal tells. */
async function taskNow(request: PageRequest) {
  const params = { id: request.params.id ?? '' };
  const found = await request.call('getTask', { params });
  if (!found.ok) return found;
  const task = found.value;
  const { journalEntries } = taskPageDefaults;
  const journal = await request.call('taskEvents', {
    params,
    query: { after: Math.max(0, task.seq - journalEntries), limit: journalEntries },
  });
  if (!journal.ok) return journal;
  return { task, timeline: timeline(journal.value.events, request.nowMs, (at) => at) };
}

/** The body of the call, but for what the form holds hidden. */
function bodyOf(
  action: TaskAction,
  typed: Typed,
): Pick<ActionModel, 'problems'> & { body: object } {
  const problems: { -readonly [K in keyof ActionModel['problems']]: string } = {};
  const { reason } = typed;
  if (reason.length > bounds.reasonChars)
    problems.reason = `It has ${reason.length} characters; at most ${bounds.reasonChars} are kept.`;
  if (action === 'cancel') return { body: reason === '' ? {} : { reason }, problems };
  if (reason === '') problems.reason = 'Say why: whoever reads the journal wants to know.';
  if (action === 'retry') {
    const attempts = Number(typed.attempts || '1');
    if (!/^\d{0,4}$/.test(typed.attempts) || attempts < 1 || attempts > MOST_ATTEMPTS)
      problems.attempts = `It is a number from 1 to ${MOST_ATTEMPTS}.`;
    const accept = typed.accept === 'yes' ? { acceptRepeatedEffect: true } : {};
    return { body: { reason, attempts, ...accept }, problems };
  }
  const { resolution } = typed;
  if (resolution === '') problems.resolution = 'Say what you found.';
  if (typed.result === '') return { body: { reason, resolution }, problems };
  if (resolution !== 'succeeded') {
    problems.result = 'A result goes with an effect that took place. Empty this field otherwise.';
    return { body: {}, problems };
  }
  const parsed = parseJson(typed.result);
  if (!parsed.ok) {
    const [issue] = parsed.issues;
    problems.result = issue?.path
      ? `It cannot be sent as JSON: ${issue.path} ${issue.message}.`
      : `It ${issue?.message}.`;
    return { body: {}, problems };
  }
  return { body: { reason, resolution, result: parsed.value }, problems };
}

async function shown(
  request: PageRequest,
  action: TaskAction,
  given: Pick<ActionModel, 'typed' | 'problems'> & {
    readonly actionId?: string;
    readonly ifSeq?: string;
    readonly status?: number;
  },
): Promise<PageAnswer> {
  const found = await taskNow(request);
  if ('problem' in found) return found;
  const { task } = found;
  // What was typed was typed for the task as it was then: its entry goes with it.
  const seq = given.ifSeq !== undefined && SEQ.test(given.ifSeq) ? Number(given.ifSeq) : task.seq;
  const [only, ...others] = resolutionChoices(task);
  const chosen = given.typed.resolution || (others.length === 0 ? (only?.value ?? '') : '');
  const model: ActionModel = {
    action,
    task: { ...task, seq },
    timeline: found.timeline,
    nowMs: request.nowMs,
    csrf: request.csrf,
    actionId: given.actionId || request.once(),
    typed: { ...given.typed, resolution: chosen },
    problems: given.problems,
  };
  return {
    page: {
      title: TITLES[action],
      nav: 'tasks',
      main: actionHtml(model),
      ...(given.status !== undefined && { status: given.status }),
    },
  };
}

function words({ title, detail, issues = [] }: Problem): string {
  const faults = issues.map(({ path, message }) => `${path} ${message}`.trim());
  return [detail ?? title, ...faults].join(' ');
}

const NOTHING: Typed = { reason: '', attempts: '', accept: '', resolution: '', result: '' };
const SEQ = /^\d{1,15}$/;
const MOST_ATTEMPTS = 1_000;
