import { enough, judgeLoad } from '../history/judge-load.ts';
import { loadPolicy, recordLoad } from '../history/load.ts';
import type { ControlPlaneCase } from './index.ts';

/** A load in which everything happens at the same time, judged afterwards. */
export const history: readonly ControlPlaneCase[] = [
  {
    name: 'history/linearizable',
    title: 'gives every task of a random load a history that the contract allows, call by call',
    promises: [
      '1.1',
      '1.3',
      '1.6',
      '1.9',
      '1.10',
      '1.11',
      '1.15',
      '1.16',
      '1.18',
      '1.23',
      '1.24',
      '1.26',
      '1.27',
      '1.31',
      '1.32',
      '2.12',
      '2.13',
      '3.1',
      '3.2',
      '3.3',
      '4.28',
      '4.29',
      '4.36',
      '6.20',
      '6.25',
      '6.27',
    ],
    timeoutMs: 180_000,
    async run(world) {
      const forMs = Math.min(4 * world.leaseMinMs, LONGEST_MS);
      const records = await recordLoad(world, { tasks: 60, workers: 6, forMs, calls: 800 });
      const { maxAttempts, lostGraceMs } = loadPolicy(world.leaseMinMs);
      const { clock, signal } = world;
      enough(await judgeLoad(records, { maxAttempts, lostGraceMs, clock, signal }), LEAST);
    },
  },
];

/** A slow peer, and one that many use at the same time, answers more than that; less shows nothing. */
const LEAST = { tasks: 10, answered: { submit: 10, claim: 10, report: 30, read: 20, journal: 10 } };
/** Bounds the load on a shared peer. */
const LONGEST_MS = 30_000;
