import { TaskError } from '../contract/index.ts';

/**
 * `CLIENT_CLOSED`: `close()` was called on the producer or operator that was to ask.
 * @param asked calls were under way, or there had been some: they may have had their effect.
 */
export function clientClosed(asked: boolean): TaskError {
  const message = asked
    ? 'It was closed with close() before there was an answer; the call may have had its effect.'
    : 'It was closed with close() before: nothing was sent.';
  return new TaskError('CLIENT_CLOSED', message, {
    hint: 'Call close() when all calls have ended; for more calls make another one.',
  });
}
