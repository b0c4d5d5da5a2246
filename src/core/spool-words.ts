/** ` --spool /var/lib/…`, as a shell takes it: what is printed with it runs as printed. */
export function spoolFlag(folder: string): string {
  const plain = /^[\w@%+=:,./~-]+$/.test(folder);
  return ` --spool ${plain ? folder : `'${folder.replaceAll("'", "'\\''")}'`}`;
}

/** What shows a refused result on the machine where it is kept. */
export function spoolShowCommand(taskId: string, spool: string | undefined): string {
  const folder = spool === undefined ? '' : spoolFlag(spool);
  return `interlock spool show ${taskId} --full --json${folder}`;
}
