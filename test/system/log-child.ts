/** Logs to its stderr as the first argument says; tells on stdout that its event loop goes on. */
import { systemLog } from '../../src/system/log.ts';

const [how = 'few', format = 'json'] = process.argv.slice(2);
const log = systemLog({ level: 'info', format: format as 'json' | 'text' });
const startMs = performance.now();

if (how === 'exit') {
  log.error('last.words', 'The end is near.', { code: 1 });
  process.exit(3);
}
if (how === 'few') {
  log.debug('too.low', 'Nobody asked for this.');
  log.info('spool.opened', 'The spool is open.', { pending: 2, leaseToken: 'tok', level: 9 });
  log.warn('key.refused', 'The key il_AbCdEf123456 was refused.', { error: new Error('no') });
  log.info('two.lines', 'first\nsecond \u001b[31mred', { text: 'a b' });
}
if (how === 'flood') {
  // As a program does: some lines, then a turn of the event loop.
  for (let i = 0; i < 20_000; i++) {
    log.info('flood', `Line ${i}.`, { filler: 'x'.repeat(400) });
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}
process.stdout.write(`${JSON.stringify({ tookMs: performance.now() - startMs })}\n`);
// Until the parent has seen that, and perhaps begun to read.
process.stdin.resume();
process.stdin.on('end', async () => {
  log.info('after', 'It went on.');
  // Bounded each time; a reader on a busy machine may need more than once.
  for (let i = 0; i < 40; i++) await log.flush();
  process.exit(0);
});
