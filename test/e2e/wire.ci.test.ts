/** The rules of fences, replays and sessions, and open streams, by curl. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { API, World } from './world.ts';

it('answers curl as the contract says: stale, replayed, other results, repeated claims, sessions', async () => {
  await using world = new World();
  await world.controlPlane('task-producer', 'task-worker');
  const curl = (as: 'task-producer' | 'task-worker', path: string, body?: object) => {
    const out = execFileSync('curl', [
      ...['-sS', '--max-time', '20', '-w', '\n%{http_code}'],
      ...['-H', `Authorization: Bearer ${world.key(as)}`],
      ...(body ? ['-H', 'Content-Type: application/json', '-d', JSON.stringify(body)] : []),
      world.url + API + path,
    ]);
    const [text = '', status] = out.toString().split(/\n(?=\d+$)/);
    return { status: Number(status), body: JSON.parse(text) };
  };
  const submit = () =>
    curl('task-producer', '/tasks', { type: 'by/curl', schemaVersion: 1, input: 1 });
  const claim = (requestId: string = randomUUID(), sessionId = 'ses_first') =>
    curl('task-worker', '/claims', {
      ...{ workerId: 'curl', sessionId, requestId, pools: ['default'], max: 1 },
      want: [{ type: 'by/curl', schemaVersion: 1, slots: 1 }],
    });
  // biome-ignore lint/suspicious/noExplicitAny: an attempt as it came.
  const report = (op: string, attempt: any, more: object) => {
    const { taskId, attemptId, fence, leaseToken } = attempt;
    const body = { taskId, attemptId, fence, leaseToken, ...more };
    return curl('task-worker', `/attempts/${attemptId}/${op}`, body);
  };
  const stale = { status: 409, body: { code: 'STALE_ATTEMPT' } };

  const task = submit().body;
  const old = claim().body.attempts[0];
  const lost = { reason: 'worker-restarted', begun: false };
  expect(report('lost', old, lost)).toMatchObject({ status: 200, body: { accepted: true } });
  const requestId = randomUUID();
  const attempt = claim(requestId).body.attempts[0];
  expect(attempt).toMatchObject({ taskId: task.id, fence: 2 });
  expect(claim(requestId).body.attempts).toEqual([attempt]);
  expect(report('complete', old, { result: 1 })).toMatchObject(stale);
  expect(report('start', attempt, { sessionId: 'ses_first' }).status).toBe(200);
  expect(report('complete', attempt, { result: 1 })).toMatchObject({ status: 200 });
  expect(report('complete', attempt, { result: 1 })).toMatchObject({
    status: 200,
    body: { accepted: true, replayed: true },
  });
  expect(report('complete', attempt, { result: 2 })).toMatchObject(stale);
  expect(report('start', attempt, { sessionId: 'ses_first' })).toMatchObject(stale);
  submit();
  expect(claim(requestId)).toMatchObject({ status: 200, body: { attempts: [] } });
  expect(claim(randomUUID(), 'ses_second').body.attempts).toHaveLength(1);
  expect(claim()).toMatchObject({ status: 409, body: { code: 'SESSION_SUPERSEDED' } });
});

it('F12 ends its stream to curl -N and is gone within 5 s', async () => {
  await using world = new World();
  const plane = await world.controlPlane('task-producer');
  const curl = world.processes.start('curl', [
    ...['-sSN', '-i', '-H', `Authorization: Bearer ${world.key('task-producer')}`],
    `${world.url}${API}/events`,
  ]);
  await curl.says(/^HTTP\/1\.1 200/);
  plane.kill('SIGTERM');
  const from = performance.now();
  expect(await plane.ending()).toEqual({ code: 0, signal: null });
  expect(performance.now() - from).toBeLessThan(5_000);
  // The stream has its proper end: no transfer that broke off.
  expect(await curl.ending()).toEqual({ code: 0, signal: null });
});
