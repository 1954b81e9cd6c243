-- Exports and member matches outlive the request that asks for them: jobs are rows, and so is what they make. No
-- resource type has an underscore in its name, so none takes a table of ours.
CREATE TABLE bulk_job (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
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
    job_id TEXT COLLATE "C" NOT NULL REFERENCES bulk_job (id) ON DELETE CASCADE,
    file TEXT COLLATE "C" NOT NULL,
    part BIGINT NOT NULL,
    resources BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (job_id, file, part)
);

-- Read once or twice and deleted: packing it would cost more than it saves.
ALTER TABLE bulk_job_part ALTER COLUMN content SET STORAGE EXTERNAL;

-- Members are found by what the asking payer knows of them. Hash indexes, because whatever users' own SQL puts
-- there has no longest length.
CREATE TABLE IF NOT EXISTS patient (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE IF NOT EXISTS patient_history (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('patient', 'Patient') ON CONFLICT DO NOTHING;

CREATE INDEX patient_birth_date ON patient USING hash ((resource ->> 'birthDate'));

CREATE TABLE IF NOT EXISTS coverage (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE IF NOT EXISTS coverage_history (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('coverage', 'Coverage') ON CONFLICT DO NOTHING;

CREATE INDEX coverage_subscriber ON coverage USING hash ((resource ->> 'subscriberId'));

CREATE TABLE IF NOT EXISTS consent (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq'),
    ts TIMESTAMPTZ NOT NULL DEFAULT now(),
    resource JSONB NOT NULL
);

CREATE TABLE IF NOT EXISTS consent_history (
    id TEXT COLLATE "C" NOT NULL,
    txid BIGINT NOT NULL,
    ts TIMESTAMPTZ NOT NULL,
    op TEXT NOT NULL,
    resource JSONB NOT NULL,
    PRIMARY KEY (id, txid)
);

INSERT INTO resource_type (table_name, name) VALUES ('consent', 'Consent') ON CONFLICT DO NOTHING;

CREATE INDEX consent_patient_id ON consent USING hash ((resource -> 'patient' ->> 'id'));

CREATE INDEX consent_patient_reference ON consent USING hash ((resource -> 'patient' ->> 'reference'));

CREATE INDEX consent_patient_uri ON consent USING hash ((resource -> 'patient' ->> 'uri'));
