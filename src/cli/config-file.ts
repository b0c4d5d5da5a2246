import { readFileSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { hideSecrets } from '../contract/hidden.ts';
import { parseJson, TaskError } from '../contract/index.ts';
import { type ConfigProblem, problemsOf } from './config-shape.ts';
import { shellWord } from './own-name.ts';

export interface ConfigFile {
  readonly file: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Names and forms only: what a value means is looked at where it is read. */
  readonly problems: readonly ConfigProblem[];
  /** Line of a name in the text, where it can be told. */
  lineOf(name: string): number | undefined;
}

/**
 * Reads a config file, `.toml` or `.json`, whose names are the flags without `--`. Rejects with `CONFIG_INVALID` where
 * it cannot be read or parsed; everything else that is wrong with it is in `problems`.
 * @param file whole path
 */
export async function readConfigFile(file: string): Promise<ConfigFile> {
  const form = extname(file).toLowerCase();
  if (form !== '.toml' && form !== '.json') {
    throw refused(
      file,
      [],
      `${form === '' ? 'has no ending' : `ends with "${form}"`}, and the ending says how it is read`,
      'Name it .toml or .json.',
    );
  }
  const text = readText(file);
  const values = form === '.toml' ? await parseToml(file, text) : parseObject(file, text);
  const lines = form === '.toml' ? linesOf(text) : undefined;
  const lineOf = (name: string) => lines?.get(name);
  const problems: ConfigProblem[] = [];
  for (const [name, value] of Object.entries(values)) {
    for (const problem of problemsOf(name, value))
      problems.push({ ...problem, line: lineOf(name) });
    if (problems.length < PROBLEMS_MAX) continue;
    problems.push({
      path: '',
      says: 'has so many problems that the others are not told',
      hint: 'Is it the right file? Correct these first.',
    });
    break;
  }
  return { file, values, problems, lineOf };
}

/** The error of a file that has problems, in one sentence and what to do. */
export function configError({ file, problems }: Pick<ConfigFile, 'file' | 'problems'>): TaskError {
  const [first, ...others] = problems;
  const more =
    others.length === 0
      ? ''
      : ` There ${others.length === 1 ? 'is' : 'are'} ${others.length} more.`;
  return new TaskError(
    'CONFIG_INVALID',
    `The config file ${at(file, first)}${first ? sentence(first) : ''}${more}`,
    {
      hint:
        others.length === 0
          ? (first?.hint ?? 'Correct it.')
          : `See all of them: interlock config check ${shellWord(file)}`,
      details: { file, problems },
    },
  );
}

/** `"max-concurent" is no setting. Did you mean "max-concurrent"?` */
export function sentence({ path, says, meant }: ConfigProblem): string {
  const what = path === '' ? says : `"${path}" ${says}`;
  return `${what}.${meant === undefined ? '' : ` Did you mean "${meant}"?`}`;
}

function at(file: string, problem: ConfigProblem | undefined): string {
  if (problem?.line === undefined) return problem?.path === '' ? `${file} ` : `${file}: `;
  const column = problem.column === undefined ? '' : `, column ${problem.column}`;
  return `${file}, line ${problem.line}${column}: `;
}

function refused(
  file: string,
  where: readonly [line?: number, column?: number],
  says: string,
  hint: string,
): TaskError {
  const [line, column] = where;
  return configError({
    file,
    problems: [{ path: '', line, column, says: hideSecrets(says), hint }],
  });
}

function readText(file: string): string {
  try {
    const seen = statSync(file);
    if (!seen.isFile()) throw refused(file, [], 'is no file', 'Name a .toml or .json file.');
    if (seen.size > CONFIG_BYTES)
      throw refused(
        file,
        [],
        `is larger than ${CONFIG_BYTES} bytes: that is no config file`,
        'Name the right file with --config or INTERLOCK_CONFIG.',
      );
    const bytes = readFileSync(file);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TaskError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw refused(
        file,
        [],
        'does not exist',
        'Give another one with --config or INTERLOCK_CONFIG, or leave both away.',
      );
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw refused(file, [], 'is no UTF-8 text', 'Save it as UTF-8.');
    throw refused(
      file,
      [],
      `cannot be read (${code ?? String(error)})`,
      'Check who owns it and its permissions.',
    );
  }
}

function parseObject(file: string, text: string): Record<string, unknown> {
  const parsed = parseJson(text);
  if (!parsed.ok) {
    const [issue] = parsed.issues;
    const path = issue?.path ? `"${issue.path}" ` : '';
    const says = `${path}${issue?.message ?? 'is not valid JSON'}`;
    throw refused(file, [], says, 'Correct it.');
  }
  const { value } = parsed;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw refused(file, [], 'holds no JSON object', 'Write { "url": "https://…" }.');
}

/** The parser is loaded here only: most workers have no such file. */
async function parseToml(file: string, text: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return parse(text) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Its message ends with the lines of the file, where a secret may stand.
    const [why = ''] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    throw refused(
      file,
      [error.line, error.column],
      `this is no TOML (${why.trim()})`,
      'Texts stand in quotes: url = "https://tasks.example.com".',
    );
  }
}

/** Lines of names, only where a name begins exactly one: a text of several lines may hold it too. */
function linesOf(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number | undefined>();
  for (const [i, line] of text.split('\n').entries()) {
    // One look at each letter: a line may be as long as the file.
    const [, double, single, bare] = NAME.exec(line) ?? [];
    const name = double === undefined ? (single ?? bare) : unescaped(double);
    if (name !== undefined) found.set(name, found.has(name) ? undefined : i + 1);
  }
  return new Map([...found].flatMap(([name, at]) => (at === undefined ? [] : [[name, at]])));
}

/** As TOML and JSON both escape. */
function unescaped(name: string): string {
  const parsed = name.includes('\\') ? parseJson(`"${name}"`) : undefined;
  return parsed?.ok ? String(parsed.value) : name;
}

/** `name =`, `"a name" =`, `name.inner =`, `[name]`, `[[name.inner]]`. */
const NAME = /^[ \t[]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))[ \t]*[.=\]]/;
/** Nobody reads more of them at once. */
const PROBLEMS_MAX = 100;
/** All settings with long lists of pools take some kilobytes. */
const CONFIG_BYTES = 262_144;
