/** Planted into what a key may still do once it has ended, and beyond its limits. */
const auth = 'src/control-plane/auth.ts';
const act = 'src/control-plane/act.ts';

export const faults = [
  {
    name: 'a revoked key still reads and cancels',
    file: auth,
    find: 'const ended = endedKey(nowMs, row);',
    replace:
      "const reads = request.method === 'GET' || request.url.endsWith('/cancel');\n  const ended = reads && row?.revokedAtMs !== undefined ? undefined : endedKey(nowMs, row);",
    cases: ['keys/revoked-everywhere'],
  },
  {
    name: 'an expired key still reads tasks and streams',
    file: auth,
    find: 'const ended = endedKey(nowMs, row);',
    replace:
      "const reads = /\\/(tasks\\/[^/]+|events|hints|workers)/.test(request.url) && request.method === 'GET';\n  const ended = reads && row?.revokedAtMs === undefined ? undefined : endedKey(nowMs, row);",
    cases: ['keys/expired-everywhere'],
  },
  {
    name: 'a key that expires keeps its streams',
    file: 'src/control-plane/key-watch.ts',
    find: 'if (expiresAtMs === undefined) return;',
    replace: 'if (expiresAtMs === undefined || expiresAtMs > 0) return;',
    and: [
      {
        file: 'src/control-plane/key-watch.ts',
        find: "if (row && keyState(await this.#store.nowMs(), row) === 'usable') return [];",
        replace: 'if (row && row.revokedAtMs === undefined) return [];',
      },
      {
        file: 'src/control-plane/ping-loop.ts',
        find: "if (!key || keyState(await store.nowMs(), key) !== 'usable') return false;",
        replace: "if (!key || keyState(await store.nowMs(), key) === 'revoked') return false;",
      },
    ],
    cases: ['keys/expiry-ends-streams'],
  },
  {
    name: 'limits of a key hold no operator in what he does to a task',
    file: act,
    find: '    if (beyond) return beyond;\n    const before',
    replace:
      "    if (beyond && kind !== 'retry' && kind !== 'resolve') return beyond;\n    const before",
    cases: ['keys/limited-actions'],
  },
  {
    name: 'limits of a key hold nobody in cancels',
    file: act,
    find: '    if (beyond) return beyond;\n    const before',
    replace: "    if (beyond && kind !== 'cancel') return beyond;\n    const before",
    cases: ['keys/limited-actions'],
  },
  {
    name: 'limits of a key hold no operator in drains',
    file: 'src/control-plane/routes/operator.ts',
    find: 'if (beyond) return beyond;',
    replace: '',
    cases: ['keys/limited-drain'],
  },
  {
    name: 'limits of a key hold no worker in what it says of its types',
    file: 'src/control-plane/presence.ts',
    find: 'types: (request.handlers ?? []).map(',
    replace: 'types: [].map(',
    cases: ['keys/limited-presence'],
  },
  {
    name: 'limits of a key hold no worker in its hints',
    file: 'src/control-plane/streams.ts',
    find: "  const beyond = beyondKey(key, { workerId: ['workerId', workerId] });\n  if (beyond) return beyond;\n",
    replace: '',
    cases: ['keys/limited-presence'],
  },
  {
    name: 'reports count against the rate of a key',
    file: auth,
    find: 'if (!operation.uncounted) {',
    replace: 'if (operation.path.length > 0) {',
    cases: ['keys/rate-without-reports'],
  },
  {
    name: 'every key is told as usable',
    file: 'src/control-plane/key-view.ts',
    find: 'state: keyState(nowMs, row),',
    replace: "state: keyState(nowMs, row) && 'usable',",
    cases: ['keys/revoke', 'keys/expiry'],
  },
  {
    name: 'a key is told as last used in 1970',
    file: 'src/control-plane/key-view.ts',
    find: 'lastUsedAt: instantText(lastUsedAtMs),',
    replace: 'lastUsedAt: instantText(lastUsedAtMs && 0),',
    cases: ['keys/list'],
  },
  {
    name: 'keys are listed oldest first',
    file: 'src/control-plane/routes/keys.ts',
    find: 'keys: page.map((row) =>',
    replace: 'keys: page.reverse().map((row) =>',
    cases: ['keys/list'],
  },
];
