-- When users were last there: written in batches in the background, each batch numbered in the order of the commits.
CREATE TABLE presence (
    user_id BIGINT PRIMARY KEY NOT NULL REFERENCES account (id),
    active_s BIGINT NOT NULL,
    connected_s BIGINT NOT NULL,
    batch BIGINT NOT NULL
);

CREATE INDEX presence_batch ON presence (batch);

CREATE TABLE presence_head (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    last_batch BIGINT NOT NULL
);

INSERT INTO presence_head (one, last_batch) VALUES (1, 0);
