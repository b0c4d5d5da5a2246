-- The writer counts what waits and runs for itself, once for each commit and place of the queue (`queue-counts.ts`).
DROP TRIGGER tasks_counted_new;
DROP TRIGGER tasks_counted_change;
