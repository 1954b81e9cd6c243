-- Uploaded files, which messages use them, since who may read such a message may read the file, and leave to fetch one.
CREATE TABLE attachment (
    id BIGINT PRIMARY KEY NOT NULL,
    path_id TEXT NOT NULL UNIQUE,
    owner_id BIGINT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    created_s BIGINT NOT NULL,
    -- Of pictures alone.
    width BIGINT,
    height BIGINT,
    is_animated BIGINT
);

CREATE INDEX attachment_owner ON attachment (owner_id, id);

CREATE TABLE attachment_use (
    attachment_id BIGINT NOT NULL REFERENCES attachment (id),
    message_id BIGINT NOT NULL,
    PRIMARY KEY (attachment_id, message_id)
);

CREATE INDEX attachment_use_message ON attachment_use (message_id, attachment_id);

-- What all uploads take together, so that a quota costs no count of them.
CREATE TABLE attachment_total (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    used_bytes BIGINT NOT NULL
);

INSERT INTO attachment_total (one, used_bytes) VALUES (1, 0);

CREATE TABLE file_ticket (
    hash TEXT PRIMARY KEY NOT NULL,
    path_id TEXT NOT NULL,
    until_s BIGINT NOT NULL
);

CREATE INDEX file_ticket_until ON file_ticket (until_s);
