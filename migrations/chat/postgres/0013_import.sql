-- How far an import is that was begun: written with each of its steps, so that one that broke off is taken up again.
CREATE TABLE import_mark (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    source TEXT NOT NULL,
    steps BIGINT NOT NULL,
    is_done BIGINT NOT NULL,
    report TEXT NOT NULL
);
