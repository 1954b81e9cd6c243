//! The engine `sql`: a question to the database, with what the request says bound to it.
//!
//! `{{path}}` is a value of the request object and becomes a bound parameter, so nothing a caller sends is
//! ever read as SQL: text as it is, everything else as JSON text, NULL where the path leads nowhere.
//! `{{!path}}` names a table or column: the text there in lower case and quoted as an identifier; without a
//! text there the question is answered with no.
//!
//! # Source
//! `docs/decisions.md`, "Access policies".

use matcho::value_at_path;
use serde_json::Value;

/// Longest query, in bytes.
const MAX_BYTES: usize = 10_000;
/// Most places of the request in a query.
const MAX_PLACES: usize = 32;

/// The parsed SQL query of an access policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlPolicyQuery(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Vec<String>),
    Name(Vec<String>),
}

/// The SQL query of an access policy with the values of a request: one SELECT and its bound values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundSqlPolicyQuery {
    /// What the writer of the policy wrote, with places for values and quoted names.
    pub sql: String,
    /// The values, in their order.
    pub values: Vec<Option<String>>,
}

/// The reason why the SQL query of a policy is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SqlPolicyQueryError {
    /// There is nothing in it.
    #[error("the query is empty")]
    Empty,
    /// It is several statements. Not specified of a semicolon within a text; it is refused as well.
    #[error("the query is one SELECT, without a semicolon")]
    Several,
    /// It is too long, or has too many places.
    #[error("a query has at most {MAX_BYTES} bytes and {MAX_PLACES} places of the request")]
    TooLarge,
    /// A place is not closed, or names nothing.
    #[error("a place of the request is {{{{path}}}} or {{{{!path}}}}")]
    Place,
}

impl SqlPolicyQuery {
    /// Reads the query of a policy.
    ///
    /// # Errors
    /// [`SqlPolicyQueryError`].
    pub fn parse(query: &str) -> Result<Self, SqlPolicyQueryError> {
        // A query is made part of a larger one.
        let query = query.trim().trim_end_matches(';').trim_end();
        if query.is_empty() {
            return Err(SqlPolicyQueryError::Empty);
        }
        if query.len() > MAX_BYTES {
            return Err(SqlPolicyQueryError::TooLarge);
        }
        if query.contains(';') {
            return Err(SqlPolicyQueryError::Several);
        }
        let mut parts = Vec::new();
        let mut rest = query;
        while let Some((before, opened)) = rest.split_once("{{") {
            let (place, after) = opened.split_once("}}").ok_or(SqlPolicyQueryError::Place)?;
            parts.push(Part::Text(before.to_owned()));
            let place = place.trim();
            parts.push(match place.strip_prefix('!') {
                Some(name) => Part::Name(path(name)?),
                None => Part::Value(path(place)?),
            });
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        if parts.len() > 2 * MAX_PLACES + 1 { Err(SqlPolicyQueryError::TooLarge) } else { Ok(Self(parts)) }
    }

    /// Binds the values that the query needs from `request`; `None` when one is absent.
    #[must_use]
    pub fn bind_request(&self, request: &Value) -> Option<BoundSqlPolicyQuery> {
        let mut sql = String::new();
        let mut values = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => sql.push_str(text),
                Part::Value(path) => {
                    values.push(value_at_path(request, path).and_then(bound));
                    sql.extend(["$", &values.len().to_string()]);
                }
                Part::Name(path) => sql.push_str(&quoted(value_at_path(request, path)?.as_str()?)?),
            }
        }
        Some(BoundSqlPolicyQuery { sql, values })
    }
}

fn path(text: &str) -> Result<Vec<String>, SqlPolicyQueryError> {
    let segments: Vec<String> = text.trim().split('.').map(str::to_owned).collect();
    if segments.iter().any(String::is_empty) { Err(SqlPolicyQueryError::Place) } else { Ok(segments) }
}

/// No database holds the character NUL, so a text with one equals nothing there.
fn bound(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.contains('\0')),
        other => Some(other.to_string()),
    }
}

fn quoted(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    (!name.is_empty() && !name.contains('\0')).then(|| format!("\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_request_says_is_bound_and_never_part_of_the_text() {
        let question = SqlPolicyQuery::parse(
            "SELECT true FROM {{!params.resource/type}} WHERE id = {{user.id}} AND x = {{body}};",
        );
        let request = json!({
            "params": {"resource/type": "Pat\"ient"}, "user": {"id": "1' OR 'a' = 'a"}, "body": {"n": 1},
        });
        let bound = question.unwrap().bind_request(&request).unwrap();
        assert_eq!(bound.sql, r#"SELECT true FROM "pat""ient" WHERE id = $1 AND x = $2"#);
        assert_eq!(bound.values, [Some("1' OR 'a' = 'a".to_owned()), Some(r#"{"n":1}"#.to_owned())]);
    }

    #[test]
    fn a_missing_value_is_null_and_a_missing_name_answers_no() {
        let about = |query: &str, request: Value| SqlPolicyQuery::parse(query).unwrap().bind_request(&request);
        assert_eq!(about("SELECT {{user.id}}", json!({})).unwrap().values, [None]);
        assert_eq!(about("SELECT {{user.id}}", json!({"user": {"id": "a\0"}})).unwrap().values, [None]);
        for request in [json!({}), json!({"t": 1}), json!({"t": ""}), json!({"t": "a\0"})] {
            assert_eq!(about("SELECT 1 FROM {{!t}}", request), None);
        }
    }

    #[test]
    fn a_query_that_says_nothing_or_has_a_broken_place_is_refused() {
        for (query, fault) in [
            (" ; ", SqlPolicyQueryError::Empty),
            ("SELECT true) AS x; DELETE FROM patient; SELECT * FROM (SELECT true", SqlPolicyQueryError::Several),
            ("SELECT {{a", SqlPolicyQueryError::Place),
            ("SELECT {{}}", SqlPolicyQueryError::Place),
            ("SELECT {{!}}", SqlPolicyQueryError::Place),
            ("SELECT {{a..b}}", SqlPolicyQueryError::Place),
        ] {
            assert_eq!(SqlPolicyQuery::parse(query), Err(fault), "{query}");
        }
        assert_eq!(SqlPolicyQuery::parse(&"{{a}} ".repeat(MAX_PLACES + 1)), Err(SqlPolicyQueryError::TooLarge));
        assert_eq!(SqlPolicyQuery::parse(&"x".repeat(MAX_BYTES + 1)), Err(SqlPolicyQueryError::TooLarge));
    }
}
