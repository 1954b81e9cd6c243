//! Where the two engines differ in the SQL of this crate: fragments, as [`sql_engines`] replaces them in statements.

pub(crate) use hex::encode as hex;
use sql_engines::{SqlFragment, SqlFragments};

/// A statement of this crate.
pub(crate) type Sql = sql_engines::SqlTemplate<AuthFragments>;

/// The fragments of this crate.
#[derive(Debug)]
pub(crate) struct AuthFragments;

impl SqlFragments for AuthFragments {
    const CRATE_FRAGMENTS: &'static [SqlFragment] = FRAGMENTS;
}

const FRAGMENTS: &[SqlFragment] = &[
    // A column of unix microseconds, and a parameter of them, as users' SQL sees time.
    ("us", "(extract(epoch FROM @) * 1000000)::BIGINT", "@"),
    ("from_us", "(TIMESTAMPTZ 'epoch' + @ * INTERVAL '1 microsecond')", "@"),
    // The number of the next write.
    (
        "next_version",
        "SELECT nextval('transaction_id_seq')",
        "UPDATE transaction_id_seq SET last_value = last_value + 1 RETURNING last_value",
    ),
    // The numbers of so many writes: all of them, or the last of a row without gaps.
    (
        "next_versions",
        "SELECT nextval('transaction_id_seq') FROM generate_series(1, @)",
        "UPDATE transaction_id_seq SET last_value = last_value + @ RETURNING last_value",
    ),
    // The numbers of as many writes as an array of JSON has elements: set aside, then taken one each.
    (
        "reserve_versions",
        "SELECT 1 WHERE @::TEXT IS NOT NULL",
        "UPDATE transaction_id_seq SET last_value = last_value + json_array_length(@)",
    ),
    (
        "reserved_version",
        "nextval('transaction_id_seq')",
        "(SELECT last_value FROM transaction_id_seq) - json_array_length(@) + e.key + 1",
    ),
    // The elements of an array of JSON, a row each, called `e.value`.
    ("elements", "jsonb_array_elements(@::TEXT::JSONB) AS e (value)", "json_each(@) AS e"),
    // The texts of a parameter, a row each, called `e.value`, and their places, from 0 on. On Postgres the parameter is
    // an array of text, on SQLite one of JSON.
    ("texts", "unnest(@::TEXT[]) WITH ORDINALITY AS e (value, key)", "json_each(@) AS e"),
    ("place", "e.key - 1", "e.key"),
    // Bytes that travel as text.
    ("from_hex", "decode(@, 'hex')", "unhex(@)"),
    // The opaque token with a hash in hexadecimal, called `o`, found by its index however large the engine takes the
    // table to be; and one of its claims.
    (
        "opaque_token",
        "LEFT JOIN LATERAL (SELECT t.* FROM opaque_token t WHERE t.hash = decode(@, 'hex') LIMIT 1) o ON TRUE",
        "LEFT JOIN opaque_token o ON o.hash = unhex(@)",
    ),
    ("opaque_claim", "o.claims::JSON ->> '@'", "o.claims ->> '@'"),
    // Column definitions of a resource table.
    ("txid_column", "txid BIGINT NOT NULL DEFAULT nextval('transaction_id_seq')", "txid BIGINT NOT NULL DEFAULT 0"),
    (
        "ts_column",
        "ts TIMESTAMPTZ NOT NULL DEFAULT now()",
        "ts BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))",
    ),
    ("document", "JSONB", "TEXT"),
    // What a history holds in place of a document that stands in the table of its type.
    ("in_table", "'null'::JSONB", "'null'"),
    // A document that travels as text.
    ("from_text", "(@)::JSONB", "@"),
    // An id sorts by its bytes on both engines, whatever the database's locale.
    ("id_column", "id TEXT COLLATE \"C\"", "id TEXT"),
    // A row lock that passes over locked rows: SQLite has one writer at a time and needs none.
    ("skip_locked", "FOR UPDATE SKIP LOCKED", ""),
    // What a User may be named by, as its index has it: ASCII letters in lower case.
    (
        "login",
        "lower((u.resource ->> '@') COLLATE \"C\")",
        "CASE WHEN json_valid(u.resource) THEN lower(u.resource ->> '@') END",
    ),
    // Whose tokens a TokenIntrospector is about.
    (
        "introspected_issuer",
        "t.resource -> 'jwt' ->> 'iss'",
        "CASE WHEN json_valid(t.resource) THEN t.resource -> 'jwt' ->> 'iss' END",
    ),
    // What members are found by, as the indexes of Patient and Coverage have it, and whose a Consent is.
    ("member", "t.resource ->> '@'", "CASE WHEN json_valid(t.resource) THEN t.resource ->> '@' END"),
    // When what a Group is for is over.
    (
        "group_end",
        "@ #>> '{characteristic,0,period,end}'",
        "CASE WHEN json_valid(@) THEN @ ->> '$.characteristic[0].period.end' END",
    ),
    // Whether a Patient may have a family name, as far as letters of ASCII tell; whoever asks compares exactly.
    (
        "may_be_named",
        "EXISTS (SELECT 1 FROM jsonb_path_query(t.resource, '$.name[*].family') n
            WHERE strpos(lower((n #>> '{}') COLLATE \"C\"), @) > 0)",
        "EXISTS (SELECT 1 FROM json_each(t.resource, '$.name') n
            WHERE CASE n.type WHEN 'object' THEN instr(lower(n.value ->> 'family'), @) > 0 END)",
    ),
    (
        "of_patient",
        "t.resource -> 'patient' ->> '@'",
        "CASE WHEN json_valid(t.resource) THEN t.resource -> 'patient' ->> '@' END",
    ),
    // At the end of a subquery: it stays what it is. Without it Postgres may read all rows that meet a test on one
    // resource, and join them; SQLite never begins with what a test looks at.
    ("fence", "OFFSET 0", ""),
    // Behind a table: the index that SQLite takes. It knows nothing of the rows, so of two indexes that begin alike it
    // may take the one whose further columns are of no use.
    ("by", "", "@"),
    // How the engine would go about a statement, a row for each step, told in its last column.
    ("explain", "EXPLAIN", "EXPLAIN QUERY PLAN"),
    // A table emptied at once, without visiting its rows.
    ("truncate", "TRUNCATE", "DELETE FROM"),
];
