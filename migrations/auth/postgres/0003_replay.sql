-- Nonces are remembered until they expire. There is one row per token request, so rows are
-- dropped by the table, never deleted: each table holds the hours whose number modulo 3 is its own.
CREATE TABLE replay_0 (
    nonce BYTEA PRIMARY KEY,
    expires BIGINT NOT NULL
);

CREATE TABLE replay_1 (
    nonce BYTEA PRIMARY KEY,
    expires BIGINT NOT NULL
);

CREATE TABLE replay_2 (
    nonce BYTEA PRIMARY KEY,
    expires BIGINT NOT NULL
);
