//! What an event takes in memory.

use serde_json::Value;

/// Bytes of a value's own place.
const PLACE: usize = 32;
/// Bytes of what holds a member of an object, beside its key and its value.
const MEMBER: usize = 32;

/// About how many bytes of memory a value takes. A number is a text, as it came.
pub(super) fn of(value: &Value) -> usize {
    PLACE
        + match value {
            Value::Null | Value::Bool(_) => 0,
            Value::Number(_) => PLACE,
            Value::String(text) => text.len(),
            Value::Array(elements) => elements.iter().map(of).sum(),
            Value::Object(members) => members.iter().map(|(key, value)| MEMBER + key.len() + of(value)).sum(),
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_list_weighs_what_is_in_it() {
        let ids: Vec<i64> = (0..5_000).collect();
        assert!(of(&json!({"messages": ids})) > 5_000 * 2 * PLACE);
        assert!(of(&json!({"a": "x".repeat(1_000)})) > 1_000);
        assert!(of(&json!({"type": "typing", "op": "start"})) < 300);
    }
}
