/** A command for PowerShell: no shell of Windows but this one takes a text as it is, whatever `&` or blanks are in it. */
export function powershell(script: string): readonly string[] {
  return ['powershell.exe', '-NoProfile', '-NonInteractive', '-Command', script];
}

/** Text between single quotes. It ends at typographic ones too; each of them is meant where it stands twice. */
export function powershellText(text: string): string {
  return `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`;
}
