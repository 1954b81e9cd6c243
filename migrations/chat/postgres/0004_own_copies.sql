-- What users made of messages: rare flags as rows, what they read as a mark and a compressed set beyond it.
CREATE TABLE message_flag (
    user_id BIGINT NOT NULL REFERENCES account (id),
    flag BIGINT NOT NULL,
    message_id BIGINT NOT NULL REFERENCES message (id),
    PRIMARY KEY (user_id, flag, message_id)
);

CREATE INDEX message_flag_message ON message_flag (message_id);

-- Every message of the recipient up to all_until is read, and beyond it those in the set.
CREATE TABLE read_set (
    user_id BIGINT NOT NULL REFERENCES account (id),
    recipient_id BIGINT NOT NULL,
    all_until BIGINT NOT NULL,
    messages BYTEA NOT NULL,
    PRIMARY KEY (user_id, recipient_id)
);

CREATE INDEX read_set_recipient ON read_set (recipient_id);
