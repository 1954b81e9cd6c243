-- Searches ask what changed since a moment, and histories are read newest first. The tables of a further type have
-- such indexes from the beginning.
CREATE INDEX IF NOT EXISTS organization_at ON organization (ts, id);

CREATE INDEX IF NOT EXISTS patient_at ON patient (ts, id);

CREATE INDEX IF NOT EXISTS coverage_at ON coverage (ts, id);

CREATE INDEX IF NOT EXISTS consent_at ON consent (ts, id);

CREATE INDEX IF NOT EXISTS patient_history_at ON patient_history (ts, txid);

CREATE INDEX IF NOT EXISTS coverage_history_at ON coverage_history (ts, txid);

CREATE INDEX IF NOT EXISTS consent_history_at ON consent_history (ts, txid);
