import fc from 'fast-check';
import { expect, it } from 'vitest';
import { elements, memberBytes } from '../../src/control-plane/spans.ts';

/** JSON text of a value with spaces wherever they may be. */
function spaced(value: unknown, space: () => string): string {
  const s = space;
  if (Array.isArray(value))
    return `[${s()}${value.map((item) => `${s()}${spaced(item, s)}${s()}`).join(',')}${s()}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(
      ([name, item]) => `${s()}${JSON.stringify(name)}${s()}:${s()}${spaced(item, s)}${s()}`,
    );
    return `{${s()}${members.join(',')}${s()}}`;
  }
  return JSON.stringify(value);
}

const value = fc.jsonValue({ depthSize: 'medium' });
const space = fc.infiniteStream(fc.constantFrom('', '', ' ', '\n\t', '  '));

it('finds the bytes of a member, whatever stands around it', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), value, { maxKeys: 4 }),
      value,
      space,
      (rest, wanted, spaces) => {
        const s = () => spaces.next().value as string;
        const { wanted: _, ...others } = rest;
        const inner = spaced(wanted, s);
        const before = Object.entries(others).map(
          ([n, v]) => `${JSON.stringify(n)}:${spaced(v, s)}`,
        );
        const text = `${s()}{${s()}${[...before, `${s()}"wanted"${s()}:${s()}${inner}`].join(',')}${s()}}`;
        expect(JSON.parse(text).wanted).toEqual(JSON.parse(inner));
        expect(memberBytes(text, 'wanted')).toBe(Buffer.byteLength(inner));
        expect(memberBytes(text, 'not there, ever')).toBe(0);
      },
    ),
  );
});

it('finds the elements of an array, at the top or in a member', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 5 }), value, space, (items, other, spaces) => {
      const s = () => spaces.next().value as string;
      const list = spaced(items, s);
      const text = `{"a":${spaced(other, s)},${s()}"reports"${s()}:${s()}${list}}`;
      const texts = (where: string, spans: readonly { from: number; to: number }[]) =>
        spans.map(({ from, to }) => JSON.parse(where.slice(from, to)));
      const plain = JSON.parse(JSON.stringify(items));
      expect(texts(text, elements(text, 'reports'))).toEqual(plain);
      expect(texts(list, elements(list))).toEqual(plain);
      expect(elements(text, 'none')).toEqual([]);
    }),
  );
});
