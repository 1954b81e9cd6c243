//! Strings, and the parts of names and addresses.

use serde_json::Value;

use super::{IndexEntry, Out, cut, cut_folded};

/// The parts of a `HumanName` and of an Address that are compared.
///
/// # Source
/// FHIR R4, Search, string: "any of the string fields" of these; their codes (`use`, `type`) are none.
const PARTS: [&str; 11] =
    ["text", "family", "given", "prefix", "suffix", "line", "city", "district", "state", "postalCode", "country"];

/// The entries of a string, a `HumanName` or an Address.
pub(super) fn each(value: &Value, out: Out<'_>) {
    match value {
        Value::String(text) => out(of(text)),
        Value::Number(number) => out(of(&number.to_string())),
        Value::Object(object) => {
            for part in PARTS.into_iter().filter_map(|name| object.get(name)) {
                match part {
                    Value::String(text) => out(of(text)),
                    Value::Array(parts) => parts.iter().filter_map(Value::as_str).map(of).for_each(&mut *out),
                    _ => {}
                }
            }
        }
        Value::Bool(_) | Value::Array(_) | Value::Null => {}
    }
}

fn of(text: &str) -> IndexEntry {
    IndexEntry::Text { folded: cut_folded(text), exact: cut(text) }
}
