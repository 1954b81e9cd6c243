-- The index of words knows which messages contain a link, an image or an attachment, so that a common word among few of
-- them costs as much as is found. Every message is taken into it again, in steps, while the server runs.
UPDATE words_backlog SET done = 0, last = (SELECT coalesce(max(id), 0) FROM message);
