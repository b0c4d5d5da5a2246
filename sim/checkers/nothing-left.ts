import type { Checker } from './index.ts';

export const nothingLeft: Checker = {
  name: 'nothing-left',
  rule: 'at the end no timer, stream, handler process or owed record is left over',
  check: ({ nodes, left }) => [
    ...nodes.flatMap((node) => {
      const files = [...node.files('reports'), ...node.files('running')];
      return [
        ...(files.length > 0 ? [`${node.o.name} has ${files.join(', ')} in its spool`] : []),
        ...(node.hosts.running > 0 ? [`${node.o.name} has ${node.hosts.running} handlers`] : []),
        ...(node.up ? [`${node.o.name} still runs`] : []),
        ...(node.line.streams > 0 ? [`${node.o.name} has ${node.line.streams} streams`] : []),
      ];
    }),
    ...(left.planeTimers > 0 ? [`the control plane has ${left.planeTimers} timers`] : []),
    ...(left.streams > 0 ? [`the control plane has ${left.streams} streams`] : []),
  ],
};
