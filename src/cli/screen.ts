import type { ReadStream, WriteStream } from 'node:tty';

/** A terminal that is drawn on as a whole. */
export interface Screen {
  readonly size: { readonly columns: number; readonly rows: number };
  /** Takes the whole terminal until `close`. */
  open(listener: ScreenListener): OpenScreen;
}

export interface ScreenListener {
  typed(text: string): void;
  resized(): void;
  /** A signal asks to end, or the terminal has gone. */
  ended(signal: NodeJS.Signals | undefined): void;
}

export interface OpenScreen {
  /** @param lines from the top; what was there before is gone. */
  draw(lines: readonly string[]): void;
  /** As it was before, with what was on it. Twice is fine. */
  close(): void;
}

/** Another screen, the cursor hidden, lines that are too wide are cut by the terminal too. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The terminal of this process; `undefined` where there is none on both sides. */
export function systemScreen(
  stdin: ReadStream,
  stdout: WriteStream,
  env: Readonly<Record<string, string | undefined>>,
): Screen | undefined {
  if (!stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') return undefined;
  return {
    get size() {
      return { columns: stdout.columns || 80, rows: stdout.rows || 24 };
    },
    open: (listener) => opened(stdin, stdout, listener),
  };
}

function opened(stdin: ReadStream, stdout: WriteStream, listener: ScreenListener): OpenScreen {
  const typed = (text: string) => listener.typed(text);
  const resized = () => listener.resized();
  const gone = () => listener.ended(undefined);
  const asked = new Map(SIGNALS.map((signal) => [signal, () => listener.ended(signal)]));
  let open = true;
  const close = () => {
    if (!open) return;
    open = false;
    stdin.off('data', typed);
    stdin.off('end', gone);
    stdout.off('resize', resized);
    process.off('exit', close);
    process.off('uncaughtExceptionMonitor', close);
    for (const [signal, end] of asked) process.off(signal, end);
    try {
      stdin.setRawMode(false);
      stdout.write(LEAVE);
    } catch {
      // The terminal has gone.
    }
    stdin.pause();
  };
  stdin.setEncoding('utf8');
  stdin.setRawMode(true);
  stdin.on('data', typed);
  stdin.on('end', gone);
  stdin.resume();
  stdout.on('resize', resized);
  // However it ends, the terminal is given back, so that the words of the end are read.
  process.on('exit', close);
  process.on('uncaughtExceptionMonitor', close);
  for (const [signal, end] of asked) process.on(signal, end);
  stdout.write(ENTER);
  return {
    draw: (lines) => {
      if (!open) return;
      // In one write, from the top: nothing flickers.
      const text = lines.map((line) => `${line}\u001b[0m\u001b[K`).join('\r\n');
      stdout.write(`\u001b[H${text}\u001b[J`);
    },
    close,
  };
}
