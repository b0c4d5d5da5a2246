import { limits as wireLimits } from '../contract/limits.ts';
import { defaultPolicy } from '../contract/policy.ts';
import { controlPlaneDefaults, serverDefaults } from '../core/defaults.ts';
import type { PagesOptions } from '../pages/options.ts';
import { makePages } from '../pages/pages.ts';
import type { Peer } from '../pages/peer.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { Hub } from './hub.ts';
import { KeyLooks } from './key-looks.ts';
import { KeyLoop } from './key-loop.ts';
import { KeyUse } from './key-use.ts';
import { KeyWatch } from './key-watch.ts';
import { type AnswerTo, mount } from './mount.ts';
import { pageForms } from './page-forms.ts';
import { PingLoop } from './ping-loop.ts';
import { keyRoutes } from './routes/keys.ts';
import { operationsRoutes } from './routes/operations.ts';
import { operatorRoutes } from './routes/operator.ts';
import { producerRoutes } from './routes/producer.ts';
import { serviceRoutes } from './routes/service.ts';
import { workerRoutes } from './routes/worker.ts';
import type { Limits, Services, Timing } from './services.ts';
import { SweepLoop } from './sweep-loop.ts';
import { Turns } from './turns.ts';
import { WaitingClaims } from './waiting-claims.ts';
import { WorkerFactsCache } from './worker-facts.ts';

export interface AppOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** At least 32 unpredictable bytes: signs lease tokens. The same after a restart, else running attempts are stale. */
  readonly secret: Uint8Array;
  /** Default: the contract's. */
  readonly limits?: Partial<Limits>;
  /** Default: `controlPlaneDefaults`. */
  readonly timing?: Partial<Timing>;
  /** Whose turn it is; shared with the socket, which tells it what is not taken. Default: those of `serverDefaults`. */
  readonly turns?: Turns | undefined;
  /** The pages, and where the control plane is reached. Default: with a key only. */
  readonly pages?: Partial<Pick<PagesOptions, 'access' | 'place'>> | undefined;
  /** Of the product, for the OpenAPI document. */
  readonly version?: string;
}

export interface App {
  /** Answers a request. Never rejects. @param peer who sent it, as the socket saw; unknown: nobody of this machine. */
  fetch(request: Request, peer?: Peer): Promise<Response>;
  /** Answers a call that was found already, without a `Request`. Never rejects. */
  readonly answerTo: AnswerTo;
  /** A new one, for an answer that the socket makes itself. */
  readonly requestId: () => string;
  /** Gives open attempts a whole lease and starts the loops. Twice is fine. */
  start(): Promise<void>;
  /** Ends streams, waits and loops; requests under way are still answered. Twice is fine. The store stays open. */
  stop(): Promise<void>;
}

/** The control plane as a function from request to response, without sockets. */
export function createApp(options: AppOptions): App {
  const { store, clock } = options;
  const { batch, claimMax } = serverDefaults;
  const limits: Limits = { ...wireLimits, batch, claimMax, ...options.limits };
  const timing: Timing = { ...controlPlaneDefaults, ...options.timing };
  const waiting = new WaitingClaims();
  const hub = new Hub({ clock, wakeGapMs: timing.wakeGapMs, waiting });
  const facts = new WorkerFactsCache({
    store,
    clock,
    offlineAfterMs: timing.offlineAfterMs,
    keptMs: timing.workerFactsMs,
  });
  const keyWatch = new KeyWatch({ store, clock });
  const services: Services = {
    store,
    clock,
    random: options.random,
    log: options.log,
    limits,
    policy: { ...defaultPolicy, leaseMs: limits.leaseMs.default },
    secret: options.secret,
    timing,
    hub,
    waiting,
    facts,
    keyUse: new KeyUse({ store, clock }),
    keyLooks: new KeyLooks({ store, keyWatch }),
    keyWatch,
    turns: options.turns ?? new Turns(serverDefaults),
  };
  const mounted = mount(services, {
    open: serviceRoutes(options.version ?? '0'),
    keyed: {
      ...producerRoutes,
      ...operatorRoutes,
      ...workerRoutes,
      ...operationsRoutes,
      ...keyRoutes,
    },
  });
  const pages = makePages({
    ...pageForms(services, mounted.answerTo),
    access: options.pages?.access ?? 'open',
    place: options.pages?.place ?? { loopback: false, behindProxy: false, secure: false },
  });
  const sweep = new SweepLoop(services);
  const ping = new PingLoop(services);
  const keys = new KeyLoop(services);
  const safely = (work: () => void) => {
    try {
      work();
    } catch (error) {
      // Hints may be lost; what was kept stays kept.
      options.log.error('hints.failed', 'Hints of a commit could not be given.', { error });
    }
  };
  const end = store.subscribe(
    (notes) =>
      safely(() => {
        keyWatch.take(notes);
        facts.take(notes);
        hub.take(notes);
      }),
    (notes) => safely(() => hub.hint(notes)),
    (notes) => safely(() => waiting.take(notes)),
  );

  return {
    fetch: async (request, peer) => pages.answer(request, peer) ?? mounted.fetch(request),
    answerTo: mounted.answerTo,
    requestId: mounted.requestId,
    async start() {
      await keys.start();
      await sweep.start();
      ping.start();
      // A clock that was put right makes tasks available without a note of it.
      waiting.lookAll();
    },
    async stop() {
      hub.stop();
      waiting.stop();
      pages.stop();
      await Promise.all([sweep.stop(), ping.stop(), keys.stop()]);
      end();
    },
  };
}
