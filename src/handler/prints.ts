import type { HostCall } from './host-call.ts';

const nextTick = process.nextTick.bind(process);

/**
 * What is printed to the streams of the process goes to the log of a call, as lines.
 *
 * @param callOf whose it is; `undefined`: it goes where it was written to, as after the end of a call.
 */
export function printsGoTo(callOf: () => HostCall | undefined): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = process[name];
    const write = stream.write.bind(stream) as (...words: unknown[]) => boolean;
    const toCall = (chunk: unknown, ...rest: unknown[]): boolean => {
      const by = callOf();
      if (by === undefined || by.over || !by.printed(name, chunk, rest[0]))
        return write(chunk, ...rest);
      const told = rest.find((word) => typeof word === 'function');
      if (told !== undefined) nextTick(told as () => void);
      return true;
    };
    stream.write = toCall as typeof stream.write;
  }
}
