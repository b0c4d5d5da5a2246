import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SimulatedClock } from '../../../sim/clock.ts';
import { serviceNotify } from '../../../src/cli/service/notify.ts';
import { watchService } from '../../../src/cli/service/tell-service.ts';
import type { Contact } from '../../../src/core/readiness.ts';
import { systemClock } from '../../../src/system/clock.ts';
import type { WorkerStatus } from '../../../src/worker/status.ts';
import { temporaryFolder } from '../world.ts';
import { fakePrograms } from './given.ts';

/** What a worker says to systemd, through a program of that name which writes down what it was told. */
const SOCKET = '/run/systemd/notify';
const SAYS = 'systemd-notify';

function listening(does = 'exit 0') {
  const programs = fakePrograms(join(temporaryFolder(), 'bin'), { [SAYS]: does });
  const warnings: string[] = [];
  const log = {
    ...{ debug() {}, info() {}, error: (event: string) => warnings.push(event) },
    warn: (event: string, text = '') => warnings.push(`${event}: ${text}`),
  };
  const env = { NOTIFY_SOCKET: SOCKET, PATH: programs.path };
  const told = () => programs.calls().map((line) => line.slice(SAYS.length + 1));
  return { ...programs, env, log, warnings, told, pid: 42, clock: systemClock() };
}

it('says things in their order, and only the last of what nobody has heard yet', async () => {
  const gate = join(temporaryFolder(), 'open');
  const from = listening(`while [ ! -e '${gate}' ]; do sleep 0.01; done`);
  const notify = serviceNotify(from);
  notify?.say('STATUS=one');
  notify?.say('STATUS=two');
  notify?.say('WATCHDOG=1');
  notify?.say('STATUS=three');
  notify?.say('READY=1', 'STATUS=four');
  notify?.say('STATUS=five');
  writeFileSync(gate, '');
  await notify?.told();
  expect(from.told()).toEqual([
    'STATUS=one',
    'WATCHDOG=1 STATUS=three',
    'READY=1 STATUS=four',
    'STATUS=five',
  ]);
  expect(from.warnings).toEqual([]);
});

it('does nothing where nobody listens, and is nobody else’s watchdog', () => {
  const from = listening();
  expect(serviceNotify({ ...from, env: { PATH: from.path } })).toBeUndefined();
  const usec = (watchdog: Record<string, string>) =>
    serviceNotify({ ...from, env: { ...from.env, ...watchdog } })?.watchdogMs;
  expect(usec({})).toBeUndefined();
  expect(usec({ WATCHDOG_USEC: '60000000' })).toBe(60_000);
  expect(usec({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '42' })).toBe(60_000);
  expect(usec({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '43' })).toBeUndefined();
  expect(usec({ WATCHDOG_USEC: '0' })).toBeUndefined();
  expect(usec({ WATCHDOG_USEC: 'soon' })).toBeUndefined();
});

it('warns once where the program is not there or fails, and goes on', async () => {
  const failing = listening('echo no >&2; exit 1');
  const notify = serviceNotify(failing);
  notify?.say('READY=1');
  notify?.say('STOPPING=1');
  await notify?.told();
  expect(failing.told()).toEqual(['READY=1', 'STOPPING=1']);
  expect(failing.warnings).toEqual([expect.stringMatching(/service.not-told: .*ended with 1: no/)]);

  const empty = temporaryFolder();
  const absent = { ...listening(), env: { NOTIFY_SOCKET: SOCKET, PATH: empty } };
  const deaf = serviceNotify(absent);
  deaf?.say('READY=1');
  await deaf?.told();
  deaf?.say('STATUS=later');
  await deaf?.told();
  expect(absent.warnings).toEqual([expect.stringMatching(/systemd-notify is not there/)]);
});

it('gives the program nothing of the environment but its address', async () => {
  const from = listening('env >"$(dirname "$0")/env"');
  const notify = serviceNotify({
    ...from,
    env: { ...from.env, INTERLOCK_WORKER_KEY: 'il_secret' },
  });
  notify?.say('READY=1');
  await notify?.told();
  const seen = readFileSync(join(from.path.split(':')[0] ?? '', 'env'), 'utf8');
  expect(seen).toContain(`NOTIFY_SOCKET=${SOCKET}`);
  expect(seen).not.toContain('il_secret');
});

function watched(watchdogMs?: number) {
  const clock = new SimulatedClock();
  const said: string[] = [];
  const errors: string[] = [];
  const contact: { -readonly [K in keyof Contact]: Contact[K] } = {
    now: clock.now(),
    startedAt: clock.now(),
    held: 0,
    draining: false,
  };
  const status = {
    state: 'ready',
    slots: { max: 2, busy: 0, waiting: 0 },
    unanswered: 0,
    ...{ attempts: [], stuck: [], pausedTypes: [] },
    drain: { atMostMs: 600_000 },
  } as unknown as { -readonly [K in keyof WorkerStatus]: WorkerStatus[K] };
  const over = new AbortController();
  const done = watchService(
    {
      status: () => status,
      contact: () => ({ ...contact, now: clock.now() }),
    },
    { watchdogMs, say: (...words) => void said.push(words.join(' ')) },
    { clock, log: { error: (event) => void errors.push(event) } },
    over.signal,
  );
  const pass = async (ms: number) => {
    said.length = 0;
    await clock.time.advance(ms);
    return said;
  };
  const heard = () => {
    Object.assign(contact, { lastClaimOkAt: clock.now(), lastCallEndedAt: clock.now() });
  };
  return {
    clock,
    contact,
    status,
    errors,
    pass,
    heard,
    end: async () => {
      over.abort();
      await done;
    },
  };
}

it('tells the status when it changes, at most six times a minute', async () => {
  const { pass, heard, status, end } = watched();
  expect(await pass(1_000)).toEqual([
    expect.stringMatching(/^STATUS=Not ready: No claim or renewal/),
  ]);
  heard();
  expect(await pass(11_000)).toEqual(['STATUS=Ready: 0 of 2 slots busy.']);
  const all: string[] = [];
  for (let at = 0; at < 60; at++) {
    heard();
    status.slots = { max: 2, busy: at % 3, waiting: 0 };
    all.push(...(await pass(1_000)));
  }
  expect(all.length).toBeLessThanOrEqual(6);
  expect(all.length).toBeGreaterThan(2);
  await end();
});

it('feeds the watchdog at a third of its time while it hears from the control plane', async () => {
  const { pass, heard, errors, end } = watched(60_000);
  let fed = 0;
  for (let at = 0; at < 120; at++) {
    heard();
    fed += (await pass(1_000)).filter((line) => line === 'WATCHDOG=1').length;
  }
  expect(fed).toBe(6);
  expect(errors).toEqual([]);
  await end();
});

it('does not feed it, and says so once, where loops stand still', async () => {
  const { pass, heard, errors, contact, end } = watched(60_000);
  heard();
  contact.held = 1;
  // No call ends any more, although calls are due.
  expect(await pass(600_000)).toContain('WATCHDOG=1');
  expect(errors).toEqual(['watchdog.not-fed']);
  expect((await pass(120_000)).filter((line) => line === 'WATCHDOG=1')).toEqual([]);
  expect(errors).toEqual(['watchdog.not-fed']);
  heard();
  expect(await pass(21_000)).toContain('WATCHDOG=1');
  await end();
});

it('asks for as much time as its drain may take when that begins, once', async () => {
  const { pass, heard, status, end } = watched();
  heard();
  await pass(15_000);
  status.state = 'draining';
  status.drain = { atMostMs: 900_000 };
  const [first] = await pass(30_000);
  expect(first).toBe(
    'STOPPING=1 EXTEND_TIMEOUT_USEC=930000000 STATUS=Drains: 0 attempts still held.',
  );
  expect((await pass(30_000)).filter((line) => line.includes('STOPPING'))).toEqual([]);
  await end();
});
