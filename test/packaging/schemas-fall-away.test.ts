import { expect, test } from 'vitest';
// @ts-expect-error a script, without types
import { marked } from '../../scripts/bundle-schemas.mjs';

test('what calls something to make a constant of the contract may fall away, and nothing else is altered', () => {
  const source = `import * as z from 'zod';
export const bounds = { chars: 100 } as const;
const checked = (value: unknown) => z.string().parse(value);
const four = { fence: z.int().min(1) };

export const view = z
  .looseObject({
    name: text.superRefine((value, ctx) => {
      if (isBad(value)) ctx.addIssue('bad');
    }),
  })
  .meta({ id: 'View' });
export type View = z.infer<typeof view>;
`;
  expect(marked(source)).toBe(`import * as z from 'zod';
export const bounds = { chars: 100 } as const;
const checked = (value: unknown) => z.string().parse(value);
const four = /* @__PURE__ */ __made(() => ({ fence: z.int().min(1) }));

export const view = /* @__PURE__ */ __made(() => (z
  .looseObject({
    name: text.superRefine((value, ctx) => {
      if (isBad(value)) ctx.addIssue('bad');
    }),
  })
  .meta({ id: 'View' })));
export type View = z.infer<typeof view>;

function __made(make) { return make(); }
`);
});

test('a module without such constants stays as it is', () => {
  const plain = "export const name = 'a';\nexport const all = new Set(['a']);\n";
  expect(marked(plain)).toBe(plain);
});
