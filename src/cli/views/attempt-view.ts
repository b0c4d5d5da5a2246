import type { TaskEvent, TaskView } from '../../contract/index.ts';
import { troubleWords as wordsOf } from '../../core/attempt-words.ts';
import { timeOf } from './detail-words.ts';
import { age } from './time-words.ts';

export { lastTrouble, tailOfJournal } from '../../core/attempt-words.ts';

/** How the attempt before went, with local times; nothing where the task's own error says the same. */
export function troubleWords(
  task: TaskView,
  event: TaskEvent | undefined,
  wallMs: number,
): string | undefined {
  return wordsOf(task, event, { age: (at) => age(at, wallMs), timeOf });
}
