-- Audit events are found by search parameters. Rows of those that are there are made in steps, as for any type.
UPDATE search_state SET revision = revision + 1, last_type = last_type + 1;

INSERT INTO search_type (number, kind, definitions, state, position)
SELECT last_type, 'AuditEvent', definitions, CASE WHEN EXISTS (SELECT 1 FROM auditevent) THEN 'building' ELSE 'ready' END, ''
FROM search_state;
