/** Leaves two processes behind whose parents are gone at once, each in a session of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export const effectSafety = 'pure';

export default async () => {
  const ends = ['0.05', '0.1'].map((seconds) =>
    once(spawn('setsid', ['--fork', 'sleep', seconds], { stdio: 'ignore' }), 'exit'),
  );
  await Promise.all(ends);
  return { standIn: process.env.INTERLOCK_BEHIND_SHELL ?? 'none' };
};
