/**
 * Calls if no other job is in the host when this turn has been gone through, and before what was given in it is written: what goes
 * in the same write counts. Of those that are there together each is marked when it is known to have begun.
 * @param jobs of the host, by their numbers.
 */
export function ifAlone(
  jobs: { readonly size: number; has(n: number): boolean },
  n: number,
  tell: () => void,
): void {
  queueMicrotask(() => {
    if (jobs.size === 1 && jobs.has(n)) tell();
  });
}
