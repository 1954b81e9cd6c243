-- What belongs to a User or a Client goes with it: another of the same id, made later, inherits nothing.
CREATE FUNCTION client_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM member_grant WHERE client_id = OLD.id;
    DELETE FROM token_family WHERE client_id = OLD.id AND grant_id IS NULL;
    RETURN NULL;
END
$$;

CREATE TRIGGER client_gone AFTER DELETE ON client
    FOR EACH ROW EXECUTE FUNCTION client_gone();

CREATE FUNCTION user_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM browser_session WHERE user_id = OLD.id;
    DELETE FROM member_grant WHERE user_id = OLD.id;
    DELETE FROM token_family WHERE user_id = OLD.id AND grant_id IS NULL;
    RETURN NULL;
END
$$;

CREATE TRIGGER user_gone AFTER DELETE ON "user"
    FOR EACH ROW EXECUTE FUNCTION user_gone();
