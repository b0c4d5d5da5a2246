/** What crosses between the program and its agent, without a thread. */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { SimulatedClock } from '../../sim/clock.ts';
import { TaskError } from '../../src/contract/errors.ts';
import { sdkDefaults } from '../../src/core/sdk-defaults.ts';
import { diedError, howItDied } from '../../src/sdk/agent-death.ts';
import { AgentKey } from '../../src/sdk/agent-key.ts';
import { AgentLog } from '../../src/sdk/agent-log.ts';
import { tellError, toldError } from '../../src/sdk/agent-words.ts';
import { quietLog } from '../../src/sdk/quiet-log.ts';
import { sdkError, sdkText } from '../../src/sdk/sdk-words.ts';
import { presentKey, usableKey } from '../../src/sdk/worker-key.ts';
import { spoolErrorCodes } from '../../src/spool/errors.ts';

const open: MessagePort[] = [];
afterEach(() => {
  for (const port of open.splice(0)) port.close();
});

function channel(): { near: MessagePort; taken: () => Record<string, unknown>[] } {
  const { port1, port2 } = new MessageChannel();
  open.push(port1);
  const taken = () => {
    const messages: Record<string, unknown>[] = [];
    for (let next = receiveMessageOnPort(port2); next; next = receiveMessageOnPort(port2))
      messages.push(next.message);
    return messages;
  };
  return { near: port1, taken };
}

it('F25 asks the source for its key and gives what it answers', async () => {
  const { near, taken } = channel();
  const key = new AgentKey('il_old', near, new SimulatedClock());
  const both = [key.reload(), key.reload()];
  expect(taken()).toEqual([{ t: 'reload', n: 1 }]);
  expect(key.current()).toBe('il_old');
  key.tell('il_new', 1);
  expect(await Promise.all(both)).toEqual(['il_new', 'il_new']);
  expect(key.current()).toBe('il_new');
  const failed = key.reload();
  expect(taken()).toEqual([{ t: 'reload', n: 2 }]);
  key.tell(undefined, 2);
  expect(await failed).toBeUndefined();
  expect(key.current()).toBe('il_new');
});

it('F25 waits a second for a source whose thread is held, goes on with the old key, and takes the answer when it comes', async () => {
  const { near, taken } = channel();
  const clock = new SimulatedClock();
  const key = new AgentKey('il_old', near, clock);
  for (let tries = 0; tries < 3; tries++) {
    const reload = key.reload();
    await clock.advance(sdkDefaults.keyWaitMs);
    expect(await reload).toBeUndefined();
  }
  // The question waits already: it is not put again and again.
  expect(taken()).toEqual([{ t: 'reload', n: 1 }]);
  expect(key.current()).toBe('il_old');
  key.tell('il_new', 1);
  expect(key.current()).toBe('il_new');
  key.tell('il_newer', undefined);
  expect(key.current()).toBe('il_newer');
});

it('keeps a bound on the lines that wait for the program, and tells how many it dropped', () => {
  const { near, taken } = channel();
  const log = new AgentLog(near);
  const max = sdkDefaults.logLinesWaiting;
  for (let i = 0; i < max + 25; i++) log.info('claim.none', `line ${i}`, { i });
  expect(taken().length).toBe(max);
  log.taken(max);
  log.warn('after', 'after');
  expect(taken()).toEqual([
    expect.objectContaining({ level: 'warn', event: 'log.lost', fields: { lines: 25 } }),
    expect.objectContaining({ level: 'warn', event: 'after' }),
  ]);
});

it('sends the sentence of a line whose fields cannot be copied', () => {
  const { near, taken } = channel();
  new AgentLog(near).error('odd', 'something odd', { call: () => {} });
  expect(taken()).toEqual([{ t: 'log', level: 'error', event: 'odd', text: 'something odd' }]);
});

it('says why a thread died, and what to do', () => {
  const memory = Object.assign(new Error('heap'), { code: 'ERR_WORKER_OUT_OF_MEMORY' });
  expect(howItDied(memory, 1)).toMatch(/ran out of memory.*--max-old-space-size/);
  expect(howItDied(new TypeError('x is not a function'), 1)).toContain('x is not a function');
  expect(howItDied(undefined, 1)).toContain('ended from outside (code 1)');
  expect(diedError('It died.', memory)).toMatchObject({ code: 'AGENT_DIED', retryable: true });
  const missing = Object.assign(new Error('no file'), { code: 'ERR_MODULE_NOT_FOUND' });
  const error = diedError(howItDied(missing, 1), missing);
  expect(error).toMatchObject({ code: 'AGENT_NOT_STARTED', retryable: false });
  expect(error.hint).toContain('external');
});

it('brings an error over with its code, its next step and what the system said', () => {
  const system = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
  const error = new TaskError('SPOOL_UNWRITABLE', 'It cannot be written (EACCES).', {
    hint: 'Mend it.',
    retryable: true,
    details: { folder: 'f', at: new Date(0) },
    cause: system,
  });
  const back = toldError(structuredClone(tellError(error)));
  expect(back).toBeInstanceOf(TaskError);
  expect(back).toMatchObject({
    code: 'SPOOL_UNWRITABLE',
    message: 'It cannot be written (EACCES).',
    hint: 'Mend it.',
    retryable: true,
    details: { folder: 'f', at: '1970-01-01T00:00:00.000Z' },
    cause: { message: 'EACCES: permission denied', code: 'EACCES' },
  });
  const bug = toldError(structuredClone(tellError(new TypeError('x is not a function'))));
  expect(bug).not.toBeInstanceOf(TaskError);
  expect(bug.stack).toContain('agent-parts.test.ts');
});

it('names options in place of flags, and leaves commands as they are', () => {
  for (const { next } of Object.values(spoolErrorCodes)) expect(sdkText(next)).not.toContain('--');
  expect(sdkText('Give each worker a `--worker-id` of its own.')).toBe(
    'Give each worker a `workerId` of its own.',
  );
  expect(sdkText('Give its certificate with --ca-file.')).toBe(
    'Give its certificate with the option `caFile`.',
  );
  const command = '`interlock spool show <task> --full --json --spool <its spool>`';
  expect(sdkText(command)).toBe(command);
});

it('says that a locked spool belongs to a worker of the same program', () => {
  const told = (pid: number) => ({
    code: 'SPOOL_LOCKED',
    message: 'held',
    hint: spoolErrorCodes.SPOOL_LOCKED.next,
    details: { pid, hostName: 'garage' },
  });
  const self = { pid: 7, hostName: 'garage' };
  expect(sdkError(told(7), self).hint).toContain('a worker of this very program');
  expect(sdkError(told(8), self).hint).toMatch(/^Stop that worker.*option `spool`/);
  expect(sdkError(told(7), { ...self, hostName: 'other' }).hint).toMatch(/^Stop that worker/);
});

it('takes from a source only what is a key', async () => {
  const source = (key: unknown) => ({ current: () => key as string, reload: async () => 'il_x' });
  expect(presentKey(source(' il_x\n'))).toBe('il_x');
  for (const none of [undefined, null, '', 7])
    expect(() => presentKey(source(none))).toThrow(
      expect.objectContaining({ code: 'KEY_MISSING', message: expect.stringContaining('no text') }),
    );
  // Also one that rejects, later: nobody would hear it.
  expect(() => presentKey(source(Promise.reject(new Error('no vault'))))).toThrow(
    expect.objectContaining({ code: 'KEY_MISSING', hint: expect.stringContaining('reload()') }),
  );
  expect(() => presentKey(source('two words'))).toThrow(
    expect.objectContaining({ code: 'KEY_MALFORMED' }),
  );
  const odd = [undefined, null, '', 7, 'two words', Promise.reject(new Error('no vault'))];
  expect(odd.map(usableKey)).toEqual(odd.map(() => undefined));
  expect(usableKey('il_y')).toBe('il_y');
  await new Promise((resolve) => setImmediate(resolve));
});

it('loses no more than the line where a log throws or rejects', async () => {
  const unhandled: unknown[] = [];
  const seen = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', seen);
  try {
    const throws = () => {
      throw new Error('at once');
    };
    const rejects = async () => {
      throw new Error('later');
    };
    const log = quietLog({ debug: throws, info: throws, warn: rejects, error: rejects });
    log.info('event', 'text');
    log.error('event', 'text');
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', seen);
  }
});
