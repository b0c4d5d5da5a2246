import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { oursIn, systemSocketOwners } from '../../src/system/socket-owners.ts';

const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (local: string, remote: string, uid: number, inode = 77) =>
  `   1: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000 20 4 30 10 -1`;
const table = (...rows: string[]) => [HEAD, ...rows].join('\n');
const [SERVER, CLIENT] = ['0100007F:1CFC', '0100007F:C001'];
const ends = {
  here: { address: '127.0.0.1', port: 7420 },
  there: { address: '127.0.0.1', port: 0xc001 },
};
const us = row(SERVER, CLIENT, 1000);

it.each<[string, string[], boolean | undefined]>([
  ['ours', [us, row(CLIENT, SERVER, 1000)], true],
  ['of root', [row(CLIENT, SERVER, 0), us], true],
  ['of another user', [us, row(CLIENT, SERVER, 33)], false],
  ['held by nobody any more, which is told as root’s', [us, row(CLIENT, SERVER, 0, 0)], false],
  ['gone', [us], false],
  ['not told, as nothing is', [], undefined],
  ['that of another connection', [row('0100007F:C002', SERVER, 33)], undefined],
])('the other end is %s', (_, rows, ours) => {
  expect(oursIn(table(...rows), ends, 1000, 'LE')).toBe(ours);
});

it('IPv6 is told in four words, and IPv4 in it by its last one', () => {
  const [server, client] = [
    '00000000000000000000000001000000:1CFC',
    `${'0'.repeat(24)}01000000:C001`,
  ];
  const six = {
    here: { address: '::1', port: 7420 },
    there: { address: '::1', port: 0xc001 },
  };
  expect(oursIn(table(row(client, server, 33)), six, 1000, 'LE')).toBe(false);
  const mapped = (word: string) => `0000000000000000FFFF0000${word}`;
  const text = table(row(mapped(CLIENT), mapped(SERVER), 33));
  const there = { address: '::ffff:127.0.0.1', port: 0xc001 };
  expect(oursIn(text, { ...ends, there }, 1000, 'LE')).toBe(false);
  expect(oursIn(table(row('7F000001:C001', '7F000001:1CFC', 33)), ends, 1000, 'BE')).toBe(false);
});

it('a connection of this process is ours, where the system tells', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  const ours = await systemSocketOwners().ours({
    here: { address: '127.0.0.1', port },
    there: { address: '127.0.0.1', port: socket.remotePort ?? 0 },
  });
  expect(ours).not.toBe(false);
  client.destroy();
  socket.destroy();
  server.close();
  expect(await systemSocketOwners('win32').ours(ends)).toBeUndefined();
});
