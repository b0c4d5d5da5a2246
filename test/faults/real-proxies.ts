/** Real nginx and HAProxy in front of a control plane, each with a configuration of its own, ended with the test's world. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { until } from '../e2e/processes.ts';
import type { World } from '../e2e/world.ts';
import { program } from './needs.ts';

export interface Proxied {
  readonly url: string;
}

export interface NginxOptions {
  /** Gathers every answer, whatever its `X-Accel-Buffering` says [false: buffering is on, and that is heeded]. */
  readonly gathers?: boolean;
  /** Ends a call after so much silence of the control plane [60]. */
  readonly silenceS?: number;
}

/** Buffering and gzip are on for all. */
export async function startNginx(world: World, options: NginxOptions = {}): Promise<Proxied> {
  const port = await freePort();
  const folder = world.path(`nginx-${port}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(`${folder}/${name}`, { recursive: true });
    return `${name}_temp_path ${folder}/${name};`;
  });
  writeFileSync(
    `${folder}/nginx.conf`,
    `daemon off;
    master_process off;
    pid ${folder}/pid;
    error_log stderr warn;
    events {}
    http {
      access_log off;
      ${temporary.join('\n')}
      gzip on; gzip_types *; gzip_proxied any; gzip_min_length 0;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass ${world.url};
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_buffering on;
          ${options.gathers ? 'proxy_ignore_headers X-Accel-Buffering;' : ''}
          proxy_read_timeout ${options.silenceS ?? 60}s;
        }
      }
    }`,
  );
  world.processes.start(program('nginx') as string, ['-p', folder, '-c', `${folder}/nginx.conf`]);
  await answers(port);
  return { url: `http://127.0.0.1:${port}` };
}

/** As Debian's example has it, with buffered requests. @param silenceS either side is cut after so much silence. */
export async function startHaproxy(world: World, silenceS = 60): Promise<Proxied> {
  const port = await freePort();
  const folder = world.path(`haproxy-${port}`);
  mkdirSync(folder);
  writeFileSync(
    `${folder}/haproxy.cfg`,
    `defaults
      mode http
      option http-buffer-request
      timeout connect 5s
      timeout client ${silenceS}s
      timeout server ${silenceS}s
    frontend tasks
      bind 127.0.0.1:${port}
      default_backend plane
    backend plane
      server plane ${new URL(world.url).host}\n`,
  );
  world.processes.start(program('haproxy') as string, ['-db', '-f', `${folder}/haproxy.cfg`]);
  await answers(port);
  return { url: `http://127.0.0.1:${port}` };
}

/** A port that was free a moment ago. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<unknown> {
  const once = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  return until(once, `proxy on port ${port}`, 10_000);
}
