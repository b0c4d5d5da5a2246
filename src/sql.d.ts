/** A migration reaches the bundle as its text: `import first from './migrations/0001-first.sql'`. */
declare module '*.sql' {
  const text: string;
  export default text;
}
