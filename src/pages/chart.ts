import { type Html, html } from './html.ts';

/** Small charts, made here: no script, no style of their own. Whoever cannot see them gets the sentence and the numbers beside them. */

/** Two values on top of each other. */
export interface ChartBar {
  readonly low: number;
  readonly high: number;
}

const BAR = 4;
const GAP = 1;
const HEIGHT = 40;

/** What stands at its edges, for the eye: the sentence beside it says it to all. */
export interface ChartLabels {
  /** The highest value. */
  readonly most: string;
  readonly from: string;
}

/** @param says what it shows, as a sentence. @param kind of its colours: what the upper part stands for. */
export function chart(
  bars: readonly ChartBar[],
  kind: 'outcomes' | 'latency',
  says: string,
  labels: ChartLabels,
): Html {
  const most = Math.max(...bars.map(({ low, high }) => low + high), 0);
  const width = bars.length * BAR;
  // Nothing at all is a flat line; what is there can be seen.
  const scaled = (value: number) =>
    value <= 0 || most <= 0 ? 0 : Math.max(1, Math.round((value / most) * HEIGHT * 10) / 10);
  const drawn = bars.flatMap(({ low, high }, i) => {
    const [lower, upper] = [scaled(low), scaled(high)];
    const part = (name: string, height: number, top: number) =>
      height > 0 &&
      html`<rect class="${name}" x="${i * BAR}" y="${top.toFixed(1)}" width="${BAR - GAP}" height="${height}"/>`;
    return [
      part('low', lower, HEIGHT - lower),
      part('high', upper, Math.max(0, HEIGHT - lower - upper)),
    ];
  });
  return html`<div class="plot"><div class="edge" aria-hidden="true">${labels.most}</div><svg class="chart ${kind}" role="img" aria-label="${says}" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none">${drawn}</svg><div class="edge ends" aria-hidden="true"><span>${labels.from}</span><span>now</span></div></div>`;
}
