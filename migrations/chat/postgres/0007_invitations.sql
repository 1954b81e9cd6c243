-- Invitations by mail: letters that wait to be sent, and the secrets of links that are shown again.
CREATE TABLE outgoing_mail (
    event_id BIGINT NOT NULL,
    place BIGINT NOT NULL,
    due_s BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (event_id, place)
);

CREATE INDEX outgoing_mail_due ON outgoing_mail (due_s);

CREATE TABLE invitation_link (
    number BIGINT PRIMARY KEY NOT NULL,
    secret TEXT NOT NULL
);
