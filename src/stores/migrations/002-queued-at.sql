-- Queued tasks by when they were queued: a start looks for those that lie ahead of its clock.
CREATE INDEX tasks_queued ON tasks (queued_at) WHERE status = 'queued';
