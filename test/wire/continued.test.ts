import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Continued } from '../../src/wire/continued.ts';

/** Stands for the connection: what is sent on it comes out of it. */
function begun(...read: string[]): { socket: PassThrough; continued: Continued } {
  const socket = new PassThrough();
  const continued = new Continued(
    socket as unknown as Socket,
    read.map((text) => Buffer.from(text)),
  );
  return { socket, continued };
}

describe('a connection with a call under way, for somebody who begins with it', () => {
  it('gives what has come before what comes, and takes the request as sent', async () => {
    const { socket, continued } = begun('HTTP/1.1 ', '200 ');
    continued.write('GET / HTTP/1.1');
    socket.end('OK');
    let text = '';
    for await (const chunk of continued) text += String(chunk);
    expect(text).toBe('HTTP/1.1 200 OK');
  });

  it('holds the peer back while nobody reads', () => {
    const { socket, continued } = begun();
    socket.emit('data', Buffer.alloc(1_000_000));
    expect(socket.isPaused()).toBe(true);
    expect(continued.read()).toHaveLength(1_000_000);
    expect(socket.isPaused()).toBe(false);
  });

  it('gives all that has come where the peer ended the connection behind it', async () => {
    const { socket, continued } = begun();
    socket.emit('data', Buffer.from('to the end'));
    for (const event of ['end', 'close']) socket.emit(event);
    let text = '';
    for await (const chunk of continued) text += String(chunk);
    expect(text).toBe('to the end');
  });

  it('hears nothing more, and ends nothing, once it is somebody else’s', () => {
    const { socket, continued } = begun();
    continued.detach();
    socket.emit('data', Buffer.from('of the next call'));
    expect(continued.readableLength).toBe(0);
    continued.destroy();
    expect(socket.destroyed).toBe(false);
  });

  it('is cut with the connection, and cuts it', async () => {
    const cut = begun();
    const told = new Promise((resolve) => cut.continued.once('error', resolve));
    cut.socket.destroy(new Error('reset by the peer'));
    expect(await told).toMatchObject({ message: 'reset by the peer' });
    const { socket, continued } = begun();
    continued.destroy();
    expect(socket.destroyed).toBe(true);
  });
});
