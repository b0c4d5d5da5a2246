export const effectSafety = 'pure';

/** One bad habit of handlers for each word. */
export default ({ what }) => {
  switch (what) {
    case 'after the return':
      setTimeout(() => {
        throw 1;
      }, 5);
      return 'returned';
    case 'beside the promise':
      Promise.reject(new Error('nobody waits for this'));
      return new Promise(() => setInterval(() => {}, 1_000));
    case 'undefined':
      throw undefined;
    case 'null':
      throw null;
    case 'text':
      throw 'x';
    case 'a getter that throws':
      throw Object.defineProperty(new Error(), 'message', {
        get() {
          throw new Error('no message for you');
        },
      });
    case 'a message of 5 MB':
      throw new Error('m'.repeat(5_000_000));
    default:
      return new Promise(() => setInterval(() => {}, 1_000));
  }
};
