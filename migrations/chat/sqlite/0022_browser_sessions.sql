-- Sessions of browsers, links to set a password and links to sign in are items of users in the log. No table changes: the
-- number of this file tells an older program, which does not know such items, not to open the database.
SELECT 1;
