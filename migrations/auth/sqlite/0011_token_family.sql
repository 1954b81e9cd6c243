-- Tokens live and die by their family, and a family by its grant. A refresh token stays until it
-- expires, used or not: whoever presents it again has it from somewhere.
CREATE TABLE token_family (
    id TEXT PRIMARY KEY NOT NULL,
    client_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    grant_id TEXT REFERENCES member_grant (id) ON DELETE CASCADE,
    credential BLOB NOT NULL,
    authorization_json TEXT NOT NULL,
    created_s BIGINT NOT NULL,
    expires_s BIGINT NOT NULL,
    revoked_s BIGINT
) WITHOUT ROWID;

CREATE INDEX token_family_grant ON token_family (grant_id);

CREATE INDEX token_family_client ON token_family (client_id) WHERE grant_id IS NULL;

CREATE INDEX token_family_user ON token_family (user_id) WHERE grant_id IS NULL;

CREATE INDEX token_family_expires ON token_family (expires_s);

CREATE TABLE refresh_token (
    hash BLOB PRIMARY KEY NOT NULL,
    family_id TEXT NOT NULL,
    issued_s BIGINT NOT NULL,
    expires_s BIGINT NOT NULL,
    used_s BIGINT
) WITHOUT ROWID;

CREATE INDEX refresh_token_expires ON refresh_token (expires_s);
