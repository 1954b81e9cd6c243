-- Resources live one table per type, because users' own SQL addresses them that way.
-- A type that is not named here gets the same two tables with its first write.
-- `txid` is the version: one number per write, of whatever resource.
CREATE SEQUENCE transaction_id_seq;

-- Which type a table holds. Types that differ in case alone would share a table; the first has it.
CREATE TABLE resource_type (
    table_name TEXT PRIMARY KEY,
    name TEXT NOT NULL
);

INSERT INTO resource_type (table_name, name) VALUES
    ('client', 'Client'),
    ('user', 'User'),
    ('organization', 'Organization'),
    ('accesspolicy', 'AccessPolicy');

CREATE TABLE client (
    id TEXT COLLATE "C" PRIMARY KEY,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE client_history (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);

CREATE TABLE "user" (
    id TEXT COLLATE "C" PRIMARY KEY,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE "user_history" (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);

CREATE TABLE organization (
    id TEXT COLLATE "C" PRIMARY KEY,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE organization_history (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);

CREATE TABLE accesspolicy (
    id TEXT COLLATE "C" PRIMARY KEY,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE accesspolicy_history (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);
