/** Between a producer and the control plane, on real sockets: what is asked has its effect, the answer may be lost. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface LossyProxy {
  readonly url: string;
  /** Told of a request before it is passed on; it waits for that. */
  arrives: (path: string, body: string) => Promise<void> | void;
  /** Asked when an answer is there: whether it gets lost [never]. */
  loses: (path: string, body: string) => boolean;
  /** Answers that were lost. */
  lost: number;
}

/** Ends with the test. @param target address of the control plane */
export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, answer) => {
    const { method, url = '', headers } = incoming;
    const cut = () => incoming.socket.destroy();
    buffer(incoming).then(async (body) => {
      const path = url.replace(/^\/api\/tasks\/v1/, '');
      await proxy.arrives(path, body.toString());
      const onward = request({ hostname, port, method, path: url, headers }, (back) => {
        buffer(back).then((content) => {
          if (proxy.loses(path, body.toString())) {
            proxy.lost++;
            cut();
            return;
          }
          answer.writeHead(back.statusCode ?? 502, back.headers);
          answer.end(content);
        }, cut);
      });
      onward.on('error', cut);
      onward.end(body);
    }, cut);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const proxy: LossyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrives: () => {},
    loses: () => false,
    lost: 0,
  };
  return proxy;
}
