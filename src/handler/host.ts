/**
 * Entry of a child process that runs handlers. Started by the agent alone, with its role in the environment and
 * its channel on a file descriptor of its own; ends at once, with everything it has started, when the channel
 * closes. Role `host`: loads one handler and runs one call of it at a time; `shared`: any number. Role `probe`: loads handlers one
 * after the other and tells what they declare.
 */
import { openChannel } from './channel.ts';
import { serveCalls } from './host-calls.ts';
import { serveProbes } from './host-probe.ts';
import { resolveOwnPackage } from './own-package.ts';
import { importAll, importsIn, wordsOf } from './preload.ts';
import {
  CACHE_VARIABLE,
  NODE_CACHE_VARIABLE,
  ROLE_VARIABLE,
  RUN_AS_NODE_VARIABLE,
} from './protocol.ts';
import { serveSharedCalls } from './shared-calls.ts';

const role = process.env[ROLE_VARIABLE];
delete process.env[ROLE_VARIABLE];
// Node has read it by now; what the handler starts has caches of its own.
if (process.env[CACHE_VARIABLE]) delete process.env[NODE_CACHE_VARIABLE];
delete process.env[CACHE_VARIABLE];
const inside = process.getBuiltinModule('node:sea')?.isSea() === true;
const first = inside ? importsIn(wordsOf(process.env.NODE_OPTIONS)) : [];
if (inside) process.env[RUN_AS_NODE_VARIABLE] = '1';

// The agent always reads: a writer waits for it and loses nothing. Else a full pipe is an error (EAGAIN) for
// whoever writes to the file descriptor itself.
for (const stream of [process.stdout, process.stderr]) {
  (stream as { _handle?: { setBlocking?(on: boolean): void } })._handle?.setBlocking?.(true);
}

if (role === 'host' || role === 'shared' || role === 'probe') {
  // `performance` is a part of Node that it loads when it is first asked for: 0.6 MiB of each host. Bound here, before a handler
  // that tests with false timers puts its own in its place.
  const hrtime = process.hrtime.bind(process);
  const monotonicMs = () => {
    const [seconds, nanoseconds] = hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  };
  resolveOwnPackage();
  // One that fails ends the process, as it does in Node.
  void importAll(first).then(() => serve(monotonicMs));
} else {
  process.stderr.write('This program is started by interlock-worker and does nothing by itself.\n');
  process.exit(64);
}

function serve(monotonicMs: () => number): void {
  if (role === 'host') serveCalls(openChannel(), monotonicMs);
  else if (role === 'shared') serveSharedCalls(openChannel(), monotonicMs);
  else {
    // Node's own frames of a require() that fails fill the usual ten, and the user's line would be cut off.
    Error.stackTraceLimit = 40;
    serveProbes(openChannel());
  }
}
