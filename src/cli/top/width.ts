/** How many columns of a terminal a text takes, and texts cut to fit. Pure. */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u;
const EMOJI = /^\p{Emoji_Presentation}|\ufe0f/u;
/** East Asian wide and fullwidth, as far as terminals agree. */
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;
/** Marks upon one letter: more than any language has paint over the lines around. */
const MARKS_MAX = 8;
/** Of a grapheme in UTF-16 units: no longer one is read to its end, so that a text costs no more than what is shown of it. */
const UNITS = 16;

/** @returns 0, 1 or 2. */
function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** What fits into so many columns, and how many it takes; `…` stands where something is missing. */
export function cutTo(text: string, columns: number): { text: string; width: number } {
  // Nobody sees more, and texts may be long.
  const start = text.slice(0, columns * UNITS);
  let shown = '';
  let width = 0;
  /** Where `…` still fits. */
  let short = { text: '', width: 0 };
  for (const { segment } of segmenter.segment(start)) {
    const wide = graphemeWidth(segment);
    if (width + wide > columns) return cutAt(short, columns);
    if (width + wide < columns) short = { text: shown + few(segment), width: width + wide };
    shown += few(segment);
    width += wide;
  }
  return start.length < text.length ? cutAt(short, columns) : { text: shown, width };
}

function cutAt({ text, width }: { text: string; width: number }, columns: number) {
  return columns < 1 ? { text: '', width: 0 } : { text: `${text}…`, width: width + 1 };
}

/** Cut or filled to exactly so many columns. */
export function filled(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const cut = cutTo(text, columns);
  const space = ' '.repeat(Math.max(0, columns - cut.width));
  return align === 'right' ? space + cut.text : cut.text + space;
}

/** Lines of so many columns, broken behind a space where there is one: ids stay whole. Nothing is lost. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    let shown = '';
    let width = 0;
    for (const { segment } of segmenter.segment(line)) {
      const wide = graphemeWidth(segment);
      if (width + wide > columns && shown !== '') {
        const at = shown.lastIndexOf(' ') + 1;
        const whole = shown.slice(0, at).trim() === '' || segment === ' ' ? shown.length : at;
        lines.push(shown.slice(0, whole));
        shown = shown.slice(whole);
        width = widthOf(shown);
      }
      shown += few(segment);
      width += wide;
    }
    lines.push(shown);
  }
  return lines;
}

function few(grapheme: string): string {
  return grapheme.length <= UNITS ? grapheme : [...grapheme].slice(0, MARKS_MAX).join('');
}
