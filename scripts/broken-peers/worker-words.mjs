/** Planted into what a worker says while it works, and into how it stands a line that gives no answer. */
export const faults = [
  {
    name: 'progress is not counted',
    file: 'src/worker/job-words.ts',
    find: 'n: ++this.#progress.n,',
    replace: 'n: 1,',
    cases: ['words/counted'],
  },
  {
    name: 'every failure says that its handler was never called',
    file: 'src/core/attempt-report.ts',
    find: '...neverCalled(end.begun === false)',
    replace: '...neverCalled(true)',
    cases: ['words/called'],
  },
  {
    name: 'a progress or a log that is refused is sent again',
    file: 'src/worker/job-words.ts',
    find: 'return !isBusy(result.status) && !refusesKey(result, project);',
    replace: 'return false;',
    cases: ['words/refused'],
  },
  {
    name: 'the key stands in addresses too',
    file: 'src/wire/door.ts',
    find: 'let url = this.address.base + request.path + queryText(request.query);',
    replace:
      "let url = this.address.base + request.path + (queryText(request.query) || (key ? '?key=' + key : ''));",
    cases: ['words/no-secret'],
  },
  {
    name: 'handlers get the id of the attempt as their effect key',
    file: 'src/worker/run-attempt.ts',
    find: 'effectKey: attempt.effectKey,',
    replace: 'effectKey: attempt.attemptId,',
    cases: ['words/effect-key'],
  },
  {
    name: 'a call is given up after five minutes only',
    file: 'src/core/defaults.ts',
    find: 'requestTimeoutMs: 10 * SECOND,',
    replace: 'requestTimeoutMs: 5 * MINUTE,',
    cases: ['wire/no-answer'],
  },
  {
    name: 'a silent stream of hints is kept for ten minutes',
    file: 'src/core/defaults.ts',
    find: 'hintSilenceMs: 45 * SECOND,',
    replace: 'hintSilenceMs: 10 * MINUTE,',
    cases: ['wire/deaf-stream'],
  },
  {
    name: 'a slash at the end of the address is doubled',
    file: 'src/wire/service-url.ts',
    find: "const path = url.pathname.replace(/\\/+$/, '');",
    replace: "const path = serviceUrl.endsWith('/') ? '/' : url.pathname.replace(/\\/+$/, '');",
    cases: ['wire/slash-at-end'],
  },
  {
    name: 'a progress tells the token of its lease',
    file: 'src/worker/job-words.ts',
    find: '      n: ++this.#progress.n,\n      ...update,\n',
    replace:
      '      n: ++this.#progress.n,\n      ...update,\n      message: String(this.#held.attempt.leaseToken),\n',
    cases: ['words/no-secret'],
  },
  {
    name: 'the token of a lease is at the end of a very long line of the log',
    file: 'src/worker/job-words.ts',
    find: '    const update = this.#update;\n',
    replace:
      '    const update = this.#update;\n    process.stderr.write(" ".repeat(5_000).concat(this.#held.attempt.leaseToken, "\\n", "chatter\\n".repeat(3_000)));\n',
    cases: ['words/no-secret'],
  },
  {
    name: 'a presence is never full',
    file: 'src/worker/attempts.ts',
    find: 'return this.#book.held >= this.#ctx.settings.maxConcurrent;',
    replace: 'return this.#book.held > this.#ctx.settings.maxConcurrent;',
    cases: ['presence/full'],
  },
  {
    name: 'a presence tells no slot as busy',
    file: 'src/worker/presence-loop.ts',
    find: 'busy: Math.min(this.#attempts.slots.held, settings.maxConcurrent),',
    replace: 'busy: 0,',
    cases: ['presence/full'],
  },
];
