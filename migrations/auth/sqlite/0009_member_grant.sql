-- What a person lets an app do for a patient lasts until it is taken back. Without a patient the
-- column is empty and not null, because nulls do not count as the same.
CREATE TABLE member_grant (
    id TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    patient_id TEXT NOT NULL,
    requested TEXT NOT NULL,
    granted TEXT NOT NULL,
    created_s BIGINT NOT NULL,
    used_s BIGINT,
    UNIQUE (user_id, client_id, patient_id)
) WITHOUT ROWID;

CREATE INDEX member_grant_client ON member_grant (client_id);
