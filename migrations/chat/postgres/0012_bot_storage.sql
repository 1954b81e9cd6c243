-- What programs of bots keep, and how many characters it is for each: the bound holds under a lock on that row.
CREATE TABLE bot_storage_size (
    user_id BIGINT PRIMARY KEY NOT NULL REFERENCES account (id),
    chars BIGINT NOT NULL
);

CREATE TABLE bot_storage (
    user_id BIGINT NOT NULL REFERENCES account (id),
    item_key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (user_id, item_key)
);
