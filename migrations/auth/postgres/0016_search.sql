-- A search reads what a write evaluated: one narrow row for each value that a search parameter finds
-- in a resource, in a table of its kind whose key is the index a search walks. `parameter` says of
-- which parameter and type a row is, so a row names its resource by the id alone. The values of a
-- composite have the resource's id with a blank and the number of the element after it.

-- Codes and URIs; `system` is 0 for none, else 64 bits of the digest of its URI, or of a URI's version.
CREATE TABLE search_token (
    parameter BIGINT NOT NULL,
    code TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    system BIGINT NOT NULL,
    PRIMARY KEY (parameter, code, id, system)
);

-- References to our own resources by id and type.
CREATE TABLE search_reference (
    parameter BIGINT NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (parameter, target, id, kind)
);

-- Texts without case and accents; `exact` is 64 bits of the digest of the text as it was written.
CREATE TABLE search_string (
    parameter BIGINT NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    exact BIGINT NOT NULL,
    PRIMARY KEY (parameter, folded, id, exact)
);

-- Times in unix microseconds, and numbers by the order of their bits; both ends belong to the range.
CREATE TABLE search_range (
    parameter BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    PRIMARY KEY (parameter, id, low, high)
);

CREATE INDEX search_range_value ON search_range (parameter, high, low, id);

CREATE TABLE search_quantity (
    parameter BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    code TEXT COLLATE "C" NOT NULL,
    system BIGINT NOT NULL,
    PRIMARY KEY (parameter, id, low, high, code, system)
);

CREATE INDEX search_quantity_value ON search_quantity (parameter, high, low, code, system, id);

-- Numbers of the types that have rows. When the definitions change, a type gets another number, whose
-- rows are made in steps while those of the old one answer; `position` is the last id that has them.
CREATE TABLE search_type (
    number BIGINT PRIMARY KEY,
    kind TEXT NOT NULL,
    definitions BIGINT NOT NULL,
    state TEXT NOT NULL,
    position TEXT COLLATE "C" NOT NULL
);

CREATE INDEX search_type_kind ON search_type (kind);

-- Numbers of the parameters that resources define; a changed definition has another one.
CREATE TABLE search_definition (
    number BIGINT PRIMARY KEY,
    url TEXT NOT NULL,
    digest BIGINT NOT NULL,
    since BIGINT NOT NULL
);

-- What a copy in memory is compared with: `revision` counts the changes of the two tables above,
-- `definitions` those of the definitions. `own` is the address that references to this server begin with.
CREATE TABLE search_state (
    revision BIGINT NOT NULL,
    definitions BIGINT NOT NULL,
    last_type BIGINT NOT NULL,
    last_definition BIGINT NOT NULL,
    own TEXT NOT NULL
);

INSERT INTO search_state (revision, definitions, last_type, last_definition, own) VALUES (1, 1, 1, 9999, '');

-- The one type with parameters whose table is there from the start.
INSERT INTO search_type (number, kind, definitions, state, position)
SELECT 1, 'Organization', 1, CASE WHEN EXISTS (SELECT 1 FROM organization) THEN 'building' ELSE 'ready' END, '';
