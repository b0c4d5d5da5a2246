/** Text between tags, and in attributes with double quotes. What XML cannot hold at all is refused by `fileText`. */
export function xmlText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
