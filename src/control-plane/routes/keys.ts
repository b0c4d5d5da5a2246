import type { z } from 'zod';
import { type keysQuery, newKeyRequest } from '../../contract/keys.ts';
import { keyNameProblem } from '../../core/key-rules.ts';
import { answer, refusal } from '../answer.ts';
import { invalid } from '../body.ts';
import type { KeyedCall, Route } from '../call.ts';
import { keyView } from '../key-view.ts';
import { makeKey, revokeKey } from '../keys.ts';
import { check } from '../validate.ts';

export const keyRoutes = {
  async newKey({ services, key, body }: KeyedCall) {
    const { store, log } = services;
    const checked = check(newKeyRequest, body.value);
    if (!checked.ok) return checked.refusal;
    const { expiresAt, ...wish } = checked.value;
    const unfit = keyNameProblem(wish.name);
    if (unfit !== undefined) return invalid([{ path: 'name', message: unfit }]);
    const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt);
    const nowMs = await store.nowMs();
    if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
      const now = new Date(nowMs).toISOString();
      return invalid([{ path: 'expiresAt', message: `lies in the past: it is ${now} here` }]);
    }
    const made = await makeKey(services, { ...wish, expiresAtMs, project: key.project });
    const { id, name, kind, project } = made.row;
    log.info('key.made', `Key ${id} ("${name}", ${kind}) was made by ${key.id} ("${key.name}").`, {
      keyId: id,
      kind,
      project,
      by: key.id,
    });
    return answer({ ...keyView(made.row.createdAtMs, made.row), key: made.key }, 201);
  },

  async listKeys({ services, key, query }: KeyedCall) {
    const { store, keyUse } = services;
    const { cursor, limit } = query as z.infer<typeof keysQuery>;
    const [nowMs, rows] = await Promise.all([
      store.nowMs(),
      // One more tells whether there is another page.
      store.keys({ project: key.project, belowId: cursor, limit: limit + 1 }),
    ]);
    const page = rows.slice(0, limit);
    return answer({
      keys: page.map((row) => keyView(nowMs, row, keyUse.lastUsedAtMs(row))),
      cursor: rows.length > limit ? page.at(-1)?.id : undefined,
    });
  },

  async revokeKey({ services, key, params }: KeyedCall) {
    const { store, log, keyUse } = services;
    const id = params.id ?? '';
    const done = await revokeKey(store, id, { project: key.project, lastAdmin: false });
    if ('why' in done) {
      if (done.why === 'last-admin')
        return refusal(
          'CONFLICT',
          `${id} is the last usable admin key of project ${key.project} (those that end within a day do not count): without it nobody could make keys by a call. Make another admin key first, or revoke it on the control plane's machine: interlock keys revoke ${id} --data <folder>.`,
          {
            hint: `Make another first: interlock keys new "admin" --kind admin. Or on the control plane's machine: interlock keys revoke ${id} --data <folder>`,
          },
        );
      return refusal(
        'NOT_FOUND',
        `There is no key ${id.slice(0, 100)} in project ${key.project}.`,
        {
          kind: 'key',
          project: key.project,
        },
      );
    }
    const { row } = done;
    if (!done.before)
      log.info(
        'key.revoked',
        `Key ${id} ("${row.name}", ${row.kind}) was revoked by ${key.id} ("${key.name}").`,
        { keyId: id, kind: row.kind, project: row.project, by: key.id },
      );
    return answer(keyView(done.nowMs, row, keyUse.lastUsedAtMs(row)));
  },
} satisfies Record<string, Route>;
