-- Tasks whose lease was lost again and again and that are not over: a page of people asks for them. `losingFrom` in core/defaults.ts.
CREATE INDEX tasks_losing ON tasks (project, id) WHERE losses >= 2 AND status IN ('queued', 'running');
