-- One row per message, whatever the number of its receivers.
-- A recipient is a channel (even) or a set of users (odd).
CREATE TABLE message (
    id BIGINT PRIMARY KEY NOT NULL,
    sender_id BIGINT NOT NULL REFERENCES account (id),
    recipient_id BIGINT NOT NULL,
    topic TEXT NOT NULL,
    topic_key TEXT COLLATE "C" NOT NULL,
    content TEXT NOT NULL,
    html TEXT NOT NULL,
    sent_s BIGINT NOT NULL,
    client TEXT NOT NULL,
    marks BIGINT NOT NULL,
    last_edit_s BIGINT,
    revision BIGINT NOT NULL
);

CREATE INDEX message_recipient ON message (recipient_id, id);
CREATE INDEX message_topic ON message (recipient_id, topic_key, id);
CREATE INDEX message_sender ON message (sender_id, id);

CREATE TABLE direct (
    recipient_id BIGINT PRIMARY KEY NOT NULL,
    users TEXT NOT NULL UNIQUE
);

CREATE TABLE direct_user (
    user_id BIGINT NOT NULL REFERENCES account (id),
    recipient_id BIGINT NOT NULL REFERENCES direct (recipient_id),
    PRIMARY KEY (user_id, recipient_id)
);

CREATE TABLE reaction (
    message_id BIGINT NOT NULL REFERENCES message (id),
    user_id BIGINT NOT NULL REFERENCES account (id),
    kind TEXT NOT NULL,
    code TEXT NOT NULL,
    name TEXT NOT NULL,
    event_id BIGINT NOT NULL,
    PRIMARY KEY (message_id, user_id, kind, code)
);

CREATE TABLE message_edit (
    message_id BIGINT NOT NULL REFERENCES message (id),
    event_id BIGINT NOT NULL,
    at_s BIGINT NOT NULL,
    user_id BIGINT,
    content TEXT,
    html TEXT,
    recipient_id BIGINT NOT NULL,
    to_recipient_id BIGINT NOT NULL,
    topic TEXT NOT NULL,
    to_topic TEXT NOT NULL,
    PRIMARY KEY (message_id, event_id)
);
