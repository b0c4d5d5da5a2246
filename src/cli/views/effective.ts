import type { EffectiveKey, EffectiveRoute, EffectiveSetting } from '../effective.ts';
import { plain, type Style } from '../style.ts';
import { factLines, tableLines } from '../table.ts';

/** What `config print` tells. */
export interface Effective {
  readonly command: string;
  readonly config: string | null;
  readonly profile: string | null;
  readonly settings: readonly EffectiveSetting[];
  /** Of commands that use one. */
  readonly keys?: readonly EffectiveKey[];
  /** Where was looked in vain. */
  readonly noKey?: string;
  readonly route?: EffectiveRoute | null;
  /** Whom it trusts to sign certificates. */
  readonly trust?: readonly string[];
  readonly notes: readonly string[];
}

/** For people. @param columns of the terminal */
export function effectiveLines(
  found: Effective,
  style: Style,
  columns: number | undefined,
): string[] {
  const lines = tableLines(
    found.settings,
    [
      { title: 'SETTING', cell: ({ name }) => name },
      {
        title: 'VALUE',
        cell: ({ shown }) => shown,
        paint: (row, text) => valuePaint(row, style)(text),
      },
      { title: 'FROM', cell: ({ from }) => from },
    ],
    style,
    columns,
  );
  const wrong = found.settings.flatMap(({ problem, next }) =>
    problem === undefined
      ? []
      : [`${style.bad('wrong')}  ${plain(problem)}`, ...(next ? [`       ${plain(next)}`] : [])],
  );
  return [
    ...lines,
    ...(wrong.length > 0 ? ['', ...wrong] : []),
    '',
    ...factLines(facts(found), style),
    ...found.notes.map((note) => `${style.warn('note')}   ${note}`),
  ];
}

function valuePaint({ problem, value }: EffectiveSetting, style: Style): (text: string) => string {
  if (problem !== undefined) return style.bad;
  return value === null ? style.faint : (text) => text;
}

function facts({ command, config, profile, keys, noKey, route, trust }: Effective) {
  return [
    ['command', command],
    ['config file', config === null ? 'none is named (--config, INTERLOCK_CONFIG)' : plain(config)],
    ['profile', profile === null ? 'none' : plain(profile)],
    ...(keys ?? []).map((key) => [key.used ? 'key' : 'key there', keyWords(key)] as const),
    ['key', noKey === undefined ? undefined : `none: ${plain(noKey)}`],
    ['route', route ? plain(route.problem ?? route.says) : undefined],
    ['trusts', trust && plain(trust.join(', '))],
  ] as const satisfies readonly (readonly [string, string | undefined])[];
}

function keyWords({ kind, from, trouble }: EffectiveKey): string {
  const what = kind === undefined ? from : `${kind}, from ${from}`;
  return plain(trouble === undefined ? what : `${what}: ${trouble}`);
}

/** A config file that gives the same; what it cannot hold stands in comments. */
export async function effectiveToml(found: Effective): Promise<string> {
  const { stringify } = await import('smol-toml');
  const comment = (text: string) => `# ${plain(text)}`;
  const lines = found.settings.map(({ name, value, shown, from, problem }) => {
    if (problem !== undefined) return comment(`${name}: ${problem}`);
    // A worker that is told a project asks whether its key is of that one.
    const untold = name === 'project' && !/^(--|INTERLOCK_|")/.test(from);
    if (value === null || untold) return comment(`${name}: ${shown}`);
    return `${stringify({ [name]: value }).trim()}  ${comment(from)}`;
  });
  const key = found.keys?.find(({ used }) => used);
  return [
    comment(`Settings of interlock ${found.command}, as config print found them.`),
    ...(found.keys ? [comment(`Its key comes from ${key?.from ?? 'nowhere yet'}.`)] : []),
    ...(found.route ? [comment(`Proxies are not kept here: ${found.route.says}.`)] : []),
    ...lines,
    '',
  ].join('\n');
}
