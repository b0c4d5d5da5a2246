-- What a key may do, until when, and when it was used last. Revoked ones stay: the journal names them.
ALTER TABLE keys ADD COLUMN expires_at INTEGER;
ALTER TABLE keys ADD COLUMN revoked_at INTEGER;
ALTER TABLE keys ADD COLUMN last_used_at INTEGER;
ALTER TABLE keys ADD COLUMN limits TEXT;

CREATE INDEX keys_list ON keys (project, id);
-- Counted once a second: another process may revoke keys beside a running control plane.
CREATE INDEX keys_revoked ON keys (id) WHERE revoked_at IS NOT NULL;
