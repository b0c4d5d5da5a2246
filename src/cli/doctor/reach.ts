import { CONTRACT_VERSION, type ServiceInfo, serviceInfo } from '../../contract/index.ts';
import { noCommonContract } from '../../core/contract-versions.ts';
import type { NoAnswerCause } from '../../ports/transport.ts';
import type { Door } from '../../wire/door.ts';
import { type ProxySettings, proxyRoutes, type Route } from '../../wire/proxy.ts';
import { bare, hostPort, isLocalName, isLoopback } from '../../wire/service-url.ts';
import { durationWords } from '../duration.ts';
import { type Check, fail, ok, skip, warn } from './check.ts';
import { NOT_REACHED } from './not-reached.ts';

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

const FIXES: Readonly<Record<Exclude<Step, 'proxy'>, string>> = {
  name: 'Check --url for a typing error, and the DNS of this machine.',
  connect:
    'Start the control plane (interlock control-plane), or check --url, network and firewalls.',
  tls: 'Check that the address is https and its certificate; a private authority is given with --ca-file.',
  contract: 'Check --url: another program, a proxy or another version answers there.',
};

const UNAVAILABLE_FIX =
  'Look into the log of the control plane: it says what it cannot do and why.';

/** Asks `GET /` without a key, and tells name, proxy, connection, TLS and contract apart. */
export async function checkReach(
  door: Door,
  proxy: ProxySettings,
  nowMs: () => number,
  wallMs: () => number,
): Promise<Reached> {
  const url = new URL(door.address.origin);
  const route = routeOf(url, proxy);
  const began = nowMs();
  const answer = await door.call({
    method: 'GET',
    path: '/',
    open: true,
    anyContract: true,
    statuses: [200],
    schema: serviceInfo,
  });
  const tookMs = nowMs() - began;
  if (answer.kind === 'ok') {
    const info = answer.value;
    const aheadMs = wallMs() - tookMs / 2 - Date.parse(info.serverTime);
    return {
      checks: [...stepsBefore(undefined, url, route), contractCheck(info, tookMs)],
      info,
      ...(Number.isFinite(aheadMs) && { aheadMs }),
    };
  }
  const failed = answer.kind === 'no-answer' ? STEP_OF[answer.cause] : 'contract';
  const says =
    answer.kind === 'no-answer'
      ? answer.why
      : `it refused: ${answer.status} ${answer.problem.code}, ${answer.problem.detail ?? answer.problem.title ?? ''}`;
  const lost = answer.kind === 'refused' && answer.problem.code === 'UNAVAILABLE';
  const other = answer.kind === 'no-answer' && otherScheme(answer.cause, answer.why, url);
  const usual =
    failed === 'proxy' ? proxyFix(says, url, route) : FIXES[failed] + perhapsProxy(failed, url);
  const fix = lost ? UNAVAILABLE_FIX : other || usual;
  return { checks: [...stepsBefore(failed, url, route), fail(failed, says, fix)] };
}

function routeOf({ protocol, hostname, port }: URL, settings: ProxySettings): Route {
  const own = Number(port) || (protocol === 'https:' ? 443 : 80);
  return proxyRoutes(settings)(protocol, hostname, own);
}

/** What a browser or curl of the same machine may have been told, and we have not. */
function perhapsProxy(failed: Step, { protocol, hostname }: URL): string {
  if ((failed !== 'name' && failed !== 'connect') || isLoopback(hostname)) return '';
  const variable = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return ` Where only a proxy leads out of this network, set ${variable}.`;
}

function proxyFix(why: string, { hostname }: URL, { proxy }: Route): string {
  const variable = proxy?.from ?? 'HTTPS_PROXY';
  const past = `name ${bare(hostname)} in NO_PROXY if it can be reached without`;
  if (why.includes('(407)'))
    return `Write ${variable} as http://user:password@${proxy ? hostPort(proxy.host, proxy.port) : 'proxy:3128'} (what is special in user or password is encoded: @ is %40), or ${past}.`;
  return `Check ${variable}, or ${past}.`;
}

/** What a port does that is spoken to in the wrong way. */
function otherScheme(cause: NoAnswerCause, why: string, { protocol }: URL): string | undefined {
  if (cause === 'tls' && why.includes('is it http://?'))
    return 'Give the address with http:// (--url), if the control plane speaks no TLS.';
  if (cause === 'cut' && protocol === 'http:')
    return 'Give the address with https:// (--url), if the control plane speaks TLS. Else another program answers there, or it has just ended.';
  return undefined;
}

/** @param aheadMs of this machine. */
export function checkClock(aheadMs: number | undefined): Check {
  if (aheadMs === undefined) return skip('clock', NOT_REACHED);
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
function stepsBefore(failed: Step | undefined, url: URL, { proxy, says }: Route): Check[] {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
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
    proxy: proxy ? ok('proxy', says) : skip('proxy', says),
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
  const other = noCommonContract(info.contracts, CONTRACT_VERSION);
  if (other) return fail('contract', other.says, other.next);
  return ok(
    'contract',
    `version ${CONTRACT_VERSION} is spoken, answered in ${durationWords(tookMs)}`,
  );
}

/** Less than this is the network's doing. */
const CLOCK_MS = 5_000;
