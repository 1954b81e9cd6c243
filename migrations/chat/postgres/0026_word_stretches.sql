-- The index of words knows in which stretches of numbers a message is, so that a search for the newest messages with a word
-- need not look at all of them. Every message is taken into it again, in steps, while the server runs.
UPDATE words_backlog SET done = 0, last = (SELECT coalesce(max(id), 0) FROM message);
