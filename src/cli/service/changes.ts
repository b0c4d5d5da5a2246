/** What changes from one text to the other, as lines with `-` and `+`; lines that stay are left out. */
export function changedLines(before: string, after: string): string[] {
  const olds = before.split('\n');
  const news = after.split('\n');
  const gone = without(olds, news).map((line) => `- ${line}`);
  return [...gone, ...without(news, olds).map((line) => `+ ${line}`)];
}

function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    // Comments repeat for our own commands what stands in the lines below them.
    return at < 0 && line.trim() !== '' && !/^\s*(#|<!--)/.test(line);
  });
}
