-- Opaque tokens are known by a row, and so are the revoked tokens of either kind.
CREATE TABLE opaque_token (
    hash BLOB PRIMARY KEY NOT NULL,
    token_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    claims TEXT NOT NULL,
    expires BIGINT NOT NULL
);

CREATE INDEX opaque_token_expires ON opaque_token (expires);

CREATE TABLE token_revocation (
    token_id TEXT PRIMARY KEY NOT NULL,
    expires BIGINT NOT NULL
);

CREATE INDEX token_revocation_expires ON token_revocation (expires);
