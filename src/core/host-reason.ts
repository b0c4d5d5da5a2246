import type { TaskFailure } from '../contract/index.ts';
import type { JobEnd } from '../ports/carrier.ts';
import { withCode } from './detail-words.ts';

/**
 * Whether a handler failed for a reason of this host (a dead card, a full disk, a missing program) and not of its task:
 * why, in words, or `undefined`. Pure, and careful: what is not surely the host's is the task's. It only ever leads to
 * a pause here, which ends by itself (`type-pauses.ts`); what is reported of the attempt does not change by it.
 */
export function hostReasonOf(end: JobEnd): string | undefined {
  switch (end.how) {
    case 'died':
      // A plain SIGKILL may be the handler's own doing.
      return end.outOfMemory ? 'its process ran out of memory' : undefined;
    case 'threw':
    case 'unknown':
      return hostFault(end.error);
    default:
      return undefined;
  }
}

/** The same of a failure alone: in words, or `undefined`. */
export function hostFault(
  error: Pick<TaskFailure, 'code' | 'message' | 'details'>,
): string | undefined {
  for (const { code, message } of [error, ...causesOf(error)]) {
    if (HOST_CODE.test(code) || (TEXTS.some((text) => text.test(message)) && !TASKS.test(message)))
      return code === 'HANDLER_ERROR' ? message : withCode(code, message);
  }
  return undefined;
}

/** As the handler's side tells them (`handler/failure.ts`). */
function causesOf({ details }: Pick<TaskFailure, 'details'>): { code: string; message: string }[] {
  const { causes } = details ?? {};
  if (!Array.isArray(causes)) return [];
  return causes.map((cause: { code?: unknown; message?: unknown } | null) => ({
    code: typeof cause?.code === 'string' ? cause.code : '',
    message: typeof cause?.message === 'string' ? cause.message : '',
  }));
}

/** `HostError` and its kind, and what the system says when disk, memory or files are at their end. */
const HOST_CODE = /^(?:HOST_[A-Z0-9_]+|ENOSPC|EDQUOT|EROFS|EIO|ENOMEM|EMFILE|ENFILE)$/;

/** What common libraries and programs say. */
const TEXTS: readonly RegExp[] = [
  // Graphics cards: PyTorch, JAX, CUDA's own names, its driver.
  /\b(?:CUDA|HIP|XPU|MPS backend) out of memory\b/i,
  /\bCUDA (?:kernel |runtime )?errors?\b|\bCUDA_ERROR_[A-Z_]+\b|\bcudaError[A-Z]/,
  /\bno CUDA-capable device\b|\bCUDA driver version is insufficient\b|\bno NVIDIA driver\b/i,
  /\bNVIDIA-SMI has failed\b|\bGPU is lost\b|\bfallen off the bus\b/i,
  // Disk, memory, files.
  /\bno space left on device\b|\bdisk quota exceeded\b|\bread-only file system\b/i,
  /\bcannot allocate memory\b|\bstd::bad_alloc\b|\btoo many open files\b/i,
  // A program that is not here, or that may not be run.
  /^spawn(?:Sync)? [^\n]{0,500}\b(?:ENOENT|EACCES|ENOEXEC|EAGAIN|ENOMEM)$/m,
];

/** Looks like it, but the values of a task bring it about. */
const TASKS = /\bdevice-side assert\b/i;
