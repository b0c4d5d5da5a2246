/**
 * Submits one task and prints its result:
 *
 *   INTERLOCK_PRODUCER_KEY=il_… node samples/tasks-node/producer.mjs Ada
 *
 * The control plane is http://127.0.0.1:7420 unless INTERLOCK_URL says otherwise.
 */
import { TaskError, TaskProducer } from 'interlock-node-sdk';

const name = process.argv[2] ?? 'Ada';
const key = process.env.INTERLOCK_PRODUCER_KEY;
const serviceUrl = process.env.INTERLOCK_URL ?? 'http://127.0.0.1:7420';

try {
  if (!key) {
    throw new TaskError('KEY_MISSING', 'INTERLOCK_PRODUCER_KEY holds no key.', {
      hint: 'Make one with: ./bin/interlock keys new producer --kind task-producer',
    });
  }
  const producer = new TaskProducer({ serviceUrl, key, timeoutMs: 10_000 });
  const task = await producer.submit('demo/hello', 1, { name });
  console.error(`${task.id} was submitted and is ${task.status}.`);
  const ended = await producer.await(task, { timeoutMs: 60_000 });
  if (ended.status !== 'succeeded') {
    const { code, message } = ended.error ?? { code: ended.status, message: 'no reason is known' };
    throw new TaskError(code, `${ended.id} is ${ended.status}: ${message}`);
  }
  console.log(JSON.stringify(ended.result));
} catch (error) {
  if (!(error instanceof TaskError)) throw error;
  console.error(`${error.message}${error.hint ? `\n${error.hint}` : ''}\n(${error.code})`);
  process.exitCode = 1;
}
