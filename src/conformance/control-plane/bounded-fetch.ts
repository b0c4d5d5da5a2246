import type { WireFetch } from '../../wire/fetch.ts';

/** So many calls wait for an answer at the same time and no more, whatever the cases do: the peer has other callers. Streams are not counted. */
export function boundedFetch(most: number, fetch: WireFetch): WireFetch {
  let open = 0;
  const waiting: (() => void)[] = [];
  return async (url, init) => {
    if (init.lane === 'stream') return fetch(url, init);
    if (open >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else open += 1;
    try {
      return await fetch(url, init);
    } finally {
      // Its place goes to the next, or is free.
      const next = waiting.shift();
      if (next) next();
      else open -= 1;
    }
  };
}
