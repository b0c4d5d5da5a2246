/** What is wrong with a text as XML, as far as a report can be wrong: tags, attributes, characters. */
export function faultOfXml(text: string): string | undefined {
  const open: string[] = [];
  let rest = text.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/, '');
  if (rest === text) return 'it does not begin with its declaration';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML 1.0 cannot hold
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text))
    return 'it holds a character that XML cannot';
  const tag = /^<(\/?)([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>/;
  while (rest.trim() !== '') {
    const [words = ''] = /^[^<]*/.exec(rest) ?? [];
    const [whole, close, name = '', attributes = '', alone] =
      tag.exec(rest.slice(words.length)) ?? [];
    if (whole === undefined) return `no tag begins at ${rest.slice(words.length, 100)}`;
    if (/&(?!(?:amp|lt|gt|quot);)/.test(words + attributes)) return `a bare & before ${whole}`;
    if (open.length === 0 && words.trim() !== '') return `text outside of all tags: ${words}`;
    if (close && open.pop() !== name) return `${whole} closes another tag`;
    if (!close && !alone) open.push(name);
    rest = rest.slice(words.length + whole.length);
  }
  return open.length === 0 ? undefined : `${open.join(', ')} is never closed`;
}
