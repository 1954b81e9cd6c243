-- A person signs in with a user name or an e-mail address in any case, and there may be many Users.
-- Users' own SQL may store what is no JSON, which has no login.
CREATE INDEX user_login_name ON "user" (CASE WHEN json_valid(resource) THEN lower(resource ->> 'userName') END);

CREATE INDEX user_login_email ON "user" (CASE WHEN json_valid(resource) THEN lower(resource ->> 'email') END);
