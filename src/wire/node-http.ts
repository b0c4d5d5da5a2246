/**
 * Node's HTTP, by `require`: an `import` of that module reads all its exports, `WebSocket` and others among them, for
 * which Node loads its own fetch with HTTP/2 and all that belongs to it. That costs an agent 13 MB.
 */
import { createRequire } from 'node:module';

export const { Agent, createServer, request }: typeof import('node:http') = createRequire(
  import.meta.url,
)('node:http');
