-- A code is used once, and so is a launch; both are known by a row until they expire.
CREATE TABLE authorization_code (
    hash BLOB PRIMARY KEY NOT NULL,
    client_id TEXT NOT NULL,
    family_id TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    authorization_json TEXT NOT NULL,
    expires_s BIGINT NOT NULL,
    used_s BIGINT
) WITHOUT ROWID;

CREATE INDEX authorization_code_expires ON authorization_code (expires_s);

CREATE TABLE launch_use (
    jti TEXT PRIMARY KEY NOT NULL,
    expires_s BIGINT NOT NULL
) WITHOUT ROWID;

CREATE INDEX launch_use_expires ON launch_use (expires_s);
