import { appendFileSync, readFileSync } from 'node:fs';

export const effectSafety = 'pure';

/** Its first attempt never gives way and so cannot notice that its worker is gone; the next one looks whether it still runs. */
export default ({ file }, ctx) => {
  if (ctx.attempt > 1) {
    const [first] = readFileSync(file, 'utf8').split('\n');
    const { pid } = JSON.parse(first);
    appendFileSync(
      file,
      `${JSON.stringify({ pid: process.pid, at: Date.now(), before: state(pid) })}\n`,
    );
    return 'done';
  }
  ctx.progress(10, 'spinning');
  appendFileSync(file, `${JSON.stringify({ pid: process.pid, at: Date.now() })}\n`);
  for (;;);
};

/** `gone`, or the kernel's letter; a zombie only waits for a parent that looks. */
function state(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const letter = stat.slice(stat.lastIndexOf(')') + 2)[0];
    return letter === 'Z' || letter === 'X' ? 'gone' : letter;
  } catch {
    return 'gone';
  }
}
