/** A proxy that only opens tunnels, and a port that knows which of its connections came through one. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What lies behind a `WayOut`: TCP ports of loopback. */
export class WayOut implements AsyncDisposable {
  /** Heads of the requests that the proxy got. */
  readonly asked: string[] = [];
  port = 0;
  proxyPort = 0;
  readonly #user: string;
  /** Own ports of the tunnels' far ends. */
  readonly #ends = new Set<number>();
  /** Ports that connections to the front came from. */
  readonly #arrived: number[] = [];
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(user: string) {
    this.#user = user;
  }

  /** @param target port of loopback that the front leads to. @param user `user:password` that the proxy asks for. */
  static async open(target: number, user: string): Promise<WayOut> {
    const way = new WayOut(user);
    way.port = await way.#listen((socket) => {
      way.#arrived.push(socket.remotePort ?? 0);
      way.#join(socket, connect(target, '127.0.0.1'));
    });
    way.proxyPort = await way.#listen((socket) => {
      socket.once('data', (bytes) => way.#tunnel(socket, bytes.toString()));
    });
    return way;
  }

  /** Connections to the front, by whether they came out of a tunnel. */
  get came(): { readonly tunnelled: number; readonly direct: number } {
    const tunnelled = this.#arrived.filter((port) => this.#ends.has(port)).length;
    return { tunnelled, direct: this.#arrived.length - tunnelled };
  }

  /** The proxy's address with a user and a password, encoded as in a variable. */
  proxy(user: string): string {
    return `http://${user.split(':').map(encodeURIComponent).join(':')}@127.0.0.1:${this.proxyPort}`;
  }

  #tunnel(socket: Socket, head: string): void {
    this.asked.push(head);
    const given = /^proxy-authorization: basic (.+)$/im.exec(head)?.[1] ?? '';
    if (Buffer.from(given, 'base64').toString() !== this.#user) {
      socket.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\ncontent-length: 0\r\n\r\n',
      );
      return;
    }
    const onward = this.#keep(connect(this.port, '127.0.0.1'));
    onward.once('connect', () => {
      this.#ends.add(onward.localPort ?? 0);
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
    });
    this.#join(socket, onward);
  }

  async #listen(onSocket: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      this.#keep(socket);
      onSocket(socket);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  #join(socket: Socket, onward: Socket): void {
    this.#keep(onward);
    socket.once('close', () => onward.destroy());
    onward.once('close', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on('error', () => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(
      this.#servers.map((server) => new Promise((resolve) => server.close(resolve))),
    );
  }
}
