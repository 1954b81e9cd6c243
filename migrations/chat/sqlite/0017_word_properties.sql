-- The index of words keeps recipient, sender and topic of a message as well, so that a search within a channel costs as
-- much as it finds. Every message is taken into it again, in steps, while the server runs.
UPDATE words_backlog SET done = 0, last = (SELECT coalesce(max(id), 0) FROM message);
