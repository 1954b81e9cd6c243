-- Nodes keep security resources in memory and trust a copy by its number, so every change has to
-- change the number: also one that users' own SQL makes, which knows nothing of this server.
CREATE TABLE security_revision (
    revision BIGINT NOT NULL
);

INSERT INTO security_revision (revision) VALUES (1);

CREATE TRIGGER accesspolicy_revision_insert AFTER INSERT ON accesspolicy BEGIN
    UPDATE security_revision SET revision = revision + 1;
END;

CREATE TRIGGER accesspolicy_revision_update AFTER UPDATE ON accesspolicy BEGIN
    UPDATE security_revision SET revision = revision + 1;
END;

CREATE TRIGGER accesspolicy_revision_delete AFTER DELETE ON accesspolicy BEGIN
    UPDATE security_revision SET revision = revision + 1;
END;

-- An update that keeps the version it found gets a new one, and so does a row without one.

CREATE TRIGGER client_version_update AFTER UPDATE OF resource ON client WHEN NEW.txid = OLD.txid BEGIN
    UPDATE transaction_id_seq SET last_value = last_value + 1;
    UPDATE client SET txid = (SELECT last_value FROM transaction_id_seq) WHERE id = NEW.id;
END;

CREATE TRIGGER client_version_insert AFTER INSERT ON client WHEN NEW.txid = 0 BEGIN
    UPDATE transaction_id_seq SET last_value = last_value + 1;
    UPDATE client SET txid = (SELECT last_value FROM transaction_id_seq) WHERE id = NEW.id;
END;

CREATE TRIGGER user_version_update AFTER UPDATE OF resource ON "user" WHEN NEW.txid = OLD.txid BEGIN
    UPDATE transaction_id_seq SET last_value = last_value + 1;
    UPDATE "user" SET txid = (SELECT last_value FROM transaction_id_seq) WHERE id = NEW.id;
END;

CREATE TRIGGER user_version_insert AFTER INSERT ON "user" WHEN NEW.txid = 0 BEGIN
    UPDATE transaction_id_seq SET last_value = last_value + 1;
    UPDATE "user" SET txid = (SELECT last_value FROM transaction_id_seq) WHERE id = NEW.id;
END;

CREATE TRIGGER organization_version_update AFTER UPDATE OF resource ON organization WHEN NEW.txid = OLD.txid BEGIN
    UPDATE transaction_id_seq SET last_value = last_value + 1;
    UPDATE organization SET txid = (SELECT last_value FROM transaction_id_seq) WHERE id = NEW.id;
END;

CREATE TRIGGER organization_version_insert AFTER INSERT ON organization WHEN NEW.txid = 0 BEGIN
    UPDATE transaction_id_seq SET last_value = last_value + 1;
    UPDATE organization SET txid = (SELECT last_value FROM transaction_id_seq) WHERE id = NEW.id;
END;
