/** F12: open streams, idle connections and waiting people do not keep a control plane alive. */
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { API, World } from './world.ts';

it('F12 ends within 5 s with streams, an idle connection and a watch open, and the watch goes on after a restart', async () => {
  await using world = new World();
  const plane = await world.controlPlane('task-producer', 'task-operator', 'task-worker');
  const task = await world.producer.submit('test/echo', 1, 'after the restart');
  const watch = world.start(['tasks', 'watch', task.id]);
  await watch.says(/submitted/);
  const headers = { authorization: `Bearer ${world.key('task-producer')}` };
  const stream = await answerOf(get(`${world.url}${API}/events`, { headers }));
  expect(stream.headers['content-type']).toContain('text/event-stream');
  const streamClosed = once(stream.resume(), 'close');
  const polled = world.call('GET', `/tasks/${task.id}/events?after=1&waitMs=30000`).catch(() => {});
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const idle = await answerOf(get(`${world.url}${API}/`, { agent }));
  const { socket } = idle;
  await once(idle.resume(), 'end');
  const idleClosed = socket.destroyed ? [] : once(socket, 'close');

  plane.kill('SIGTERM');
  const from = performance.now();
  expect(await plane.ending()).toEqual({ code: 0, signal: null });
  const took = Math.round(performance.now() - from);
  console.log(`F12: the control plane was gone ${took} ms after SIGTERM`);
  expect(took).toBeLessThan(5_000);
  await Promise.all([streamClosed, idleClosed, polled]);
  agent.destroy();

  const db = new DatabaseSync(join(world.path('data'), 'control-plane.db'), { readOnly: true });
  expect(db.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  db.close();

  await watch.says(/lost/);
  await world.controlPlane();
  await watch.says(/answers again/);
  await world.worker();
  expect(await watch.ending()).toEqual({ code: 0, signal: null });
  expect(watch.out).toContain('succeeded');
});

async function answerOf(request: ReturnType<typeof get>): Promise<IncomingMessage> {
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.on('error', () => {});
  return answer;
}
