-- A queue is a row: any node serves it, and it outlives them all.
CREATE TABLE queue (
    id TEXT PRIMARY KEY NOT NULL,
    user_id BIGINT NOT NULL REFERENCES account (id),
    filter TEXT NOT NULL,
    acknowledged BIGINT NOT NULL,
    seen_s BIGINT NOT NULL,
    idle_limit_s BIGINT NOT NULL
);
