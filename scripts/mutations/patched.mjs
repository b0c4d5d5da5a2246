/** The text of a file with the mutation in it. Throws where the entry does not fit the code any more. */
export function patched({ name, file, find, replace }, text) {
  const times = text.split(find).length - 1;
  if (times !== 1)
    throw new Error(
      `"${name}" does not fit: its text stands ${times} times in ${file}. Mend the entry in scripts/mutations/.`,
    );
  return text.replace(find, () => replace);
}
