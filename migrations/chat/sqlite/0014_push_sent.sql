-- Which messages devices were told of, so that they are told again when these are read or gone. A row outlives its
-- message until then, and nothing longer than the days for which the server keeps rows.
CREATE TABLE push_sent (
    user_id BIGINT NOT NULL REFERENCES account (id),
    message_id BIGINT NOT NULL,
    at_s BIGINT NOT NULL,
    PRIMARY KEY (user_id, message_id)
);

CREATE INDEX push_sent_message ON push_sent (message_id);
CREATE INDEX push_sent_at ON push_sent (at_s);
