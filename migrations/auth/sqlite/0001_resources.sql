-- Resources live one table per type, because users' own SQL addresses them that way.
-- A type that is not named here gets the same two tables with its first write.
-- `txid` is the version: one number per write, of whatever resource. `ts` is unix microseconds.
CREATE TABLE transaction_id_seq (
    last_value BIGINT NOT NULL
);

INSERT INTO transaction_id_seq (last_value) VALUES (0);

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
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE client_history (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);

CREATE TABLE "user" (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE "user_history" (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);

CREATE TABLE organization (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE organization_history (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);

CREATE TABLE accesspolicy (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE accesspolicy_history (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);
