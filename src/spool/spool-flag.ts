/** ` --spool /var/lib/…`, as a shell takes it: what is printed with it runs as printed. */
export function spoolFlag(folder: string): string {
  const plain = /^[\w@%+=:,./~-]+$/.test(folder);
  return ` --spool ${plain ? folder : `'${folder.replaceAll("'", "'\\''")}'`}`;
}
