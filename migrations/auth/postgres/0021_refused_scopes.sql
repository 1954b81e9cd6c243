-- What a person refused an app must not come back ticked when it asks again, also after everything was refused or
-- taken back: a row whose granted is empty keeps that alone.
ALTER TABLE member_grant ADD COLUMN refused TEXT NOT NULL DEFAULT '';
