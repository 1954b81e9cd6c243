-- The server's own signing keys and secrets are shared by all of its nodes.
CREATE TABLE signing_key (
    kid TEXT PRIMARY KEY NOT NULL,
    alg TEXT NOT NULL,
    public_jwk TEXT NOT NULL,
    private_key BYTEA NOT NULL,
    sealed BOOLEAN NOT NULL,
    created_s BIGINT NOT NULL,
    signs_from_s BIGINT NOT NULL,
    retired_s BIGINT
);

CREATE TABLE server_secret (
    name TEXT PRIMARY KEY NOT NULL,
    value BYTEA NOT NULL
);
