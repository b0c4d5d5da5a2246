import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const folder = join(import.meta.dirname, '../../src/cli/commands');

it('prints no command of ours that cannot be pasted: each goes through asTyped', () => {
  const wrong = readdirSync(folder).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split(/\bio\.(?=(?:out|err)\.)/)
      .slice(1)
      .map((text) => text.slice(0, text.indexOf(';')))
      .filter((text) => /\binterlock (?:tasks|spool|keys) /.test(text) && !/\basTyped\(/.test(text))
      .map((text) => `${file}: ${text}`),
  );
  expect(wrong).toEqual([]);
});
