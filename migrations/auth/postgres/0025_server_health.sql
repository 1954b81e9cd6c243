-- A row that is written to find out whether the database takes writes: a disk that is full is not seen by reading.
CREATE TABLE server_health (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    probes BIGINT NOT NULL
);

INSERT INTO server_health (one, probes) VALUES (1, 0);
