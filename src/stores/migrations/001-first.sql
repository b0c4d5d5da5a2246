-- Instants are whole milliseconds since 1970. `ref` is the short name of a row within the store.

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  ref INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  type TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  pool TEXT NOT NULL,
  priority INTEGER NOT NULL,
  labels TEXT NOT NULL,
  effect_key TEXT NOT NULL,
  idempotency_key TEXT,
  request_hash TEXT,
  traceparent TEXT,
  created_at INTEGER NOT NULL,
  not_before INTEGER,
  rank INTEGER NOT NULL,
  policy TEXT NOT NULL,
  status TEXT NOT NULL,
  -- Of a queued task: its time has come and it stands in the claim index.
  ready INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  deadline INTEGER,
  queued_at INTEGER NOT NULL,
  available_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  permitted INTEGER NOT NULL,
  undelivered INTEGER NOT NULL,
  losses INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  attempt_id TEXT,
  worker_id TEXT,
  cancel_requested INTEGER NOT NULL,
  cancel_reason TEXT,
  operator_seq INTEGER NOT NULL,
  operator_fence INTEGER NOT NULL,
  error TEXT,
  progress TEXT,
  late_report TEXT,
  attention INTEGER NOT NULL,
  due_at INTEGER
) STRICT;

CREATE UNIQUE INDEX tasks_idempotency ON tasks (project, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Claims: one range per pool, type and version, in the order of the rank.
CREATE INDEX tasks_claim ON tasks (project, pool, type, schema_version, rank) WHERE status = 'queued' AND ready = 1;
CREATE INDEX tasks_waiting ON tasks (available_at) WHERE status = 'queued' AND ready = 0;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_list ON tasks (project, status, id);
CREATE INDEX tasks_attention ON tasks (project, status, id) WHERE attention = 1;

-- How many wait and run, so that nobody counts a long queue. Kept by the two triggers.
CREATE TABLE queue_counts (
  project TEXT NOT NULL,
  pool TEXT NOT NULL,
  type TEXT NOT NULL,
  schema_version INTEGER NOT NULL,
  queued INTEGER NOT NULL,
  running INTEGER NOT NULL,
  PRIMARY KEY (project, pool, type, schema_version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tasks_counted_new AFTER INSERT ON tasks
WHEN new.status IN ('queued', 'running') BEGIN
  INSERT INTO queue_counts (project, pool, type, schema_version, queued, running)
  VALUES (new.project, new.pool, new.type, new.schema_version, new.status = 'queued', new.status = 'running')
  ON CONFLICT DO UPDATE SET queued = queued + excluded.queued, running = running + excluded.running;
END;

CREATE TRIGGER tasks_counted_change AFTER UPDATE OF status ON tasks
WHEN old.status <> new.status BEGIN
  INSERT INTO queue_counts (project, pool, type, schema_version, queued, running)
  VALUES (new.project, new.pool, new.type, new.schema_version, new.status = 'queued', new.status = 'running')
  ON CONFLICT DO UPDATE SET
    queued = queued + excluded.queued - (old.status = 'queued'),
    running = running + excluded.running - (old.status = 'running');
END;

-- Large values apart, so that a change of the task does not write them again.
CREATE TABLE inputs (task INTEGER PRIMARY KEY REFERENCES tasks (ref), json TEXT NOT NULL) STRICT;
CREATE TABLE results (task INTEGER PRIMARY KEY REFERENCES tasks (ref), json TEXT NOT NULL) STRICT;
CREATE TABLE checkpoints (task INTEGER PRIMARY KEY REFERENCES tasks (ref), json TEXT NOT NULL) STRICT;

CREATE TABLE attempts (
  ref INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  task INTEGER NOT NULL REFERENCES tasks (ref),
  project TEXT NOT NULL,
  fence INTEGER NOT NULL,
  number INTEGER NOT NULL,
  worker_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  effect_safety TEXT NOT NULL,
  effect_gate TEXT NOT NULL,
  lease_ms INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  state TEXT NOT NULL,
  counted_at INTEGER,
  start_accepted INTEGER NOT NULL,
  effect_accepted INTEGER NOT NULL,
  progress_n INTEGER NOT NULL,
  log_n INTEGER NOT NULL,
  ended_at INTEGER,
  end_op TEXT,
  end_hash TEXT,
  late_op TEXT,
  late_hash TEXT
) STRICT;

CREATE INDEX attempts_open ON attempts (project, worker_id) WHERE ended_at IS NULL;

CREATE TABLE events (
  task INTEGER NOT NULL REFERENCES tasks (ref),
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  attempt_id TEXT,
  fence INTEGER,
  by TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE logs (
  task INTEGER NOT NULL REFERENCES tasks (ref),
  n INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  at TEXT NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (task, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_sizes (
  task INTEGER PRIMARY KEY REFERENCES tasks (ref),
  last_n INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  chars INTEGER NOT NULL
) STRICT;

CREATE TABLE actions (
  ref INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks (ref),
  action_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (task, action_id)
) STRICT;

CREATE TABLE workers (
  ref INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  last_seen INTEGER NOT NULL,
  drain_session_id TEXT,
  present TEXT,
  handlers TEXT,
  UNIQUE (project, worker_id)
) STRICT;

CREATE TABLE sessions (
  ref INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  superseded INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  UNIQUE (project, worker_id, session_id)
) STRICT;

CREATE TABLE claims (
  ref INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  attempts TEXT NOT NULL,
  UNIQUE (project, worker_id, session_id, request_id)
) STRICT;
