//! The init bundle as a file holds it.

use std::collections::BTreeSet;

use fhir_store::bundle::{self, RequestBundleError};
use serde_json::Value;

/// The largest init bundle file, in bytes. Not specified; 64 MiB, because an orchestrator's own limit for such files is
/// far below it.
pub const INIT_BUNDLE_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The treatment of `${NAME}` variables in an init bundle: left, or replaced.
pub enum VariableSubstitution<'a> {
    /// They are left as they stand. The default, because SQL and templates have other uses for them.
    Leave,
    /// They are replaced by what the function returns for `NAME`; `$${NAME}` stands for the text `${NAME}`.
    Replace(&'a dyn Fn(&str) -> Option<String>),
}

/// A parsed init bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct InitBundle {
    /// The Bundle, `batch` or `transaction`.
    pub bundle: Value,
    /// The number of entries.
    pub entries: usize,
    /// The names of variables that were left as they stand, sorted, so that the operator can be warned.
    pub left: Vec<String>,
}

/// The reason why a file is not a valid init bundle.
#[derive(Debug, thiserror::Error)]
pub enum InitBundleError {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is not a Bundle of requests.
    #[error("{0}")]
    Bundle(#[from] RequestBundleError),
    /// A variable that it names is not set.
    #[error("it names ${{{0}}}, and no variable of this name is set")]
    Undefined(String),
}

/// Parses the content of an init bundle file.
///
/// Variables are replaced in string values after the JSON was parsed, so no value of a variable can change the
/// structure of the bundle. Member names are not replaced.
///
/// # Errors
/// [`InitBundleError`].
pub fn parse_init_bundle(content: &[u8], variables: &VariableSubstitution<'_>) -> Result<InitBundle, InitBundleError> {
    let mut document: Value = serde_json::from_slice(content)?;
    let mut left = BTreeSet::new();
    replace_all(&mut document, variables, &mut left)?;
    // What a condition says is read where it is known what it is about.
    let entries = bundle::parse_request_bundle(document.clone(), &|_, _| Ok(Vec::new().into()))?.entries.len();
    Ok(InitBundle { bundle: document, entries, left: left.into_iter().collect() })
}

fn replace_all(
    value: &mut Value,
    variables: &VariableSubstitution<'_>,
    left: &mut BTreeSet<String>,
) -> Result<(), InitBundleError> {
    match value {
        Value::String(text) if text.contains("${") => *text = replace(text, variables, left)?,
        Value::Array(elements) => {
            for element in elements {
                replace_all(element, variables, left)?;
            }
        }
        Value::Object(members) => {
            for (_, member) in members {
                replace_all(member, variables, left)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

fn replace(
    text: &str,
    variables: &VariableSubstitution<'_>,
    left: &mut BTreeSet<String>,
) -> Result<String, InitBundleError> {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, name, after)) = next_variable(rest) {
        let escaped = before.strip_suffix('$');
        match (variables, escaped) {
            (VariableSubstitution::Leave, _) => {
                replaced.extend([before, "${", name, "}"]);
                left.extend(escaped.is_none().then(|| name.to_owned()));
            }
            (VariableSubstitution::Replace(_), Some(before)) => replaced.extend([before, "${", name, "}"]),
            (VariableSubstitution::Replace(variable), None) => {
                let value = variable(name).ok_or_else(|| InitBundleError::Undefined(name.to_owned()))?;
                replaced.extend([before, &value]);
            }
        }
        rest = after;
    }
    replaced.push_str(rest);
    Ok(replaced)
}

/// Returns what stands before the first `${NAME}`, the name, and what stands after it.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some((at, inner)) = text.get(from..)?.split_once("${").map(|(before, inner)| (from + before.len(), inner))
    {
        if let Some((name, after)) = inner.split_once('}').filter(|(name, _)| is_name(name)) {
            return Some((text.get(..at)?, name, after));
        }
        from = at + 2;
    }
    None
}

/// A name as shells take it.
fn is_name(text: &str) -> bool {
    let begins = text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bundle_with(text: &str) -> Vec<u8> {
        json!({"resourceType": "Bundle", "type": "transaction", "entry": [
            {"request": {"method": "PUT", "url": "Client/c"}, "resource": {"secret": text}}
        ]})
        .to_string()
        .into_bytes()
    }

    fn secret(read: &InitBundle) -> &str {
        read.bundle["entry"][0]["resource"]["secret"].as_str().unwrap()
    }

    fn variable(name: &str) -> Option<String> {
        (name == "NAME").then(|| "a \"quoted\" ${OTHER}".to_owned())
    }

    #[test]
    fn a_variable_is_replaced_once_and_cannot_change_the_bundle() {
        let read = |text| parse_init_bundle(&bundle_with(text), &VariableSubstitution::Replace(&variable)).unwrap();
        for (text, expected) in [
            ("${NAME}", "a \"quoted\" ${OTHER}"),
            ("<${NAME}>", "<a \"quoted\" ${OTHER}>"),
            ("$${NAME}", "${NAME}"),
            ("$NAME ${} ${1} ${a b} ${", "$NAME ${} ${1} ${a b} ${"),
            ("${ ${NAME}", "${ a \"quoted\" ${OTHER}"),
            ("é${NAME}é", "éa \"quoted\" ${OTHER}é"),
        ] {
            assert_eq!(secret(&read(text)), expected);
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let fault =
            parse_init_bundle(&bundle_with("${MISSING_1}"), &VariableSubstitution::Replace(&variable)).unwrap_err();
        assert_eq!(fault.to_string(), "it names ${MISSING_1}, and no variable of this name is set");
    }

    #[test]
    fn variables_that_are_left_are_told() {
        let read =
            parse_init_bundle(&bundle_with("${NAME} $${ESCAPED} ${NAME}"), &VariableSubstitution::Leave).unwrap();
        assert_eq!(secret(&read), "${NAME} $${ESCAPED} ${NAME}");
        assert_eq!((read.left, read.entries), (vec!["NAME".to_owned()], 1));
    }

    #[test]
    fn what_is_no_bundle_of_requests_is_refused() {
        let fault = |content: &[u8]| parse_init_bundle(content, &VariableSubstitution::Leave).unwrap_err().to_string();
        assert!(fault(b"{").starts_with("it is not JSON: "));
        assert!(fault(b"[]").contains("not a Bundle"));
        let collection = json!({"resourceType": "Bundle", "type": "collection"}).to_string();
        assert!(fault(collection.as_bytes()).contains("batch"));
        let jump = json!({"resourceType": "Bundle", "type": "transaction",
            "entry": [{"request": {"method": "JUMP", "url": "Client"}}]});
        assert!(fault(jump.to_string().as_bytes()).contains("Bundle.entry[0]"));
    }
}
