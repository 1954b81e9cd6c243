-- API keys, links that are shown again and letters are encrypted under the key in data_key. Code does it at the next start,
-- in the transaction that writes that row, because SQL has no such functions; other names keep older programs from
-- writing them in clear.
CREATE TABLE data_key (
    one BIGINT PRIMARY KEY NOT NULL CHECK (one = 1),
    -- Null while key_data is not encrypted itself.
    salt TEXT,
    key_data TEXT NOT NULL
);

ALTER TABLE credential RENAME COLUMN api_key TO encrypted_key;
ALTER TABLE credential ADD COLUMN key_hash TEXT;
CREATE UNIQUE INDEX credential_key_hash ON credential (key_hash);

ALTER TABLE invitation_link RENAME COLUMN secret TO encrypted_secret;
ALTER TABLE outgoing_mail RENAME COLUMN document TO encrypted_document;
