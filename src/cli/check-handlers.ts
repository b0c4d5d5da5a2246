import { resolve } from 'node:path';
import type { ExitName } from './exit-codes.ts';
import { toldProblems } from './handler-words.ts';
import { discover, handlerKey } from './handlers.ts';
import { asTyped } from './own-name.ts';
import { plain } from './style.ts';
import type { WorkerCall } from './worker-agent.ts';
import { nothingToServe } from './worker-words.ts';

/** `--check`: loads the handlers as a start would, tells what is wrong, and serves nothing. */
export async function checkHandlersOnly(call: WorkerCall): Promise<ExitName> {
  const { io, settings, json, style } = call;
  const folder = resolve(io.cwd, settings.handlers);
  const { handlers, problems } = await discover(folder, io, { portable: true });
  if (json) await io.out.line(JSON.stringify({ folder, handlers, problems }));
  else {
    for (const handler of handlers) {
      const safety = handler.safetyDeclared
        ? handler.effectSafety
        : 'non-idempotent (not declared)';
      const host = handler.host === 'shared' ? ', shared host' : '';
      await io.out.line(
        `${style.good('ok')}    ${handlerKey(handler)}  ${style.faint(safety + host)}`,
      );
    }
    for (const { severity, says, hint } of toldProblems(problems)) {
      const word = severity === 'error' ? style.bad('fail') : style.warn('warn');
      await io.out.line(`${word}  ${plain(says)}`);
      await io.out.line(`      ${style.faint('fix:')} ${plain(asTyped(hint, io))}`);
    }
  }
  const broken = problems.filter(({ severity }) => severity === 'error').length;
  if (broken > 0) return 'checks-failed';
  if (handlers.length === 0) throw nothingToServe(folder, { handlers, problems });
  return 'ok';
}
