-- An absolute reference to this server has from now on a row by its address as well, so that a change of the base URL
-- tells whether it concerns a type. Rows of before lack it: the rows of all resources are made again, this once.
UPDATE search_state SET own = '';
