import type { TaskView } from '../contract/index.ts';
import { typeKey } from '../contract/type-key.ts';
import type { Field } from '../core/input-fields.ts';
import { address } from './address.ts';
import { type Html, html } from './html.ts';
import { code } from './parts.ts';
import { controlOf } from './submit-request.ts';
import { jsonText } from './tasks/value.ts';

/** The submit form with what a task was submitted with: the way on where the same task would end the same. */

type Place = Pick<TaskView, 'type' | 'schemaVersion' | 'pool'>;

/** @param as another place than the task's, to be sent there. */
export function againAddress({ id }: Pick<TaskView, 'id'>, { type, schemaVersion, pool }: Place) {
  return address('/submit', {}, { type, schemaVersion, pool, from: id });
}

/** `Submit it again as photo/resize@1 in pool default`. */
export function againLink(task: Pick<TaskView, 'id'>, as: Place): Html {
  return html`<a href="${againAddress(task, as)}">Submit it again as ${code(typeKey(as.type, as.schemaVersion))} in pool ${code(as.pool)}</a>`;
}

/**
 * What stands in the form: the task's input, in the fields where each of its properties has one and otherwise as JSON, its
 * labels, priority and pool. Its keys are its own: with the same idempotency key it would be the same task.
 */
export function againForm(
  { input, labels, priority, pool }: TaskView,
  fields: readonly Field[] | undefined,
  asked: { readonly pool: string | undefined },
): URLSearchParams {
  const lines = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return new URLSearchParams({
    ...inputControls(input, fields),
    pool: asked.pool || pool,
    ...(priority !== 0 && { priority: String(priority) }),
    labels: lines.join('\n'),
  });
}

function inputControls(
  input: unknown,
  fields: readonly Field[] | undefined,
): Readonly<Record<string, string>> {
  const whole = { json: jsonText(input) };
  if (fields === undefined || typeof input !== 'object' || input === null || Array.isArray(input))
    return whole;
  const given = new Map(Object.entries(input));
  const controls: Record<string, string> = {};
  for (const field of fields) {
    const text = given.has(field.name) ? textOf(field, given.get(field.name)) : '';
    // A value that its field cannot hold.
    if (text === undefined) return whole;
    // An empty one too, so that no preset takes its place.
    controls[controlOf(field)] = text;
    given.delete(field.name);
  }
  return given.size === 0 ? controls : whole;
}

function textOf({ kind, choices }: Field, value: unknown): string | undefined {
  switch (kind) {
    case 'text':
    case 'long-text':
      return typeof value === 'string' && (kind === 'long-text' || !/[\r\n]/.test(value)) && value
        ? value
        : undefined;
    case 'number':
    case 'integer':
      return typeof value === 'number' ? String(value) : undefined;
    case 'choice': {
      const text = JSON.stringify(value);
      return choices?.some((choice) => choice.value === text) ? text : undefined;
    }
    case 'json':
      return jsonText(value);
  }
}
