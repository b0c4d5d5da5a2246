import { describe, expect, it } from 'vitest';
import { BASE } from '../../src/pages/style/base.ts';

/** Colours as they stand in the stylesheet: light first, dark in its place for a dark screen. */
const [light = '', dark = ''] = BASE.split('@media (prefers-color-scheme: dark)');
const tokens = (text: string) =>
  new Map(
    [...text.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );

/** Relative luminance, as WCAG 2.2 defines it. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const TONES = ['good', 'busy', 'wait', 'warn', 'bad', 'off'];
const TEXT: [string, string][] = [
  ...['text', 'faint', 'link', ...TONES].flatMap((name): [string, string][] => [
    [name, 'ground'],
    [name, 'raised'],
  ]),
  ...TONES.flatMap((name): [string, string][] => [
    [name, `${name}-ground`],
    ['text', `${name}-ground`],
    ['link', `${name}-ground`],
  ]),
  ['on-accent', 'accent'],
];
/** Edges of controls, the mark of the focus and of the page one is on. */
const SHAPES = ['edge', 'focus', 'accent'].flatMap((name): [string, string][] => [
  [name, 'ground'],
  [name, 'raised'],
]);

describe.each([
  ['light', tokens(light)],
  ['dark', tokens(dark)],
])('the %s colours', (_, colours) => {
  const below = (pairs: [string, string][], least: number) =>
    pairs.flatMap(([front, back]) => {
      const [a = 0, b = 0] = [front, back].map((name) => luminance(colours.get(name) ?? '#808080'));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      return ratio < least ? [`${front} on ${back}: ${ratio.toFixed(2)}`] : [];
    });

  it('are all there', () => {
    const names = new Set([...TEXT, ...SHAPES].flat());
    expect([...names].filter((name) => !colours.has(name))).toEqual([]);
  });

  it('of text can be read on every ground that it stands on', () => {
    expect(below(TEXT, 4.5)).toEqual([]);
  });

  it('of what is pressed and of the focus can be seen', () => {
    expect(below(SHAPES, 3)).toEqual([]);
  });
});
