-- Subscriptions no longer refer to channels and accounts by foreign keys. Accounts and channels are never deleted, and
-- subscriptions are written only in the transaction that holds the head of the log, so the keys could refuse nothing.
-- SQLite cannot drop a foreign key, so the tables are written anew, now in one tree each.
CREATE TABLE subscription_new (
    channel_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (channel_id, user_id)
) WITHOUT ROWID;
INSERT INTO subscription_new (channel_id, user_id, document)
SELECT channel_id, user_id, document FROM subscription ORDER BY channel_id, user_id;
DROP TABLE subscription;
ALTER TABLE subscription_new RENAME TO subscription;

CREATE TABLE subscription_span_new (
    channel_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    after_event BIGINT NOT NULL,
    until_event BIGINT,
    PRIMARY KEY (channel_id, user_id, after_event)
) WITHOUT ROWID;
INSERT INTO subscription_span_new (channel_id, user_id, after_event, until_event)
SELECT channel_id, user_id, after_event, until_event FROM subscription_span ORDER BY channel_id, user_id, after_event;
DROP TABLE subscription_span;
ALTER TABLE subscription_span_new RENAME TO subscription_span;
