-- The stems of a message's words, under its number; `rowid` is what the other engine calls it.
CREATE TABLE message_words (
    rowid BIGINT PRIMARY KEY,
    words TSVECTOR NOT NULL
);

CREATE INDEX message_words_words ON message_words USING gin (words);

-- Messages that were there before there was this index get into it in steps: those after `done` until `last`.
CREATE TABLE words_backlog (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    done BIGINT NOT NULL,
    last BIGINT NOT NULL
);

INSERT INTO words_backlog (one, done, last) SELECT 1, 0, coalesce(max(id), 0) FROM message;
