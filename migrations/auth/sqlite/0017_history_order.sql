-- A history is read newest first. The table of a further type has such an index from the beginning.
CREATE INDEX IF NOT EXISTS client_history_at ON client_history (ts, txid);

CREATE INDEX IF NOT EXISTS user_history_at ON "user_history" (ts, txid);

CREATE INDEX IF NOT EXISTS organization_history_at ON organization_history (ts, txid);

CREATE INDEX IF NOT EXISTS accesspolicy_history_at ON accesspolicy_history (ts, txid);

CREATE INDEX IF NOT EXISTS auditevent_history_at ON auditevent_history (ts, txid);

DROP INDEX auditevent_history_ts;
