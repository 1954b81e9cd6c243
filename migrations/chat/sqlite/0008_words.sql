-- The stems of a message's words, under its number: an index and no copy. They consist of letters and digits, so a
-- tokenizer that knows ASCII alone takes them as they are.
CREATE VIRTUAL TABLE message_words USING fts5 (
    words,
    content = '',
    contentless_delete = 1,
    detail = 'none',
    tokenize = 'ascii'
);

-- Messages that were there before there was this index get into it in steps: those after `done` until `last`.
CREATE TABLE words_backlog (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    done BIGINT NOT NULL,
    last BIGINT NOT NULL
);

INSERT INTO words_backlog (one, done, last) SELECT 1, 0, coalesce(max(id), 0) FROM message;
