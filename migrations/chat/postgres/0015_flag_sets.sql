-- What users mark for themselves, stars and what they folded away: the messages of 1,024 numbers that follow each other
-- are one row, because a row each, with what it refers to, made many marks at once dear.
CREATE TABLE flag_set (
    user_id BIGINT NOT NULL REFERENCES account (id),
    flag BIGINT NOT NULL,
    stretch BIGINT NOT NULL,
    messages TEXT NOT NULL,
    PRIMARY KEY (user_id, flag, stretch)
);

CREATE INDEX flag_set_stretch ON flag_set (stretch);

INSERT INTO flag_set (user_id, flag, stretch, messages)
SELECT user_id, flag, message_id / 1024, CAST(json_agg(message_id) AS TEXT)
FROM message_flag WHERE flag IN (1, 2) GROUP BY user_id, flag, message_id / 1024;

DELETE FROM message_flag WHERE flag IN (1, 2);
