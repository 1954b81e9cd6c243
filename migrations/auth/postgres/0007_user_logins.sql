-- A person signs in with a user name or an e-mail address in any case, and there may be many Users.
-- Hash indexes, because whatever users' own SQL puts there has no longest length.
CREATE INDEX user_login_name ON "user" USING hash (lower((resource ->> 'userName') COLLATE "C"));

CREATE INDEX user_login_email ON "user" USING hash (lower((resource ->> 'email') COLLATE "C"));
