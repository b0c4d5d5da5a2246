/** conformance/fail@1: fails with the code, the message and the word on repetition that its input names. */
export const effectSafety = 'pure';

export default function failing({ code, message, retryable }) {
  throw Object.assign(new Error(message), { code, retryable });
}
