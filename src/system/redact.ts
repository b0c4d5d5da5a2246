import { hideSecrets } from '../contract/hidden.ts';

/**
 * A copy of what is to be logged, safe to write: without secrets (by name and by form), cycles and throwing
 * getters, and bounded in depth, width and length.
 */
export function redact(value: unknown): unknown {
  return copy(value, 0, new Set());
}

/** Keys of ours in any text, and passwords in addresses. */
export function redactText(text: string): string {
  // Hidden before it is cut: a password that lost its "@" looks like any other word.
  const safe = hideSecrets(text.slice(0, 2 * TEXT_CHARS));
  return text.length > TEXT_CHARS
    ? `${safe.slice(0, TEXT_CHARS)} … (${text.length} characters)`
    : safe;
}

/** Names whose value is never written, however they are spelled (`lease_token`, `LeaseToken`). */
const SECRET_NAME =
  /^(key|secret|token|password|authorization|proxyauthorization|cookie|setcookie)$|(leasetoken|apikey|accesskey|workerkey|producerkey|operatorkey|adminkey|metricskey|privatekey|secret|password)$/;

function copy(value: unknown, depth: number, above: Set<object>): unknown {
  switch (typeof value) {
    case 'string':
      return redactText(value);
    case 'bigint':
      return String(value);
    case 'function':
    case 'symbol':
      return undefined;
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (above.has(value)) return '(itself)';
  if (depth >= DEPTH) return '(…)';
  above.add(value);
  try {
    return copyObject(value, depth, above);
  } catch {
    return '(unreadable)';
  } finally {
    above.delete(value);
  }
}

function copyObject(value: object, depth: number, above: Set<object>): unknown {
  if (value instanceof Error) return copyError(value, depth, above);
  if (value instanceof Date) return Number.isNaN(value.valueOf()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (value instanceof Map) return copy(Object.fromEntries(value), depth, above);
  if (Array.isArray(value) || value instanceof Set) {
    const all = [...value];
    const some = all.slice(0, ITEMS).map((item) => copy(item, depth + 1, above));
    return all.length > ITEMS ? [...some, `(${all.length - ITEMS} more)`] : some;
  }
  const plain: Record<string, unknown> = {};
  for (const name of Object.keys(value).slice(0, ITEMS)) {
    const secret = SECRET_NAME.test(name.toLowerCase().replace(/[_-]/g, ''));
    const item = (value as Record<string, unknown>)[name];
    const safe = secret && item !== undefined ? '(secret)' : copy(item, depth + 1, above);
    Object.defineProperty(plain, name, { value: safe, enumerable: true });
  }
  return plain;
}

function copyError(error: Error, depth: number, above: Set<object>): Record<string, unknown> {
  const { code, hint, details } = error as { code?: unknown; hint?: unknown; details?: unknown };
  return {
    name: redactText(String(error.name)),
    message: redactText(String(error.message)),
    ...(code !== undefined && { code: copy(code, depth + 1, above) }),
    ...(hint !== undefined && { hint: copy(hint, depth + 1, above) }),
    ...(details !== undefined && { details: copy(details, depth + 1, above) }),
    ...(error.stack && { stack: redactText(error.stack) }),
    ...(error.cause !== undefined && { cause: copy(error.cause, depth + 1, above) }),
  };
}

/** A line is for reading: deeper, wider and longer things belong into a file. */
const DEPTH = 6;
const ITEMS = 64;
const TEXT_CHARS = 8_192;
