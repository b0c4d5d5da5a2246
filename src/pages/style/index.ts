import { BASE } from './base.ts';
import { CHARTS } from './charts.ts';
import { FORMS } from './forms.ts';
import { LAYOUT } from './layout.ts';
import { PARTS } from './parts.ts';
import { TASKS } from './tasks.ts';

/** One stylesheet for all pages. A page's own rules are a file beside these, and a word in this list. */
export const STYLE = [BASE, LAYOUT, PARTS, FORMS, TASKS, CHARTS].join('\n');
