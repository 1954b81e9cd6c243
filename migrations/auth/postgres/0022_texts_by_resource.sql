-- A caller who may see one patient has few resources searched, so whether a text of one of them matches is asked
-- resource by resource, and not of all texts there are.
CREATE INDEX search_string_resource ON search_string (parameter, id);
