/** Planted in how a producer gathers submissions into one call. */
const unseen = 'its producers send each submission by itself';

export const producer = [
  {
    name: 'a batch that is refused for one bad item is refused for each of them',
    file: 'src/core/gathering.ts',
    find: "ABOUT_THE_CALLER.has(end.status) ? 'each' : 'singly'",
    replace: "end.status < 600 ? 'each' : 'singly'",
    unseen,
    tests: ['test/core/gathering', 'test/client/submit-queue'],
  },
  {
    name: 'a submission that is refused in a batch refuses its neighbours',
    file: 'src/client/submit-queue.ts',
    find: 'judgeSubmitted(answer.value[i], ',
    replace: 'judgeSubmitted(answer.value.find(({ status }) => status >= 400) ?? answer.value[i], ',
    unseen,
    tests: ['test/client/submit-queue'],
  },
  {
    name: 'an abort of one submission ends the call of its neighbours',
    file: 'src/client/submit-queue.ts',
    find: 'if (--open === 0) ended.abort();',
    replace: 'if (--open >= 0) ended.abort();',
    unseen,
    tests: ['test/client/submit-queue'],
  },
  {
    name: 'the time of one submission of a batch is not watched',
    file: 'src/client/submit-member.ts',
    find: 'if (!this.#timer && this.untilMs < sureMs)',
    replace: 'if (!this.#timer && this.untilMs < now)',
    unseen,
    tests: ['test/client/submit-queue'],
  },
];
