-- A search that is sorted by a date walks its values in their order and ends with its page, so both ends of a range have
-- an index, and rows of one value lie in the order of their ids. A reference is also looked up from the resource that has
-- it: chains are tested on one resource, and `_has` begins with the few that refer to others.
CREATE INDEX search_range_high ON search_range (parameter, high, id, low);

CREATE INDEX search_range_low ON search_range (parameter, low, id, high);

DROP INDEX search_range_value;

CREATE INDEX search_quantity_high ON search_quantity (parameter, high, id, low, code, system);

DROP INDEX search_quantity_value;

CREATE INDEX search_reference_source ON search_reference (parameter, id, target, kind);
