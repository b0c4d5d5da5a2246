import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openApiText } from '../../scripts/docs.ts';

it('docs/openapi.json is what the control plane serves: else run `npm run docs`', () => {
  const file = join(import.meta.dirname, '../../docs/openapi.json');
  expect(readFileSync(file, 'utf8') === openApiText()).toBe(true);
});
