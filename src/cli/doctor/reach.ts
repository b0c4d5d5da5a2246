import { CONTRACT_VERSION, type ServiceInfo, serviceInfo } from '../../contract/index.ts';
import type { NoAnswerCause } from '../../ports/transport.ts';
import type { Door } from '../../wire/door.ts';
import { type ProxySettings, proxyChooser } from '../../wire/proxy.ts';
import { bare, isLocalName } from '../../wire/service-url.ts';
import { durationWords } from '../duration.ts';
import { type Check, fail, ok, skip, warn } from './check.ts';

export interface Reached {
  readonly checks: readonly Check[];
  readonly info?: ServiceInfo;
  /** How far this machine's clock is ahead of the control plane's. */
  readonly aheadMs?: number;
}

/** The steps of a connection, in order; the cause of a failure says which of them it was. */
const STEPS = ['name', 'proxy', 'connect', 'tls', 'contract'] as const;
type Step = (typeof STEPS)[number];

const STEP_OF: Readonly<Record<NoAnswerCause, Step>> = {
  dns: 'name',
  proxy: 'proxy',
  connect: 'connect',
  tls: 'tls',
  timeout: 'contract',
  cut: 'contract',
  redirect: 'contract',
  'not-the-contract': 'contract',
  'too-large': 'contract',
  aborted: 'contract',
};

const FIXES: Readonly<Record<Step, string>> = {
  name: 'Check --url for a typing error, and the DNS of this machine.',
  proxy: 'Check HTTPS_PROXY and HTTP_PROXY, or name the host in NO_PROXY.',
  connect:
    'Start the control plane (interlock control-plane), or check --url, network and firewalls.',
  tls: 'Check that the address is https and its certificate; a private authority is given with --ca-file.',
  contract: 'Check --url: another program, a proxy or another version answers there.',
};

/** Asks `GET /` without a key, and tells name, proxy, connection, TLS and contract apart. */
export async function checkReach(
  door: Door,
  proxy: ProxySettings,
  nowMs: () => number,
  wallMs: () => number,
): Promise<Reached> {
  const url = new URL(door.address.origin);
  const began = nowMs();
  const answer = await door.call({
    method: 'GET',
    path: '/',
    open: true,
    statuses: [200],
    schema: serviceInfo,
  });
  const tookMs = nowMs() - began;
  if (answer.kind === 'ok') {
    const info = answer.value;
    const aheadMs = wallMs() - tookMs / 2 - Date.parse(info.serverTime);
    return {
      checks: [...stepsBefore(undefined, url, proxy), contractCheck(info, tookMs)],
      info,
      ...(Number.isFinite(aheadMs) && { aheadMs }),
    };
  }
  const failed = answer.kind === 'no-answer' ? STEP_OF[answer.cause] : 'contract';
  const says =
    answer.kind === 'no-answer'
      ? answer.why
      : `it refused: ${answer.status} ${answer.problem.code}, ${answer.problem.detail ?? answer.problem.title ?? ''}`;
  return { checks: [...stepsBefore(failed, url, proxy), fail(failed, says, FIXES[failed])] };
}

/** @param aheadMs of this machine. */
export function checkClock(aheadMs: number | undefined): Check {
  if (aheadMs === undefined) return skip('clock', 'the control plane was not reached');
  const away = Math.abs(aheadMs);
  const says = `this clock is ${durationWords(away)} ${aheadMs > 0 ? 'ahead of' : 'behind'} the control plane's`;
  if (away < CLOCK_MS) return ok('clock', says);
  return warn(
    'clock',
    `${says}; leases do not depend on it, times that people read do`,
    'Let this machine set its clock by NTP.',
  );
}

/** The steps that are proven by what came later, up to the one that failed. */
function stepsBefore(failed: Step | undefined, url: URL, proxySettings: ProxySettings): Check[] {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const proxy = proxyChooser(proxySettings)(url.protocol, url.hostname, port);
  const host = bare(url.hostname);
  const words: Record<Exclude<Step, 'contract'>, Check> = {
    name: proxy
      ? skip('name', `${host} is looked up by the proxy`)
      : ok(
          'name',
          /^[\d.:a-f]+$/.test(host) || isLocalName(host)
            ? `${host} needs no DNS`
            : `${host} is known to DNS`,
        ),
    proxy: proxy
      ? ok('proxy', `through ${proxy.shown}`)
      : skip('proxy', 'none is used for this address'),
    connect: ok(
      'connect',
      proxy ? 'the proxy opened a tunnel' : `port ${port} accepts connections`,
    ),
    tls:
      url.protocol === 'https:'
        ? ok('tls', 'the certificate is trusted')
        : skip('tls', 'plain http'),
  };
  const until = failed === undefined ? STEPS.length - 1 : STEPS.indexOf(failed);
  return STEPS.slice(0, until).map((step) => words[step as keyof typeof words]);
}

function contractCheck(info: ServiceInfo, tookMs: number): Check {
  if (!info.contracts.includes(CONTRACT_VERSION)) {
    return fail(
      'contract',
      `it speaks contract ${info.contracts.join(', ')}, this program speaks ${CONTRACT_VERSION}`,
      'Use versions of both that go together.',
    );
  }
  return ok(
    'contract',
    `version ${CONTRACT_VERSION} is spoken, answered in ${durationWords(tookMs)}`,
  );
}

/** Less than this is the network's doing. */
const CLOCK_MS = 5_000;
