//! Where a page begins: what the links of a search carry.
//!
//! A cursor is the keys of the last row of the page before and its id. A search that asks for no order has either none
//! but the id, or one more: the value by which it is ordered then.

use fhir_resource::ResourceId;
use fhir_search::{CompiledSearchParameter, SearchClause, SortCriterion};
use serde_json::Value;

use super::driver::{self, Begun, single};
use super::order::is_number;
use super::statement::Bound;
use crate::dialect::hex;

/// Where a page begins: behind the row with these keys and this id.
pub(super) struct Behind {
    /// The keys; `None` for a resource without a value.
    pub(super) keys: Vec<Option<Bound>>,
    /// The id.
    pub(super) id: String,
}

/// A position between two rows, for a link: its values are compared with, and open nothing.
pub(super) fn cursor(keys: Option<&str>, id: &str) -> String {
    let mut keys: Vec<Value> = keys.and_then(|keys| serde_json::from_str(keys).ok()).unwrap_or_default();
    keys.push(id.into());
    hex(Value::Array(keys).to_string().as_bytes())
}

/// Reads a position; `None` for one that is not of this order.
pub(super) fn read(text: &str, sort: &[SortCriterion], clauses: &[SearchClause]) -> Option<Behind> {
    let bytes: Option<Vec<u8>> = (0..text.len())
        .step_by(2)
        .map(|at| text.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok()))
        .collect();
    let Ok(Value::Array(mut values)) = serde_json::from_slice(&bytes?) else { return None };
    let id: ResourceId = values.pop()?.as_str()?.parse().ok()?;
    let ordering = driver::valued(clauses).and_then(|at| single(clauses.get(at)?));
    let ordered_by: Vec<&CompiledSearchParameter> = match ordering {
        Some((parameter, _)) if sort.is_empty() && values.len() == 1 => vec![parameter],
        _ => sort.iter().map(|sort| &*sort.parameter).collect(),
    };
    if values.len() != ordered_by.len() {
        return None;
    }
    let keys: Result<Vec<Option<Bound>>, NotAKey> =
        values.iter().zip(ordered_by).map(|(value, parameter)| read_key(value, parameter)).collect();
    Some(Behind { keys: keys.ok()?, id: id.to_string() })
}

/// Returns how the page before a position was ordered, where the search asks for no order.
pub(super) fn begun(behind: Option<&Behind>, sort: &[SortCriterion]) -> Begun {
    match behind {
        Some(_) if !sort.is_empty() => Begun::No,
        None => Begun::No,
        Some(behind) if behind.keys.is_empty() => Begun::ById,
        Some(_) => Begun::ByValue,
    }
}

/// Reads one key; a resource without a value has none.
fn read_key(value: &Value, parameter: &CompiledSearchParameter) -> Result<Option<Bound>, NotAKey> {
    let is_number = is_number(parameter);
    match value {
        Value::Null => Ok(None),
        Value::Number(number) if is_number => Ok(Some(number.as_i64().ok_or(NotAKey)?.into())),
        // No text of a row has the character NUL, and Postgres refuses it even as a parameter.
        Value::String(text) if !is_number && !text.contains('\0') => Ok(Some(text.as_str().into())),
        _ => Err(NotAKey),
    }
}

/// A value that is not a key of the order.
struct NotAKey;
