-- Every request with a token asks when its Client was last deleted, and a Client may have a long history.
CREATE INDEX client_history_deletions ON client_history (id, ts) WHERE op = 'delete';
