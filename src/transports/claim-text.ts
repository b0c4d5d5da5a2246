/**
 * Reads the answer to a claim so that nothing in an attempt's input is silently altered. An attempt whose
 * text holds what a double cannot, a name twice, a lone surrogate or endless nesting loses its `input`: it
 * then cannot be decoded and is released, while its neighbours run. A control plane of the contract refuses
 * such input at submit, so this costs one scan of a small text and finds nothing.
 */
import { parseJson } from '../contract/index.ts';

/** Throws where the text is no JSON at all. */
export function parseClaimText(text: string): unknown {
  const strict = parseJson(text);
  if (strict.ok) return strict.value;
  const loose: unknown = JSON.parse(text);
  const attempts = (loose as { attempts?: unknown } | null)?.attempts;
  if (!Array.isArray(attempts)) return loose;
  const sources = itemsOf(text);
  return {
    ...(loose as object),
    attempts: attempts.map((attempt, i) => {
      const exact = parseJson(sources[i] ?? '');
      return exact.ok ? exact.value : withoutInput(attempt);
    }),
  };
}

/** The identity stays, so that it can be given back. */
function withoutInput(attempt: unknown): unknown {
  if (attempt === null || typeof attempt !== 'object') return attempt;
  const { taskId, attemptId, fence, leaseToken } = attempt as Record<string, unknown>;
  return { taskId, attemptId, fence, leaseToken };
}

/** The texts of the items of the last top-level member `attempts` (what `JSON.parse` takes too). */
function itemsOf(text: string): string[] {
  let items: string[] = [];
  let depth = 0;
  let name = '';
  let inAttempts = false;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const end = stringEnd(text, at);
      if (depth === 1) name = text.slice(at, end + 1);
      at = end;
    } else if (char === '{' || char === '[') {
      depth++;
      if (char === '[' && depth === 2 && named(name, 'attempts')) {
        inAttempts = true;
        items = [];
        from = at + 1;
      }
    } else if (char === '}' || char === ']') {
      depth--;
      if (inAttempts && depth === 1) {
        inAttempts = false;
        const last = text.slice(from, at);
        if (last.trim() !== '') items.push(last);
      }
    } else if (char === ',' && inAttempts && depth === 2) {
      items.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return items;
}

function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

function named(source: string, name: string): boolean {
  try {
    return JSON.parse(source) === name;
  } catch {
    return false;
  }
}
