/** Between a worker and the control plane, where a test can bend what passes. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { until } from './processes.ts';

export interface Passing {
  readonly at: number;
  readonly method: string;
  /** Below the base path, with its query. */
  readonly path: string;
  readonly body: string;
}

/**
 * What becomes of a request: `pass` · `cut`: the connection ends, nothing was passed on · a status: that answer, in
 * the proxy's own words · a promise: it waits for it.
 */
export type Verdict = 'pass' | 'cut' | number | Promise<'pass' | 'cut' | number>;

export interface BentProxy {
  readonly url: string;
  readonly seen: readonly Passing[];
  /** Judges every request from now on [passes all]. */
  judge(verdict: (passing: Passing) => Verdict): void;
  /** Resolves with the first that fits, also one that has passed already. */
  saw(fits: (passing: Passing) => boolean, timeoutMs?: number): Promise<Passing>;
  close(): Promise<void>;
}

/** @param target address of the control plane */
export async function startProxy(target: string): Promise<BentProxy> {
  const seen: Passing[] = [];
  let judge: (passing: Passing) => Verdict = () => 'pass';
  const { hostname, port } = new URL(target);

  const receive = async (incoming: IncomingMessage, answer: ServerResponse) => {
    const body = await buffer(incoming);
    const { method = '', url = '' } = incoming;
    const path = url.replace(/^\/api\/tasks\/v1/, '');
    const passing = { at: performance.now(), method, path, body: body.toString() };
    seen.push(passing);
    const verdict = await judge(passing);
    if (verdict === 'cut') {
      incoming.socket.destroy();
      return;
    }
    if (typeof verdict === 'number') {
      answer.writeHead(verdict, { 'content-type': 'text/html' });
      answer.end('<html><body>a proxy</body></html>');
      return;
    }
    const onward = request(
      { hostname, port, method, path: url, headers: incoming.headers },
      (back) => {
        answer.writeHead(back.statusCode ?? 502, back.headers);
        answer.flushHeaders();
        back.on('error', () => answer.destroy());
        back.pipe(answer);
      },
    );
    onward.on('error', () => incoming.socket.destroy());
    answer.on('close', () => onward.destroy());
    onward.end(body);
  };

  const server = createServer((incoming, answer) => {
    receive(incoming, answer).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    judge: (verdict) => {
      judge = verdict;
    },
    saw: (fits, timeoutMs) => until(() => seen.find(fits), 'such request', timeoutMs),
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Whether a request carries a report of this op, alone or in a batch. */
export function carries(op: string, { path, body }: Passing): boolean {
  return path.endsWith(`/${op}`) || (path === '/attempts/batch' && body.includes(`"op":"${op}"`));
}
