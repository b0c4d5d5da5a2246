import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SimulatedMachine } from '../../sim/machine.ts';
import { findHosts, killHosts, type Reach } from '../../src/carriers/orphans.ts';
import { systemClock } from '../../src/system/clock.ts';
import { memoryLog } from './memory-log.ts';
import { marked } from './process-harness.ts';

const LINUX = process.platform === 'linux';
let agents: ChildProcess[] = [];
let count = 0;

/** An agent in a process of its own that has begun these deeds; its marker. */
async function agentWith(...deeds: string[]): Promise<{ agent: ChildProcess; marker: string }> {
  const marker = `orphans-${process.pid}-${++count}`;
  const script = join(import.meta.dirname, 'agent.ts');
  const agent = spawn(process.execPath, [script, marker, ...deeds], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  agents.push(agent);
  await once(agent.stdout as NodeJS.ReadableStream, 'data');
  return { agent, marker };
}

async function killHard(agent: ChildProcess): Promise<void> {
  agent.kill('SIGKILL');
  await once(agent, 'exit');
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

afterEach(async () => {
  for (const agent of agents) if (agent.exitCode === null) agent.kill('SIGKILL');
  agents = [];
});

describe.skipIf(!LINUX)('handler processes of a killed agent (looked up in /proc)', () => {
  it('end by themselves with all their children when the agent is killed', async () => {
    const { agent, marker } = await agentWith('waits', 'childAnd waits');
    expect(marked(marker).length).toBeGreaterThanOrEqual(3);
    await killHard(agent);
    await until(() => marked(marker).length === 0);
  });

  it('are found and ended where they cannot notice that: spinning, with a stubborn child', async () => {
    const { agent, marker } = await agentWith('childAnd spin', 'spin');
    await killHard(agent);
    const log = memoryLog();
    const found = await findHosts([marker]);
    expect(found.length).toBeGreaterThanOrEqual(3);
    expect(
      await killHosts([`${marker}-other`, marker.slice(0, -1)], { clock: systemClock(), log }),
    ).toMatchObject({ killed: 0, ended: [], left: [] });
    expect(log.events).toEqual([]);
    const { killed, ended, left } = await killHosts([`${marker}-other`, marker], {
      clock: systemClock(),
      log,
    });
    expect(killed).toBeGreaterThanOrEqual(3);
    // By their hosts, also what they had started.
    expect([...ended].sort()).toEqual([`${marker}/1`, `${marker}/2`]);
    expect(left).toEqual([]);
    expect(log.events).toEqual(['host.orphans']);
    expect(marked(marker)).toEqual([]);
    expect(await findHosts([marker])).toEqual([]);
  });
});

it('finds nothing for a marker that nobody has', async () => {
  expect(await findHosts(['nobody'])).toEqual([]);
  expect(await findHosts([])).toEqual([]);
});

describe('one that cannot be killed', () => {
  /** Group 7 with host `m/1` and a child; it hangs until `thaw`. */
  function hanging() {
    let there = true;
    const killed: number[] = [];
    const reach: Reach = {
      find: async () =>
        there
          ? [
              { pid: 9, group: 7, host: 'm/1' },
              { pid: 7, group: 7, host: 'm/1' },
            ]
          : [],
      kill: (group) => killed.push(group),
      runs: () => there,
    };
    return {
      reach,
      killed,
      thaw: () => {
        there = false;
      },
    };
  }

  it('holds the start no longer than its time, is told, and looked for again', async () => {
    const { clock } = new SimulatedMachine();
    const { reach, killed, thaw } = hanging();
    const from = clock.now();
    const found = await clock.time.until(
      killHosts(['m'], { clock, log: memoryLog(), waitMs: 3_000, reach }),
      10_000,
    );
    expect(clock.now() - from).toBeLessThan(3_500);
    expect(found).toMatchObject({ killed: 2, ended: ['m/1'], left: [{ pid: 7, host: 'm/1' }] });
    expect(await found.look()).toEqual([{ pid: 7, host: 'm/1' }]);
    expect(killed.length).toBeGreaterThan(3);
    thaw();
    expect(await found.look()).toEqual([]);
  });

  it('is not taken for gone while nothing can be looked at', async () => {
    const { clock } = new SimulatedMachine();
    let blind = true;
    const reach: Reach = {
      find: async () => {
        if (blind) throw new Error('EMFILE');
        return [];
      },
      kill: () => {},
      runs: () => false,
    };
    let done = false;
    const found = killHosts(['m'], { clock, log: memoryLog(), waitMs: 1_000, reach }).then(
      (hosts) => {
        done = true;
        return hosts;
      },
    );
    await clock.advance(10_000);
    expect(done).toBe(false);
    blind = false;
    expect(await clock.time.until(found, 1_000)).toMatchObject({ killed: 0, left: [] });
  });
});
