/** `input.items[3]` from the name of the whole and the path below it. */
export function rooted(root: string, path: string): string {
  if (path === '') return root;
  return path.startsWith('[') ? `${root}${path}` : `${root}.${path}`;
}
