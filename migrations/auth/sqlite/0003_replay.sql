-- Nonces are remembered until they expire. There is one row per token request, so rows are
-- dropped by the table, never deleted: each table holds the hours whose number modulo 3 is its own.
CREATE TABLE replay_0 (
    nonce BLOB PRIMARY KEY NOT NULL,
    expires BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE replay_1 (
    nonce BLOB PRIMARY KEY NOT NULL,
    expires BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE replay_2 (
    nonce BLOB PRIMARY KEY NOT NULL,
    expires BIGINT NOT NULL
) WITHOUT ROWID;
