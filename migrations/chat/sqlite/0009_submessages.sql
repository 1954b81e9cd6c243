-- What readers add to polls and lists, in rows beside the messages that have them.
CREATE TABLE submessage (
    id BIGINT PRIMARY KEY NOT NULL,
    message_id BIGINT NOT NULL REFERENCES message (id),
    sender_id BIGINT NOT NULL REFERENCES account (id),
    content TEXT NOT NULL
);

CREATE INDEX submessage_message ON submessage (message_id, id);
