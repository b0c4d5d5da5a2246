import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { storeCases } from './store.cases.ts';

storeCases('sqlite', (given) => {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-store-'));
  const store = openSqliteStore({ ...given, file: join(folder, 'test.db') });
  return {
    store,
    async end() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
