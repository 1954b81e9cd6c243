-- A person signs in once and is known again by a cookie, of which only the hash is here.
CREATE TABLE browser_session (
    hash BLOB PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    credential BLOB NOT NULL,
    signed_in_s BIGINT NOT NULL,
    expires_s BIGINT NOT NULL
) WITHOUT ROWID;

CREATE INDEX browser_session_user ON browser_session (user_id);

CREATE INDEX browser_session_expires ON browser_session (expires_s);
