import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MIGRATIONS = join(import.meta.dirname, '../../src/stores/migrations');

/** Statements that make an empty database what it was in that version. */
export function earlierVersion(version: number): string {
  const steps = readdirSync(MIGRATIONS).sort().slice(0, version);
  const texts = steps.map((name) => readFileSync(join(MIGRATIONS, name), 'utf8'));
  return [...texts, `PRAGMA user_version = ${version};`].join('\n');
}
