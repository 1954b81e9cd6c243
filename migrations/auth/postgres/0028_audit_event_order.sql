-- Audit events are read newest first, and those of one moment by id: what is written together has one time. The tables
-- of other types have such an index already.
CREATE INDEX IF NOT EXISTS auditevent_at ON auditevent (ts, id);

DROP INDEX auditevent_ts;
