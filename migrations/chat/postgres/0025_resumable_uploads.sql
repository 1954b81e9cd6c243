-- Uploads that come in several requests: how much of each has come, and the parts that their bytes are in. A part is
-- written down before its bytes are stored, so that bytes without a record do not stay.
CREATE TABLE resumable_upload (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    metadata TEXT NOT NULL,
    length_bytes BIGINT NOT NULL,
    received_bytes BIGINT NOT NULL,
    expires_s BIGINT NOT NULL
);

CREATE INDEX resumable_upload_owner ON resumable_upload (owner_id);

CREATE INDEX resumable_upload_expires ON resumable_upload (expires_s);

CREATE TABLE resumable_upload_part (
    upload_id TEXT NOT NULL,
    name TEXT NOT NULL,
    at_bytes BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    -- Whether its bytes are stored and count.
    is_appended BIGINT NOT NULL,
    PRIMARY KEY (upload_id, name)
);
