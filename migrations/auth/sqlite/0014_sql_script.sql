-- SQL applied on demand, each script once, by the id its author gave it.
CREATE TABLE sql_script (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL,
    applied_us BIGINT NOT NULL,
    sql TEXT NOT NULL
);
