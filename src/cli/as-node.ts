/**
 * The executable as plain Node.js: what a handler gets that starts `process.execPath` with a script of its own, by
 * `fork('./child.js')` for example. A single executable reads no options of Node by itself, so they are read here.
 */
import { spawn } from 'node:child_process';
import { existsSync, fstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { importAll, importsIn, wordsOf } from '../handler/preload.ts';
import { RUN_AS_NODE_VARIABLE } from '../handler/protocol.ts';
import { type NodeWords, readNodeWords } from './as-node-words.ts';
import { checkSyntax, evaluate, type Source } from './evaluate.ts';
import { isOurs } from './our-words.ts';

/** Node.js's own code for options that it does not know. */
const BAD_OPTION = 9;
/** Node's options that hold for one process only: how they came, and NODE_OPTIONS as it was before them. */
const HANDED_ON = 'INTERLOCK_NODE_OPTIONS';

/**
 * Goes on as Node.js. `false`, with the environment cleaned, where our own program was meant.
 *
 * @param typed argv[0] as it was given. @param argv what follows.
 */
export function runAsNode(typed: string, argv: readonly string[]): boolean {
  const forked = process.channel !== undefined;
  if (!forked && isOurs(typed, argv, { execPath: process.execPath, isScript })) {
    delete process.env[RUN_AS_NODE_VARIABLE];
    return false;
  }
  process.execArgv = handedOn();
  const words = readNodeWords(argv, {
    allowed: process.allowedNodeEnvironmentFlags,
    terminal: isatty(0),
  });
  if (words.refused !== undefined) refuse(words.refused);
  else if (words.options.length > 0) withOptions(typed, words);
  else void run(words);
  return true;
}

/** What Node would find as its main script. */
function isScript(word: string): boolean {
  const path = resolve(word);
  if (existsSync(path) && statSync(path).isFile()) return true;
  try {
    createRequire(join(process.cwd(), 'main.js')).resolve(path);
    return true;
  } catch {
    return false;
  }
}

async function run({ does, rest, print, inputType, envFiles }: NodeWords): Promise<void> {
  for (const file of envFiles) process.loadEnvFile(file);
  const [execPath = process.execPath] = process.argv;
  if (does === 'version') return void process.stdout.write(`${process.version}\n`);
  if (does === 'script') {
    const [script = '', ...args] = rest;
    const file = resolve(script);
    process.argv = [execPath, file, ...args];
    Module.runMain();
    return;
  }
  if (does === 'check') return check(rest[0] ?? '');
  if (does === 'repl') {
    process.argv = [execPath, ...rest];
    (await import('node:repl')).start({ useGlobal: true, breakEvalOnSigint: true });
    return;
  }
  const source: Source =
    typeof does === 'object' ? does : { code: readFileSync(0, 'utf8'), name: '[stdin]', print };
  process.argv = [execPath, ...rest];
  // For scripts it is Node's own doing.
  await importAll(importsIn([...wordsOf(process.env.NODE_OPTIONS), ...process.execArgv]));
  await evaluate({ ...source, ...(inputType && { type: inputType }) });
}

/** `--check`: compiles and does not run. Modules by their name only, as a script's kind is Node's to find out. */
function check(script: string): void {
  const file = realpathSync(resolve(script));
  checkSyntax(readFileSync(file, 'utf8'), file);
}

/** Options that Node takes at its start only: it starts once more, with them in NODE_OPTIONS. */
function withOptions(typed: string, { options, kept }: NodeWords): void {
  const { env, execPath } = process;
  const before = env.NODE_OPTIONS;
  env[HANDED_ON] = JSON.stringify({ options, ...(before !== undefined && { before }) });
  env.NODE_OPTIONS = [...(before ? [before] : []), ...options.map(quoted)].join(' ');
  const self = existsSync('/proc/self/exe') ? '/proc/self/exe' : execPath;
  if (process.channel === undefined && process.platform !== 'win32' && process.execve)
    process.execve(self, [typed, ...kept], env as Record<string, string>);
  relay(self, typed, kept);
}

/** A channel outlives no `execve`: it goes to a child, which takes our place as far as a process can. */
function relay(self: string, typed: string, args: readonly string[]): void {
  const channel = (process.channel as unknown as { fd?: number } | undefined)?.fd;
  const env = { ...process.env };
  const stdio: (number | 'ignore' | 'inherit')[] = ['inherit', 'inherit', 'inherit'];
  if (channel !== undefined && channel > 2) {
    for (let fd = 3; fd < channel; fd++) stdio.push(isOpen(fd) ? fd : 'ignore');
    stdio.push(channel);
    env.NODE_CHANNEL_FD = String(channel);
    const mode = startedWith('NODE_CHANNEL_SERIALIZATION_MODE');
    if (mode !== undefined) env.NODE_CHANNEL_SERIALIZATION_MODE = mode;
  }
  const child = spawn(self, args, { argv0: typed, env, stdio, windowsHide: true });
  // Before the loop turns: not one message is read here.
  if (process.connected) process.disconnect();
  for (const signal of PASSED_ON) process.on(signal, () => child.kill(signal));
  child.once('error', ({ message }) => refuse(message));
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;

/** Node forgets what it was told about its channel. */
function startedWith(name: string): string | undefined {
  try {
    const all = readFileSync('/proc/self/environ', 'utf8').split('\0');
    return all.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
  } catch {
    return undefined;
  }
}

function isOpen(fd: number): boolean {
  try {
    fstatSync(fd);
    return true;
  } catch {
    return false;
  }
}

/** Options as they were typed, for `process.execArgv`; what this process starts sees nothing of the way they took. */
function handedOn(): string[] {
  const text = process.env[HANDED_ON];
  delete process.env[HANDED_ON];
  if (text === undefined) return [];
  const { options, before } = JSON.parse(text) as { options: string[]; before?: string };
  if (before === undefined) delete process.env.NODE_OPTIONS;
  else process.env.NODE_OPTIONS = before;
  return options;
}

/** As NODE_OPTIONS wants words with blanks and quotes. */
function quoted(word: string): string {
  return /[\s"\\]/.test(word) ? `"${word.replace(/["\\]/g, '\\$&')}"` : word;
}

function refuse(why: string): void {
  const name = basename(process.execPath);
  process.stderr.write(`${name}: ${why}
${name} runs as Node.js here, as for whatever a handler starts (${RUN_AS_NODE_VARIABLE}=1). To start the worker or a command, write "interlock-worker" or "interlock" before its words, or unset that variable.\n`);
  process.exitCode = BAD_OPTION;
}
