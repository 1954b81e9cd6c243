-- Exports and member matches outlive the request that asks for them: jobs are rows, and so is what they make. No
-- resource type has an underscore in its name, so none takes a table of ours.
CREATE TABLE bulk_job (
    id TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    work TEXT NOT NULL,
    state TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    turn_us BIGINT NOT NULL,
    holder TEXT,
    held_until_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    progress TEXT NOT NULL,
    done BIGINT NOT NULL,
    ended_us BIGINT,
    failure TEXT
);

CREATE INDEX bulk_job_turn ON bulk_job (turn_us) WHERE ended_us IS NULL;

CREATE INDEX bulk_job_ended ON bulk_job (ended_us) WHERE ended_us IS NOT NULL;

CREATE INDEX bulk_job_owner ON bulk_job (owner) WHERE ended_us IS NULL;

CREATE TABLE bulk_job_part (
    job_id TEXT NOT NULL REFERENCES bulk_job (id) ON DELETE CASCADE,
    file TEXT NOT NULL,
    part BIGINT NOT NULL,
    resources BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (job_id, file, part)
);

-- Members are found by what the asking payer knows of them. Users' own SQL may store what is no JSON, which has none
-- of it.
CREATE TABLE IF NOT EXISTS patient (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS patient_history (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('patient', 'Patient') ON CONFLICT DO NOTHING;

CREATE INDEX patient_birth_date ON patient (CASE WHEN json_valid(resource) THEN resource ->> 'birthDate' END);

CREATE TABLE IF NOT EXISTS coverage (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS coverage_history (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('coverage', 'Coverage') ON CONFLICT DO NOTHING;

CREATE INDEX coverage_subscriber ON coverage (CASE WHEN json_valid(resource) THEN resource ->> 'subscriberId' END);

CREATE TABLE IF NOT EXISTS consent (
    id TEXT PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT 0,
    ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    resource TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS consent_history (
    id TEXT NOT NULL,
    txid BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    op TEXT NOT NULL,
    resource TEXT NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('consent', 'Consent') ON CONFLICT DO NOTHING;

CREATE INDEX consent_patient_id ON consent (CASE WHEN json_valid(resource) THEN resource -> 'patient' ->> 'id' END);

CREATE INDEX consent_patient_reference ON consent (CASE WHEN json_valid(resource) THEN resource -> 'patient' ->> 'reference' END);

CREATE INDEX consent_patient_uri ON consent (CASE WHEN json_valid(resource) THEN resource -> 'patient' ->> 'uri' END);
