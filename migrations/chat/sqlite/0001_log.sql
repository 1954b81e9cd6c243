-- The log of the realm, its head, and the realm's state that follows from it.
-- A writer locks the one row of log_head first, so places in the log are given in the order of commits.
CREATE TABLE log_head (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    last_event BIGINT NOT NULL,
    last_change BIGINT NOT NULL,
    last_id BIGINT NOT NULL,
    pruned BIGINT NOT NULL
);

INSERT INTO log_head (one, last_event, last_change, last_id, pruned) VALUES (1, 0, 0, 0, 0);

CREATE TABLE log (
    id BIGINT PRIMARY KEY NOT NULL,
    at_s BIGINT NOT NULL,
    changes TEXT,
    event TEXT
);

CREATE INDEX log_at ON log (at_s);

CREATE TABLE realm (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    document TEXT NOT NULL
);

CREATE TABLE account (
    id BIGINT PRIMARY KEY NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL
);

CREATE TABLE credential (
    user_id BIGINT PRIMARY KEY NOT NULL REFERENCES account (id),
    api_key TEXT UNIQUE,
    password_hash TEXT
);

-- A channel that was closed gives its name back: its key is null then.
CREATE TABLE channel (
    id BIGINT PRIMARY KEY NOT NULL,
    name_key TEXT UNIQUE,
    document TEXT NOT NULL
);

CREATE TABLE subscription (
    channel_id BIGINT NOT NULL REFERENCES channel (id),
    user_id BIGINT NOT NULL REFERENCES account (id),
    document TEXT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
);

-- When users were in channels, as places in the log.
CREATE TABLE subscription_span (
    channel_id BIGINT NOT NULL REFERENCES channel (id),
    user_id BIGINT NOT NULL REFERENCES account (id),
    after_event BIGINT NOT NULL,
    until_event BIGINT,
    PRIMARY KEY (channel_id, user_id, after_event)
);

CREATE TABLE user_group (
    id BIGINT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL
);

CREATE TABLE item (
    kind TEXT NOT NULL,
    id BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (kind, id)
);

CREATE TABLE user_item (
    user_id BIGINT NOT NULL REFERENCES account (id),
    kind TEXT NOT NULL,
    item_key TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (user_id, kind, item_key)
);
