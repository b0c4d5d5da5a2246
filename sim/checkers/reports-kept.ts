import { reportsSeen } from '../reports-seen.ts';
import { SPOOL } from '../worker-node.ts';
import type { Checker } from './index.ts';

export const reportsKept: Checker = {
  name: 'reports-kept',
  rule: 'a report that was fsynced is accepted, or it is set aside with the answer and told',
  check: ({ history, nodes }) => {
    const accepted = new Set<string>();
    for (const { op, attemptId, status, answer } of reportsSeen(history))
      if (status === 200 && answer?.accepted === true) accepted.add(`${attemptId} ${op}`);
    const wrong: string[] = [];
    for (const { attemptId, taskId, op, machine, at } of history.spooled) {
      if (accepted.has(`${attemptId} ${op}`)) continue;
      const node = nodes.find((one) => one.o.name === machine);
      const aside = ['stale', 'refused'].some((folder) =>
        node
          ?.files(folder)
          .some(
            (file) =>
              node.machine.disk.platter
                .text(`${SPOOL}/${folder}/${file}`)
                .includes(`"op":"${op}"`) &&
              node.machine.disk.platter.text(`${SPOOL}/${folder}/${file}`).includes(attemptId),
          ),
      );
      // It may die between setting it aside and saying so; doctor still tells it.
      const died = history.processes.some(
        (one) => one.machine === machine && (one.killedAt ?? 0) > at,
      );
      const told =
        died ||
        node?.log.lines.some(
          (line) => /report\.(stale|refused)/.test(line) && line.includes(taskId),
        );
      // A later word of the same attempt took its place on disk before it was sent (refused, then a small one).
      if (!aside)
        wrong.push(
          `${op} of ${attemptId} was on the disk of ${machine} at ${Math.round(at)}; it was neither accepted nor set aside`,
        );
      else if (!told)
        wrong.push(`${op} of ${attemptId} was set aside on ${machine} and nobody was told`);
    }
    return wrong;
  },
};
