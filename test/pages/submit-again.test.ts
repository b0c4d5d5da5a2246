import { expect, it } from 'vitest';
import type { TaskView } from '../../src/contract/index.ts';
import { fieldsOf } from '../../src/core/input-fields.ts';
import { againForm } from '../../src/pages/submit-again.ts';

/** A form that holds what a task was submitted with. */
const task = (input: unknown) =>
  ({ input, labels: { a: '1', b: 'x=y' }, priority: 5, pool: 'gpu' }) as unknown as TaskView;
const fields = fieldsOf({
  properties: {
    name: { type: 'string' },
    count: { type: 'integer' },
    loud: { type: 'boolean' },
    size: { type: 'integer', default: 7 },
  },
});
const filled = (input: unknown, pool?: string) =>
  Object.fromEntries(againForm(task(input), fields, { pool }));

it('has each property in its field, and none where none was given, whatever its preset', () => {
  expect(filled({ name: 'Ada', count: 2, loud: true })).toEqual({
    'in.name': 'Ada',
    'in.count': '2',
    'in.loud': 'true',
    'in.size': '',
    pool: 'gpu',
    priority: '5',
    labels: 'a=1\nb=x=y',
  });
  expect(filled({}, 'default').pool).toBe('default');
});

it.each([{ name: 7 }, { name: 'Ada', other: 1 }, { name: '' }, [1], null])(
  'has the whole input as JSON where the fields cannot hold it: %j',
  (input) => {
    const form = filled(input);
    expect(JSON.parse(form.json ?? '')).toEqual(input);
    expect(form['in.name']).toBeUndefined();
  },
);
