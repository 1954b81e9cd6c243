-- Half of each page is left free: who reads writes their rows anew, and one that finds room beside itself leaves both
-- indexes as they are.
ALTER TABLE read_set SET (fillfactor = 50);
