/** How the agent's thread is started: which file, and what of the process's own flags and environment holds in it. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { TaskError } from '../contract/errors.ts';
import { sdkDefaults } from '../core/sdk-defaults.ts';
import { compileCacheFolder } from '../system/compile-cache.ts';
import type { AgentData } from './agent-words.ts';

/** Throws `AGENT_NOT_STARTED` with the next step. */
export function startThread(data: AgentData): Worker {
  const inside = bootOfExecutable();
  const file = inside ?? agentFile(import.meta.url);
  const { words, jobs, status } = data.ports;
  const options: WorkerOptions = {
    name: 'interlock-agent',
    eval: inside !== undefined,
    workerData: data,
    transferList: [words, jobs, status],
    // Loaders, hooks and instrumentation of the program are meant for the program: they would slow the agent down and
    // could break it. With both of these given, Node passes on neither its flags nor NODE_OPTIONS.
    env: {
      ...environmentOf(process.env),
      // What is compiled at the build lies in an executable already.
      ...(inside === undefined && compiledCode(process.env)),
    },
    execArgv: flagsOf(process.env.NODE_OPTIONS, process.execArgv),
    // No limit of the whole heap: --max-old-space-size bounds each thread, and a thread that meets its bound ends alone.
    resourceLimits: { maxYoungGenerationSizeMb: sdkDefaults.agentYoungMb },
  };
  try {
    return new Worker(file, options);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_WORKER_INVALID_EXEC_ARGV' && (options.execArgv ?? []).length > 0)
      // This Node takes one of them for the whole process only: then it holds in the thread too.
      return new Worker(file, {
        ...options,
        execArgv: options.execArgv?.filter((flag) => !message.includes(flag)) ?? [],
      });
    throw new TaskError('AGENT_NOT_STARTED', `The agent’s thread cannot be started: ${message}`, {
      hint:
        code === 'ERR_ACCESS_DENIED'
          ? 'Node’s permission model forbids threads here: start the program with --allow-worker.'
          : 'Serve the handlers with `interlock-worker` instead.',
      cause: error,
    });
  }
}

/** In our executable there are no files: the thread starts as the executable does, and finds the agent in it. */
function bootOfExecutable(): string | undefined {
  // A program of the user's may be an executable of the same kind: it holds other things.
  const sea = process.getBuiltinModule?.('node:sea');
  if (!sea?.isSea() || !sea.getAssetKeys?.().includes('sdk-agent.js')) return undefined;
  return sea.getAsset('boot.js', 'utf8');
}

/**
 * Beside this module in the package and in its sources. A bundler that has put the SDK into the program's own file left
 * it behind: then that of the installed package is taken; the agent compares the versions.
 *
 * @param here address of this module. Throws `AGENT_NOT_STARTED`.
 */
export function agentFile(here: string | undefined): URL {
  if (here?.endsWith('.ts')) return new URL('agent-thread.ts', here);
  const beside = here === undefined ? undefined : new URL('./sdk-agent.js', here);
  if (beside && existsSync(beside)) return beside;
  const installed = installedFile();
  if (installed) return installed;
  const file = beside ? fileURLToPath(beside) : 'sdk-agent.js';
  throw new TaskError(
    'AGENT_NOT_STARTED',
    `The file of the agent’s thread is missing: ${file}. A bundler has most likely put the SDK into another file.`,
    {
      hint: 'Keep interlock-node-sdk out of the bundle (`external`) and install it beside the program, or copy sdk-agent.js from the dist/ folder of the package to that place.',
    },
  );
}

function installedFile(): URL | undefined {
  try {
    const from = createRequire(join(process.cwd(), 'program.js'));
    const folder = dirname(from.resolve('interlock-node-sdk/package.json'));
    const file = join(folder, 'dist', 'sdk-agent.js');
    return existsSync(file) ? pathToFileURL(file) : undefined;
  } catch {
    return undefined;
  }
}

/** What Node itself reads in a thread and the agent's connections depend on. Nothing else of it is the agent's business. */
export function environmentOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ['NODE_TLS_REJECT_UNAUTHORIZED', 'NODE_USE_SYSTEM_CA'];
  return Object.fromEntries(
    names.map((name) => [name, env[name]]).filter(([, value]) => value !== undefined),
  );
}

/**
 * Where the thread keeps its compiled code from one start to the next: in the program's own folder for that, else in ours (a
 * Node before 22 has none). The program's own modules are left alone.
 */
export function compiledCode(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (env.NODE_DISABLE_COMPILE_CACHE) return {};
  const folder = env.NODE_COMPILE_CACHE || compileCacheFolder(env);
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

/** Flags that hold in each thread by itself and say how connections are made, from both places where they may stand. */
export function flagsOf(nodeOptions: string | undefined, execArgv: readonly string[]): string[] {
  const said = [...(nodeOptions?.match(/"(?:\\.|[^"])*"|\S+/g) ?? []), ...execArgv];
  const flags: string[] = [];
  for (const [i, text] of said.entries()) {
    const word = text.replace(/^"|"$/g, '');
    if (CONNECTION_FLAG.test(word) || CONNECTION_VALUE.test(word)) flags.push(word);
    else if (CONNECTION_VALUE.test(`${word}=`) && said[i + 1]) flags.push(`${word}=${said[i + 1]}`);
  }
  return flags;
}

const CONNECTION_FLAG =
  /^--(?:use-system-ca|(?:no-)?network-family-autoselection|tls-m(?:in|ax)-v1\.\d)$/;
const CONNECTION_VALUE =
  /^--(?:dns-result-order|network-family-autoselection-attempt-timeout|tls-keylog)=[^=]*$/;
