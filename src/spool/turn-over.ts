/** When all is done that was begun in this turn of the event loop, and what it left for its end. */
export function turnOver(): Promise<void> {
  return new Promise((resolve) => process.nextTick(() => setImmediate(resolve)));
}
