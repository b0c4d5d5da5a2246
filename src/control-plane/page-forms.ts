import { operations } from '../contract/operations.ts';
import { isLocalKey } from '../core/key-rules.ts';
import type { CallAs } from '../pages/call.ts';
import type { PagesOptions } from '../pages/options.ts';
import { isRefusal } from './answer.ts';
import { keyOf } from './auth.ts';
import { type CallRequest, ofFetch } from './call-request.ts';
import type { AnswerTo } from './mount.ts';
import type { Services } from './services.ts';

/** What the pages need of the control plane, in its real form. */
export function pageForms(
  services: Services,
  answerTo: AnswerTo,
): Omit<PagesOptions, 'access' | 'place'> {
  const { store, clock, random, log, secret, keyUse } = services;
  return {
    store,
    clock,
    random,
    log,
    secret,
    callAs: callAs(answerTo),
    keyOf: async (text) => {
      if (!/^il_\S{1,512}$/.test(text)) return undefined;
      const key = await keyOf(services, text);
      return isRefusal(key) ? undefined : key;
    },
    used: (key, nowMs) => {
      if (!isLocalKey(key.id)) keyUse.used(key, nowMs);
    },
    bytes: async (request, maxBytes) => {
      const bytes = await ofFetch(request)
        .bytes(maxBytes, clock)
        .catch(() => undefined);
      return bytes === undefined || isRefusal(bytes) ? undefined : bytes;
    },
  };
}

/** Calls go the way that requests go, but for the socket and the key, which was found before. */
function callAs(answerTo: AnswerTo): CallAs {
  return async (who, id, { params = {}, query = {}, body, signal }) => {
    const operation = BY_ID.get(id);
    if (operation === undefined) throw new Error(`there is no call ${id}`);
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      for (const one of Array.isArray(value) ? value : [value])
        if (one !== undefined) words.append(name, String(one));
    const request: CallRequest = {
      url: `/?${words}`,
      signal: signal ?? new AbortController().signal,
      header: (name) => (name === 'content-type' && body !== undefined ? 'application/json' : null),
      bytes: async () => Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    };
    const { answer } = await answerTo(operation, request, params, who);
    return answer;
  };
}

const BY_ID = new Map(operations.map((operation) => [operation.id, operation]));
