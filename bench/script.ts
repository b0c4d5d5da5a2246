import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mine } from './ending.ts';
import type { Row } from './rows.ts';

/** The rows of a bench that is a program of its own: it measures the process in which it runs. */
export async function ofScript(name: string, quick: boolean): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'interlock-bench-rows-'));
  const kept = join(folder, 'rows.json');
  try {
    const running = promisify(execFile)(
      process.execPath,
      [
        ...['--import', join(import.meta.dirname, '../scripts/as-text.mjs')],
        ...[join(import.meta.dirname, name), '--json', kept, ...(quick ? ['--quick'] : [])],
      ],
      { maxBuffer: 2 ** 26 },
    );
    mine(running.child);
    await running;
    const said = JSON.parse(readFileSync(kept, 'utf8')) as Row[] | { rows: Row[] };
    const rows = Array.isArray(said) ? said : said.rows;
    const part = name.replace('.ts', '');
    return rows.map((row) => ({ ...row, what: `${part}: ${row.what}` }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
