//! Numbers, with and without a unit.

use serde_json::{Map, Value};

use super::{IndexEntry, Out, cut};

/// The system of currencies.
///
/// # Source
/// FHIR R4, Data Types, Money: its code is one of ISO 4217.
const CURRENCIES: &str = "urn:iso:std:iso:4217";

/// The entry of a number or a Range.
pub(super) fn numbers(value: &Value, out: Out<'_>) {
    let range = match value {
        Value::Number(_) => exactly(value),
        Value::Object(object) => bounds(object),
        _ => None,
    };
    if let Some((low, high)) = range {
        out(IndexEntry::Number { low, high });
    }
}

/// The entry of a Quantity and what is like one (Age, Count, Duration), of Money, or of a Range.
///
/// A `SampledData` has none: it is many values and R4 does not say which of them would count.
pub(super) fn each(value: &Value, out: Out<'_>) {
    let Value::Object(object) = value else { return };
    let unit_of = |name: &str| object.get(name).and_then(Value::as_object);
    let Some((low, high)) = compared(object).or_else(|| bounds(object)) else { return };
    let units = [Some(object), unit_of("low"), unit_of("high")];
    let text = |name: &str| units.iter().flatten().find_map(|object| object.get(name)?.as_str()).map(cut);
    let entry = match text("currency") {
        Some(currency) => {
            IndexEntry::Quantity { low, high, system: Some(CURRENCIES.to_owned()), code: Some(currency), unit: None }
        }
        None => IndexEntry::Quantity { low, high, system: text("system"), code: text("code"), unit: text("unit") },
    };
    out(entry);
}

fn exactly(number: &Value) -> Option<(f64, f64)> {
    let number = number.as_f64().filter(|number| number.is_finite())?;
    Some((number, number))
}

/// Returns the value of a Quantity; with a comparator all that it may be.
fn compared(object: &Map<String, Value>) -> Option<(f64, f64)> {
    let (low, high) = exactly(object.get("value")?)?;
    Some(match object.get("comparator").and_then(Value::as_str) {
        Some("<") => (f64::MIN, high.next_down()),
        Some("<=") => (f64::MIN, high),
        Some(">") => (low.next_up(), f64::MAX),
        Some(">=") => (low, f64::MAX),
        _ => (low, high),
    })
}

/// Returns the ends of a Range; one that is missing is open.
fn bounds(object: &Map<String, Value>) -> Option<(f64, f64)> {
    let end = |name: &str| exactly(object.get(name)?.get("value")?).map(|(value, _)| value);
    match (end("low"), end("high")) {
        (None, None) => None,
        (low, high) => Some((low.unwrap_or(f64::MIN), high.unwrap_or(f64::MAX))),
    }
}
