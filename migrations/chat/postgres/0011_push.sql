-- Notifications on telephones: the devices people registered, and how far messages were looked through for them.
CREATE TABLE push_device (
    user_id BIGINT NOT NULL REFERENCES account (id),
    kind BIGINT NOT NULL,
    token TEXT NOT NULL,
    app_id TEXT,
    registered_s BIGINT NOT NULL,
    PRIMARY KEY (user_id, kind, token)
);

CREATE TABLE push_turn (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    event_id BIGINT NOT NULL,
    node TEXT NOT NULL,
    until_s BIGINT NOT NULL
);

INSERT INTO push_turn (one, event_id, node, until_s) VALUES (1, 0, '', 0);
