import { describe, expect, it } from 'vitest';
import { hostReasonOf } from '../../src/core/host-reason.ts';
import type { JobEnd } from '../../src/ports/carrier.ts';

/** What a worker takes for trouble of its host, and what it leaves to the task (F56). */
const threw = (
  message: string,
  code = 'HANDLER_ERROR',
  details?: Record<string, unknown>,
): JobEnd => ({
  how: 'threw',
  error: { code, message, retryable: true, ...(details === undefined ? {} : { details }) },
});
const causes = (message: string, code?: string) => ({
  causes: [{ message, ...(code === undefined ? {} : { code }) }],
});

describe('is the host’s', () => {
  it.each<[string, JobEnd, string]>([
    [
      'out of memory',
      { how: 'died', signal: 'SIGKILL', outOfMemory: true },
      'its process ran out of memory',
    ],
    [
      'HostError',
      threw('The card is gone.', 'HOST_UNHEALTHY'),
      'HOST_UNHEALTHY: The card is gone.',
    ],
    ['a code of its kind', threw('x', 'HOST_GPU_LOST'), 'HOST_GPU_LOST: x'],
    ['a full disk by its code', threw('write failed', 'ENOSPC'), 'ENOSPC: write failed'],
    ['too many files', threw("open '/a'", 'EMFILE'), "EMFILE: open '/a'"],
    [
      'a cause',
      threw('Could not render.', 'HANDLER_ERROR', causes('ENOMEM: no memory', 'ENOMEM')),
      'ENOMEM: no memory',
    ],
    [
      'a cause by its text',
      threw('Could not render.', 'RENDER', causes('CUDA error: no kernel')),
      'CUDA error: no kernel',
    ],
    [
      'an unknown outcome',
      { how: 'unknown', error: { code: 'ENOSPC', message: 'm', retryable: false } },
      'ENOSPC: m',
    ],
    ...[
      'CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.17 GiB total capacity)',
      'torch.OutOfMemoryError: CUDA out of memory.',
      'HIP out of memory.',
      'MPS backend out of memory (MPS allocated: 1 GB)',
      'RuntimeError: CUDA error: an illegal memory access was encountered',
      'CUDA runtime error (2)',
      'CUDA_ERROR_OUT_OF_MEMORY: out of memory',
      'cudaErrorNoDevice',
      'no CUDA-capable device is detected',
      'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver',
      'write /tmp/x: no space left on device',
      'OSError: [Errno 12] Cannot allocate memory',
      "terminate called after throwing an instance of 'std::bad_alloc'",
      'accept: too many open files',
      'spawn ffmpeg ENOENT',
      'spawnSync /usr/bin/convert EACCES',
      'A step failed:\nspawn ffmpeg ENOENT\nat step 2',
    ].map((text): [string, JobEnd, string] => [text, threw(text), text]),
  ])('%s', (_, end, why) => {
    expect(hostReasonOf(end)).toBe(why);
  });
});

describe('is not the host’s', () => {
  it.each<[string, JobEnd]>([
    ['a result', { how: 'returned', result: 'CUDA out of memory' }],
    ['a plain SIGKILL', { how: 'died', signal: 'SIGKILL' }],
    ['an exit', { how: 'died', exitCode: 7, detail: 'no space left on device' }],
    ['a stop', { how: 'stopped' }],
    ['a kill', { how: 'killed' }],
    [
      'a host that was not started',
      { how: 'not-begun', error: { code: 'HOST_NOT_STARTED', message: '', retryable: true } },
    ],
    ['an ordinary failure', threw('The page has 7 columns.')],
    ['a code of the handler', threw('x', 'GHOST_TOWN')],
    [
      'a file of the task that is missing',
      threw("ENOENT: no such file or directory, open 'input.txt'", 'ENOENT'),
    ],
    [
      'a file that may not be read',
      threw("EACCES: permission denied, open '/etc/shadow'", 'EACCES'),
    ],
    ['the network', threw('connect ECONNREFUSED 10.0.0.1:80', 'ECONNREFUSED')],
    ['words about memory', threw('The customer has run out of memory sticks')],
    ['what values of the task bring about', threw('CUDA error: device-side assert triggered')],
    ['details without causes', threw('x', 'X', { causes: 'CUDA error' })],
    ['causes of any shape', threw('x', 'X', { causes: [null, 1, { message: 2 }, { code: 3 }] })],
  ])('%s', (_, end) => {
    expect(hostReasonOf(end)).toBeUndefined();
  });
});

it('is found in a message of any length in no time', () => {
  const long = `spawn ${'x '.repeat(4_000)}`;
  expect(hostReasonOf(threw(long))).toBeUndefined();
  expect(hostReasonOf(threw('spawn '.repeat(1_300)))).toBeUndefined();
});
