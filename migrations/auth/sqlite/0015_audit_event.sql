-- Audit events are forgotten by their time, so it has an index.
CREATE TABLE IF NOT EXISTS auditevent (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS auditevent_history (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('auditevent', 'AuditEvent') ON CONFLICT DO NOTHING;

CREATE INDEX auditevent_ts ON auditevent (ts);

CREATE INDEX auditevent_history_ts ON auditevent_history (ts);
