-- Reminders of messages wait for their time. Each is its user's alone and is sent once, as scheduled messages are, but it has
-- no destination to choose, cannot fail and is never edited, so it has a table of its own.
CREATE TABLE reminder (
    id BIGINT PRIMARY KEY NOT NULL,
    user_id BIGINT NOT NULL REFERENCES account (id),
    message_id BIGINT NOT NULL,
    note TEXT NOT NULL,
    content TEXT NOT NULL,
    html TEXT NOT NULL,
    due_s BIGINT NOT NULL
);

CREATE INDEX reminder_user ON reminder (user_id, due_s);
CREATE INDEX reminder_due ON reminder (due_s);
