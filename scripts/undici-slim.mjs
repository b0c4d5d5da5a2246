// The part of undici that we use. Its index also loads mocks, caches, interceptors and web sockets: half a megabyte of
// source that every agent would keep in memory. `scripts/build.mjs` puts this file in the place of `undici`.
export { default as Agent } from '../node_modules/undici/lib/dispatcher/agent.js';
export { fetch } from '../node_modules/undici/lib/web/fetch/index.js';
