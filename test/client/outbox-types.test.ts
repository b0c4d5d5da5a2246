import { expect, it } from 'vitest';
import {
  type StoredTask,
  TaskOperator,
  TaskProducer,
  type TaskView,
  TaskWorker,
} from '../../src/index.ts';

/** Never called: what it says is checked by the compiler. */
async function uses(dir: string, perhaps: string | undefined): Promise<void> {
  const given = { serviceUrl: 'http://127.0.0.1:7420', key: 'il_…' };
  const plain: TaskProducer = new TaskProducer(given);
  const id: string = (await plain.submit('a', 1, 1)).id;
  for (const one of await plain.submitMany([])) if (one.ok) await plain.get(one.task.id);

  const boxed = new TaskProducer({ ...given, outbox: dir });
  const made = await boxed.submit('a', 1, id);
  // @ts-expect-error It may be stored.
  await boxed.await(made);
  if (made.stored) console.log(made.idempotencyKey, made.why.message);
  else {
    const task: TaskView = made;
    await boxed.await(task);
  }
  for (const one of await boxed.submitMany([])) {
    if (!one.ok) throw one.error;
    if (one.stored) console.log(one.stored.idempotencyKey);
    else await boxed.await(one.task);
  }

  const maybe = new TaskProducer({ ...given, outbox: perhaps });
  // @ts-expect-error Whether there is an outbox is not known here.
  await maybe.await(await maybe.submit('a', 1, 1));

  new TaskProducer({
    ...given,
    outbox: {
      folder: dir,
      // What the callbacks get is known without a word.
      onSubmitted: (submission, task) => console.log(submission.idempotencyKey, task.id),
      onRefused: ({ type }, { code }) => console.log(type, code),
    },
  });
  // @ts-expect-error There is no such option.
  new TaskProducer({ ...given, outbx: dir });
  // @ts-expect-error Nor within an outbox.
  new TaskProducer({ ...given, outbox: { foldr: dir } });
  // @ts-expect-error Nor of the others.
  new TaskOperator({ ...given, outbox: dir });
  // @ts-expect-error Nor of a worker.
  new TaskWorker({ ...given, maxConcurent: 4 });

  // @ts-expect-error A key that may be missing is one mistake, and what follows is none.
  const keyless = new TaskProducer({ serviceUrl: given.serviceUrl, key: perhaps });
  const { id: one } = await keyless.submit('a', 1, 1);
  console.log(one);

  class Boxed extends TaskProducer<StoredTask> {}
  const mine = await new Boxed({ ...given, outbox: dir }).submit('a', 1, 1);
  // @ts-expect-error It may be stored.
  console.log(mine.id);
}

it('a submission is a task by its type, and with an outbox a task or stored', () => {
  expect(uses).toBeTypeOf('function');
  class Mine extends TaskProducer {}
  const mine = new Mine({ serviceUrl: 'http://127.0.0.1:7420', key: 'il_x' });
  expect(mine).toBeInstanceOf(TaskProducer);
});
