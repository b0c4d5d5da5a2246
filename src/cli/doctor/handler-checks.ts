import { existsSync } from 'node:fs';
import { toldProblems } from '../handler-words.ts';
import { type Discovery, handlerKey } from '../handlers.ts';
import { type Check, fail, ok, skip, warn } from './check.ts';

/** What discovery found, one line each. @param given somebody named the folder: then it has to be there. @param notLoaded of what is found, what no worker has. */
export async function checkHandlers(
  folder: string,
  given: boolean,
  discover: (folder: string) => Promise<Discovery>,
  notLoaded: (names: readonly string[]) => readonly Check[],
): Promise<Check[]> {
  if (!given && !existsSync(folder)) return [skip('handlers', `no folder ${folder}`)];
  const { handlers, problems } = await discover(folder);
  const served = handlers
    .map((one) => `${handlerKey(one)}${one.host === 'shared' ? ' (shared host)' : ''}`)
    .join(', ');
  const summary =
    handlers.length > 0
      ? ok(
          'handlers',
          `${handlers.length} of ${folder} ${handlers.length === 1 ? 'loads' : 'load'}: ${served}`,
        )
      : warn('handlers', `none in ${folder}`, 'Put a handler there, such as demo/hello@1.mjs.');
  return [
    summary,
    ...notLoaded(handlers.map(handlerKey)),
    ...toldProblems(problems).map(({ severity, says, hint }) =>
      severity === 'error' ? fail('handlers', says, hint) : warn('handlers', says, hint),
    ),
  ];
}
