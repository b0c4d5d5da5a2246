/**
 * A program with a producer, as a user would write it: stores `count` submissions, tells each, and does not close it.
 * `stay`: it lives until it is killed.
 */
import { TaskProducer } from '../../src/index.ts';

const [serviceUrl = '', key = '', folder = '', name = '', count = '1', stay] =
  process.argv.slice(2);
const producer = new TaskProducer({
  serviceUrl,
  key,
  outbox: { folder, log: { debug() {}, info() {}, warn() {}, error() {} } },
});
for (let i = 0; i < Number(count); i++) {
  const input = `${name}-${i}`;
  const made = await producer.submit('demo/hello', 1, input);
  process.stdout.write(`${JSON.stringify({ input, stored: made.stored })}\n`);
}
if (stay) setInterval(() => {}, 60_000);
