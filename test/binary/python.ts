import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../e2e/processes.ts';

/** The Python of a virtual environment that has what the file pins by hash; made once for each Python and each list. */
export function pythonWith(requirements: string): string {
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const key = createHash('sha256')
    .update(run('python3', '--version'))
    .update(readFileSync(requirements));
  const folder = join(ROOT, 'node_modules/.cache/python', key.digest('hex').slice(0, 16));
  const python = join(folder, 'bin/python');
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return python;
  rmSync(folder, { recursive: true, force: true });
  run('python3', '-m', 'venv', folder);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  run(python, ...pip, '--require-hashes', '--requirement', requirements);
  writeFileSync(ready, '');
  return python;
}
