/** One line for a person: `12:03:44.120 WARN  The sentence.  claim.refused workerId=garage status=401`. */
export function textLine(record: Record<string, unknown>, colour: boolean): string {
  const { time, level, event, msg, ...fields } = record;
  const paint = (code: string, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const clock = String(time).slice(11, 23);
  const word = String(level).toUpperCase().padEnd(5);
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  const tail = [String(event), ...rest].join(' ');
  return `${paint('2', clock)} ${paint(COLOURS[String(level)] ?? '0', word)} ${plain(String(msg))}  ${paint('2', tail)}\n`;
}

const COLOURS: Record<string, string> = { debug: '2', info: '32', warn: '33', error: '31' };

function shown(value: unknown): string {
  if (typeof value !== 'string') return plain(JSON.stringify(value) ?? '');
  return /^[^\s"=\\]+$/.test(value) ? plain(value) : plain(JSON.stringify(value));
}

/** No line breaks and no control characters: what a task prints must not paint on an operator's terminal. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '�');
}
