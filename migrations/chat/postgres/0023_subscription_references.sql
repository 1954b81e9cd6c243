-- Subscriptions no longer refer to channels and accounts by foreign keys. Accounts and channels are never deleted, and
-- subscriptions are written only in the transaction that holds the head of the log, so the keys could refuse nothing.
-- They cost 35 of the 55 microseconds that Postgres spent on each user who was put into a channel: one look-up and one
-- lock of a row for each reference.
ALTER TABLE subscription
    DROP CONSTRAINT subscription_channel_id_fkey,
    DROP CONSTRAINT subscription_user_id_fkey;
ALTER TABLE subscription_span
    DROP CONSTRAINT subscription_span_channel_id_fkey,
    DROP CONSTRAINT subscription_span_user_id_fkey;
