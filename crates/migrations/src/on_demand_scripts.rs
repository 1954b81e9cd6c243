//! SQL applied on demand: a list of scripts, each tracked by its id.
//!
//! These are no `PlatformMigration`s: they have records of their own, and the same id in both places
//! means two things.
//!
//! # Source
//! Specification, Endpoints: `POST /db/migrations`.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Longest id of a script, in bytes. Not specified; 255, which any id a tool makes stays below.
pub const SCRIPT_ID_MAX_BYTES: usize = 255;
/// Most scripts in one request. Not specified; 1,000, because a list is read as a whole before the first
/// of it runs.
pub const SCRIPTS_PER_REQUEST_MAX: usize = 1_000;

/// A SQL script that is applied once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlScript {
    /// The id by which it is tracked.
    pub id: String,
    /// One or more statements, in the dialect of the engine in use.
    pub sql: String,
}

/// The record of a script that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlScriptRecord {
    /// The script.
    pub script: SqlScript,
    /// The time at which it was applied, UNIX microseconds.
    pub applied_us: i64,
}

/// The outcome of applying a script: applied now or earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptOutcome {
    /// The script was run now.
    Now,
    /// The script was run before; this is the record of that.
    Before(SqlScriptRecord),
}

/// The reason why a list of scripts is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptListError {
    /// The body is not a list, or a list of more than [`SCRIPTS_PER_REQUEST_MAX`] elements.
    #[error("the body has to be an array of at most {SCRIPTS_PER_REQUEST_MAX} objects {{id, sql}}")]
    NotAList,
    /// An element of the list is not a script.
    #[error(
        "element {index} has to be an object with an id of 1 to {SCRIPT_ID_MAX_BYTES} bytes and an sql that is not empty"
    )]
    NotAScript {
        /// The number of the element, from 0.
        index: usize,
    },
    /// Other SQL was applied under the id. It is an error, because skipping the script silently would hide a mistake.
    #[error(
        "the SQL of {id:?} is not what was applied under this id: the checksum of what was applied is {applied}, \
         of what was sent {sent}; give new SQL a new id"
    )]
    Changed {
        /// The id.
        id: String,
        /// SHA-256 of the SQL that was applied, in hexadecimal.
        applied: String,
        /// SHA-256 of the SQL that was sent, in hexadecimal.
        sent: String,
    },
}

impl SqlScript {
    /// Parses the scripts of a request, in their order.
    ///
    /// # Errors
    /// [`ScriptListError::NotAList`] and [`ScriptListError::NotAScript`].
    pub fn parse_scripts(body: &Value) -> Result<Vec<Self>, ScriptListError> {
        let scripts = body
            .as_array()
            .filter(|scripts| scripts.len() <= SCRIPTS_PER_REQUEST_MAX)
            .ok_or(ScriptListError::NotAList)?;
        let read = |(index, script)| Self::read(script).ok_or(ScriptListError::NotAScript { index });
        scripts.iter().enumerate().map(read).collect()
    }

    fn read(script: &Value) -> Option<Self> {
        let text = |name: &str| script.get(name)?.as_str();
        let id = text("id").filter(|id| !id.is_empty() && id.len() <= SCRIPT_ID_MAX_BYTES && !id.contains('\0'))?;
        let sql = text("sql").filter(|sql| !sql.trim().is_empty() && !sql.contains('\0'))?;
        Some(Self { id: id.to_owned(), sql: sql.to_owned() })
    }

    /// Returns the SHA-256 of the SQL in hexadecimal.
    #[must_use]
    pub fn checksum(&self) -> String {
        let digest = Sha256::digest(self.sql.as_bytes());
        let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
    }

    /// Returns an error unless `other`, a script of the same id, has the same SQL.
    ///
    /// # Errors
    /// [`ScriptListError::Changed`], in which `other` is the applied script and `self` the sent one.
    pub fn check_same_as(&self, other: &Self) -> Result<(), ScriptListError> {
        if self.sql == other.sql {
            return Ok(());
        }
        Err(ScriptListError::Changed { id: self.id.clone(), applied: other.checksum(), sent: self.checksum() })
    }
}

/// Returns an error when any script differs from the applied script of the same id, or from an earlier one in the list.
/// Callers check this before the first script runs.
///
/// # Errors
/// [`ScriptListError::Changed`].
pub fn check_scripts_unchanged(scripts: &[SqlScript], applied: &[SqlScriptRecord]) -> Result<(), ScriptListError> {
    let applied = applied.iter().map(|record| &record.script);
    let mut known: std::collections::HashMap<&str, &SqlScript> =
        applied.map(|script| (script.id.as_str(), script)).collect();
    scripts.iter().try_for_each(|script| script.check_same_as(known.entry(&script.id).or_insert(script)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn script(id: &str, sql: &str) -> SqlScript {
        SqlScript { id: id.to_owned(), sql: sql.to_owned() }
    }

    #[test]
    fn a_list_of_scripts_is_read_whole_or_its_fault_is_named() {
        let read = SqlScript::parse_scripts(&json!([{"id": "a", "sql": "SELECT 1"}, {"id": "b", "sql": "SELECT 2"}]));
        assert_eq!(read, Ok(vec![script("a", "SELECT 1"), script("b", "SELECT 2")]));
        assert_eq!(SqlScript::parse_scripts(&json!([])), Ok(Vec::new()));
        assert_eq!(SqlScript::parse_scripts(&json!({"id": "a", "sql": "SELECT 1"})), Err(ScriptListError::NotAList));
        for wrong in [
            json!("SELECT 1"),
            json!({"id": "a"}),
            json!({"sql": "SELECT 1"}),
            json!({"id": "", "sql": "SELECT 1"}),
            json!({"id": "x".repeat(256), "sql": "SELECT 1"}),
            json!({"id": "a", "sql": " "}),
            json!({"id": 1, "sql": "SELECT 1"}),
            json!({"id": "a", "sql": "SELECT '\0'"}),
        ] {
            let list = json!([{"id": "a", "sql": "SELECT 1"}, wrong]);
            assert_eq!(SqlScript::parse_scripts(&list), Err(ScriptListError::NotAScript { index: 1 }), "{list}");
        }
    }

    #[test]
    fn changed_sql_under_a_known_id_is_refused_with_both_checksums() {
        let record = |script| SqlScriptRecord { script, applied_us: 0 };
        let applied = [record(script("a", "SELECT 1"))];
        assert_eq!(check_scripts_unchanged(&[script("b", "SELECT 2"), script("a", "SELECT 1")], &applied), Ok(()));
        let fault = check_scripts_unchanged(&[script("b", "SELECT 2"), script("a", "SELECT 3")], &applied).unwrap_err();
        let (was, is) = (script("a", "SELECT 1").checksum(), script("a", "SELECT 3").checksum());
        assert_eq!(was, "e004ebd5b5532a4b85984a62f8ad48a81aa3460c1ca07701f386135d72cdecf5");
        assert!(fault.to_string().contains(&was) && fault.to_string().contains(&is), "{fault}");
        let twice = [script("c", "SELECT 1"), script("c", "SELECT 2")];
        assert!(matches!(check_scripts_unchanged(&twice, &[]), Err(ScriptListError::Changed { .. })));
    }
}
