/** A network of its own for some processes of a test, reached through a cable that can be bent (`bent-link.c`). */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Proc, World } from '../e2e/world.ts';

let made = 0;

export class BentLink implements AsyncDisposable {
  /** The test's end of the cable. */
  readonly here: string;
  /** Runs a program at the other end: `world.worker({ under: link.under, wrapper: false })`. */
  readonly under: readonly string[];
  readonly #name: string;
  readonly #cable: Proc;
  #orders = 0;

  private constructor(name: string, here: string, cable: Proc) {
    this.#name = name;
    this.here = here;
    this.#cable = cable;
    this.under = ['ip', 'netns', 'exec', name];
  }

  /** Needs root, /dev/net/tun, ip and gcc. It must end before its world. */
  static async open(world: World): Promise<BentLink> {
    const program = world.path('bent-link');
    const source = join(import.meta.dirname, 'bent-link.c');
    execFileSync('gcc', ['-O1', '-Wall', '-Wextra', '-o', program, source]);
    // Addresses for tests of networks (RFC 2544); several test files run at once.
    const n = (process.pid * 8 + made++) % 16_384;
    const net = `198.18.${n >> 6}.${(n & 63) * 4}`.split('.');
    const [here, there] = [1, 2].map((end) =>
      [...net.slice(0, 3), Number(net[3]) + end].join('.'),
    ) as [string, string];
    const name = `bent${n}`;
    ip('netns', 'add', name);
    try {
      const ends = [`bl${n}h`, `bl${n}t`] as const;
      const args = [`/run/netns/${name}`, ...ends, `${n}`];
      const cable = world.processes.start(program, args, { typed: true });
      await cable.says(/ready/);
      ip('addr', 'add', `${here}/30`, 'dev', ends[0]);
      ip('link', 'set', ends[0], 'up');
      ip('-n', name, 'addr', 'add', `${there}/30`, 'dev', ends[1]);
      ip('-n', name, 'link', 'set', ends[1], 'up');
      ip('-n', name, 'link', 'set', 'lo', 'up');
      return new BentLink(name, here, cable);
    } catch (error) {
      ip('netns', 'del', name);
      throw error;
    }
  }

  /** Of each direction. */
  lose(percent: number): Promise<void> {
    return this.#order(`loss ${Math.round(percent * 10)}`);
  }

  /** Each way. */
  delay(ms: number): Promise<void> {
    return this.#order(`delay ${ms}`);
  }

  /** Swallows every packet, and nobody is told. */
  swallow(all = true): Promise<void> {
    return this.#order(`hole ${all ? 1 : 0}`);
  }

  /** The other end knows at once that its network is gone (or back). */
  plug(inside: boolean): void {
    const device = this.#name.replace('bent', 'bl');
    ip('-n', this.#name, 'link', 'set', `${device}t`, inside ? 'up' : 'down');
  }

  async #order(line: string): Promise<void> {
    this.#orders++;
    this.#cable.type(`${line}\n`);
    await this.#cable.says(new RegExp(`^ready\\n(done\\n){${this.#orders}}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cable.crash();
    // Processes in it keep it until they have ended; its name goes now.
    ip('netns', 'del', this.#name);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args);
}
