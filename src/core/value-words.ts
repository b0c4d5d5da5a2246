/** What somebody gave, in a sentence that refuses it. Never the content of a text: it may be a key in the wrong place. */
export function valueInWords(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'string':
      return value === '' ? 'an empty text' : 'a text';
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'object':
      return 'an object';
    default:
      return `a ${typeof value}`;
  }
}
