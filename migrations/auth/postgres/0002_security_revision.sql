-- Nodes keep security resources in memory and trust a copy by its number, so every change has to
-- change the number: also one that users' own SQL makes, which knows nothing of this server.
CREATE TABLE security_revision (
    revision BIGINT NOT NULL
);

INSERT INTO security_revision (revision) VALUES (1);

CREATE FUNCTION security_revision_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE security_revision SET revision = revision + 1;
    RETURN NULL;
END
$$;

CREATE TRIGGER accesspolicy_revision
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON accesspolicy
    FOR EACH STATEMENT EXECUTE FUNCTION security_revision_next();

-- An update that keeps the version it found gets a new one.
CREATE FUNCTION resource_version_next() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.txid := nextval('transaction_id_seq');
    RETURN NEW;
END
$$;

CREATE TRIGGER client_version BEFORE UPDATE ON client
    FOR EACH ROW WHEN (NEW.txid = OLD.txid) EXECUTE FUNCTION resource_version_next();

CREATE TRIGGER user_version BEFORE UPDATE ON "user"
    FOR EACH ROW WHEN (NEW.txid = OLD.txid) EXECUTE FUNCTION resource_version_next();

CREATE TRIGGER organization_version BEFORE UPDATE ON organization
    FOR EACH ROW WHEN (NEW.txid = OLD.txid) EXECUTE FUNCTION resource_version_next();
