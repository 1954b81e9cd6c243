-- Audit events are forgotten by their time, so it has an index.
CREATE TABLE IF NOT EXISTS auditevent (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE IF NOT EXISTS auditevent_history (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('auditevent', 'AuditEvent') ON CONFLICT DO NOTHING;

CREATE INDEX auditevent_ts ON auditevent (ts);

CREATE INDEX auditevent_history_ts ON auditevent_history (ts);
