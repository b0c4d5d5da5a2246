/**
 * demo/hello@1: greets by name.
 *
 *   input   { "name": "Ada" }             name: 1 to 200 characters
 *   result  { "greeting": "Hello, Ada!" }
 *   errors  INPUT_INVALID                 the input looks otherwise
 *
 * Pure: it changes nothing outside, so it may run as often as anybody likes.
 */
export const effectSafety = 'pure';

export const input = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 1, maxLength: 200 } },
  required: ['name'],
};

export default function hello({ name }: { name: string }): { greeting: string } {
  return { greeting: `Hello, ${name}!` };
}
