import {
  environment,
  handlerName,
  type ManifestHandler,
  manifest,
} from '../src/conformance/worker/manifest.ts';

/** Between their markers: what a worker is started with, and the handlers it must offer. */
export function conformancePage(page: string): string {
  const variables = environment.map(([name, says]) => `| \`${name}\` | ${cell(says)} |`);
  const handlers = manifest.map((one) => `| \`${handlerName(one)}\` | ${row(one)} |`);
  const first = ['| variable | what it means |', '|---|---|', ...variables];
  const second = [
    '| handler | `effectSafety`, gate | input, by example | result | what it does |',
    '|---|---|---|---|---|',
    ...handlers,
  ];
  return between(between(page, 'environment', first), 'handlers', second);
}

function row({ effectSafety, effectGate, input, result, does }: ManifestHandler): string {
  const gate = effectGate === 'effect' ? ', `effect`' : '';
  const shown = (value: unknown) =>
    value === undefined ? '' : `\`${cell(JSON.stringify(value))}\``;
  return `${effectSafety}${gate} | ${shown(input)} | ${shown(result)} | ${cell(does)}`;
}

const cell = (text: string) => text.replaceAll('|', '\\|');

function between(page: string, what: string, lines: readonly string[]): string {
  const begin = `<!-- worker: ${what} -->\n`;
  const end = `<!-- end of worker: ${what} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`The page has no "${begin.trim()}" … "${end}".`);
  return [page.slice(0, from + begin.length), lines.join('\n'), '\n', page.slice(to)].join('');
}
