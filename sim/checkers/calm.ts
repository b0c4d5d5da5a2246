import type { Checker } from './index.ts';

export const calm: Checker = {
  name: 'calm',
  rule: 'where nothing goes wrong no lease is lost and no report is too late',
  check: ({ tasks, rates, logs }) => {
    if (Object.values(rates).some((rate) => rate > 0)) return [];
    return [
      ...tasks.flatMap(({ view, events }) =>
        events
          .filter(({ kind, data }) => kind === 'lost' && data.reason !== 'timeout')
          .map(({ data }) => `${view.id} was lost: ${data.reason}`),
      ),
      ...logs.flatMap(({ lines }) =>
        lines.filter((line) => / (warn|error) /.test(line) && !OWN_DOING.test(line)),
      ),
    ];
  },
};

/** Handlers here fail and pass their time limit by chance; that is said as a warning, and nothing is wrong with the worker. */
const OWN_DOING =
  / warn (attempt\.over .* (has failed|has ended with|is lost \(timeout\))|handler\.stopping .*\(timeout\))/;
