/** Reach the bundle as their text: `import first from './migrations/0001-first.sql'`. */
declare module '*.sql' {
  const text: string;
  export default text;
}

declare module '*.md' {
  const text: string;
  export default text;
}

/** What runs in a browser: it is served as it is written. */
declare module '*.client.js' {
  const text: string;
  export default text;
}

/** Calls `leave` when the process ends, also by a signal that nobody hears; returns how to take that back. */
declare module 'signal-exit' {
  export default function onExit(leave: () => void): () => void;
}
