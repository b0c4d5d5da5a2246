/** FCP when nothing is scripted: a small control plane that keeps the contract towards a worker. */
import { type Answer, type AnswerBody, invalid, type JsonAnswer, ok, problem } from './answers.ts';
import type { Hints } from './hints.ts';
import type { LoggedRequest, Report } from './journal.ts';
import { claimFaults, presentFaults } from './report-shapes.ts';
import { judge } from './reports.ts';
import type { Keys, Sessions } from './sessions.ts';
import type { Tasks } from './tasks.ts';
import type { ViolationKind, Violations } from './violations.ts';

export interface ControlOptions {
  project: string;
  pollAfterMs: number;
  presentAfterMs: number;
  offlineAfterMs: number;
  features: string[];
  inlineBytes: number;
  batch: number;
  claimMax: number;
  batchBytes: number;
  checkpointBytes: number;
  leaseMs: number;
  /** Added to what `serverTime` tells. */
  clockSkewMs: number;
}

export interface ControlParts {
  options: ControlOptions;
  tasks: Tasks;
  sessions: Sessions;
  keys: Keys;
  hints: Hints;
  violations: Violations;
  /** A rule's answer to one report, or what `byDefault` says. */
  decide: (report: Report, byDefault: () => JsonAnswer) => JsonAnswer;
}

/** The answer to a request, applied. */
export function answerTo(request: LoggedRequest, parts: ControlParts): Answer {
  const version = request.headers['interlock-contract'] ?? '1';
  if (version !== '1') {
    return problem(426, 'CONTRACT_UNSUPPORTED', `version ${version}`, { supported: [1] });
  }
  if (request.route === 'discovery') return discovery(parts);
  const refused = parts.keys.refusal(request);
  if (refused) return refused;
  const answer = routed(request, parts);
  // A report's is noted where it is judged: a script's words are no complaint.
  const kind = request.reports.length > 0 ? undefined : complaint(answer);
  if (kind) {
    const { detail } = answer.body as AnswerBody;
    parts.violations.add(kind, request, `${request.method} ${request.path}: ${detail}`);
  }
  return answer;
}

function routed(request: LoggedRequest, parts: ControlParts): Answer {
  const { route, body } = request;
  if (route === 'hints') return parts.hints.answer(request);
  if (route === 'doctor') return doctor(parts);
  if (route === 'other' || route === 'openapi') {
    return problem(404, 'NOT_FOUND', "the kit's control plane has no such call", { kind: 'route' });
  }
  if (!body) return invalid([{ path: '', message: 'is no JSON object' }]);
  if (route === 'claim') return claim(request, parts);
  if (route === 'present') return present(request, parts);
  if (route === 'batch') return batch(request, parts);
  const [report] = request.reports;
  return report ? one(report, parts) : invalid([{ path: '', message: 'holds no report' }]);
}

function complaint(answer: Answer): ViolationKind | undefined {
  if (answer.status === 404 && (answer.body as AnswerBody).kind === 'route') return 'unknown-route';
  const code = (answer.body as AnswerBody | undefined)?.code;
  return answer.status === 400 && code === 'INVALID_REQUEST' ? 'invalid-request' : undefined;
}

function discovery({ options }: ControlParts): Answer {
  const { inlineBytes, batch, claimMax, batchBytes, checkpointBytes, features, leaseMs } = options;
  const lease = { min: Math.min(leaseMs, 5000), default: leaseMs, max: 600_000 };
  const limits = {
    inlineBytes,
    batch,
    claimMax,
    batchBytes,
    leaseMs: lease,
    checkpointBytes,
    logLineBytes: 8192,
  };
  return ok({ contracts: [1], serverTime: serverTime(options), limits, features });
}

function present(request: LoggedRequest, { options, sessions }: ControlParts): Answer {
  const { body = {}, workerId = '' } = request;
  const issues = presentFaults(body);
  if (issues.length > 0) return invalid(issues);
  const refused = sessions.see(workerId, body.sessionId ?? '', body.earlierSessions);
  if (refused) return refused;
  const worker = sessions.worker(workerId);
  worker.presence = body;
  if (body.state !== undefined && worker.states.at(-1) !== body.state)
    worker.states.push(body.state);
  if (body.handlers) worker.handlersHash = body.handlersHash;
  const { project, presentAfterMs, offlineAfterMs } = options;
  const needHandlers = worker.handlersHash !== body.handlersHash;
  const times = { serverTime: serverTime(options), project, presentAfterMs, offlineAfterMs };
  return ok({ ...times, needHandlers, drain: worker.drain });
}

function claim({ body = {} }: LoggedRequest, { options, sessions, tasks }: ControlParts): Answer {
  const issues = claimFaults(body);
  if (issues.length > 0) return invalid(issues);
  const refused = sessions.see(body.workerId ?? '', body.sessionId ?? '', body.earlierSessions);
  if (refused) return refused;
  if ((body.max ?? 0) > options.claimMax)
    return invalid([{ path: 'max', message: `is more than ${options.claimMax}` }]);
  const attempts = tasks.grant(body, options.batchBytes);
  const { drain } = sessions.worker(body.workerId ?? '');
  return ok({ attempts, pollAfterMs: options.pollAfterMs, serverTime: serverTime(options), drain });
}

function batch(request: LoggedRequest, parts: ControlParts): Answer {
  const { options } = parts;
  if (!Array.isArray(request.body?.reports))
    return invalid([{ path: 'reports', message: 'is no list' }]);
  if (Buffer.byteLength(request.bodyText) > options.batchBytes) {
    return problem(413, 'PAYLOAD_TOO_LARGE', `a batch holds at most ${options.batchBytes} bytes`);
  }
  if (request.reports.length > options.batch) {
    return invalid([{ path: 'reports', message: `holds more than ${options.batch}` }]);
  }
  const answers = request.reports.map((report) => one(report, parts));
  return ok({ results: answers.map(({ status, body }) => ({ status, body })) });
}

function one(report: Report, parts: ControlParts): JsonAnswer {
  const attempt = parts.tasks.attempt(report.attemptId);
  const rules = { ...parts.options, sessions: parts.sessions };
  const answer = parts.decide(report, () => {
    const own = judge(report, attempt, rules);
    const kind = complaint(own);
    if (kind) parts.violations.add(kind, report.request, `${report.op}: ${own.body.detail}`);
    return own;
  });
  report.answer = { status: answer.status, body: answer.body };
  if (attempt?.outcome === report) parts.tasks.ended(attempt);
  return answer;
}

function doctor({ options, sessions, tasks }: ControlParts): Answer {
  const states = [...sessions.workers.values()].map((worker) => worker.presence?.state);
  const count = (state: string) => states.filter((one) => one === state).length;
  const oldest = tasks.queue[0]?.since;
  return ok({
    serverTime: serverTime(options),
    project: options.project,
    keyKind: 'task-worker',
    queueDepth: tasks.queue.length,
    oldestQueuedMs: oldest === undefined ? 0 : Math.round(performance.now() - oldest),
    workers: {
      ready: count('ready'),
      full: count('full'),
      draining: count('draining'),
      offline: count('offline'),
    },
    outboxDebt: 0,
  });
}

function serverTime({ clockSkewMs }: ControlOptions): string {
  return new Date(Date.now() + clockSkewMs).toISOString();
}
