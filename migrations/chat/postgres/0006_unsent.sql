-- What is written and not sent: messages that wait for their time, and drafts. Neither is small, and each is its author's
-- alone, so they stand in tables of their own and not in memory.
CREATE TABLE scheduled_message (
    id BIGINT PRIMARY KEY NOT NULL,
    user_id BIGINT NOT NULL REFERENCES account (id),
    channel_id BIGINT,
    users TEXT NOT NULL,
    topic TEXT NOT NULL,
    content TEXT NOT NULL,
    html TEXT NOT NULL,
    client TEXT NOT NULL,
    read_by_sender BIGINT NOT NULL,
    due_s BIGINT NOT NULL,
    failure TEXT,
    revision BIGINT NOT NULL
);

CREATE INDEX scheduled_message_user ON scheduled_message (user_id, due_s);
CREATE INDEX scheduled_message_due ON scheduled_message (due_s) WHERE failure IS NULL;

CREATE TABLE draft (
    id BIGINT PRIMARY KEY NOT NULL,
    user_id BIGINT NOT NULL REFERENCES account (id),
    document TEXT NOT NULL
);

CREATE INDEX draft_user ON draft (user_id, id);
