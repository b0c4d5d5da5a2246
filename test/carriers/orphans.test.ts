import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findHosts, killHosts } from '../../src/carriers/orphans.ts';
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
    ).toEqual({
      killed: 0,
      left: [],
    });
    expect(log.events).toEqual([]);
    const { killed, left } = await killHosts([`${marker}-other`, marker], {
      clock: systemClock(),
      log,
    });
    expect(killed).toBeGreaterThanOrEqual(3);
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
