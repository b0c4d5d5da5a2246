/**
 * What happened, for the people who run it. `event` is a stable, dotted, lower-case name
 * (`claim.refused`); `fields` hold ids and numbers; `text` is the sentence a person reads.
 * A log redacts what is secret by name (`leaseToken`, `key`, `authorization`) and by form (`il_…`).
 * It never throws and never blocks: a closed pipe or a full disk loses lines, not the daemon.
 */
export interface Log {
  debug(event: string, text: string, fields?: LogFields): void;
  info(event: string, text: string, fields?: LogFields): void;
  warn(event: string, text: string, fields?: LogFields): void;
  error(event: string, text: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
