//! Codes and the value sets they have to be of.

use serde_json::Value;

use super::place::Place;
use super::report::{Code, Report, quoted};
use crate::definitions::{Binding, CodesBySystem, Element, Type};

/// Codes that an issue lists.
const SHOWN: usize = 12;

/// Whether a value is of the value set its element requires, where its codes are listed.
pub(super) fn check(element: &Element, kind: &Type, value: &Value, place: &Place<'_>, report: &mut Report) {
    let Some(Binding::Closed { id, codes }) = &element.binding else { return };
    if !is_member(codes, &kind.name, value) {
        let text = || format!("expected a code of the value set {id} ({}), found {}", listed(codes), told(value));
        report.add(Code::Binding, place, text);
    }
}

/// Returns whether a value of a type has a code of the set; one of a type that has no codes is no fault.
pub(super) fn is_member(codes: &CodesBySystem, kind: &str, value: &Value) -> bool {
    let is_coded = |coding: &Value| {
        let text = |name: &str| coding.get(name).and_then(Value::as_str);
        matches!((text("system"), text("code")), (Some(system), Some(code)) if codes.contains(system, code))
    };
    match kind {
        "code" | "string" | "uri" => value.as_str().is_none_or(|code| codes.contains_code(code)),
        "Coding" | "Quantity" => is_coded(value),
        "CodeableConcept" => value.get("coding").and_then(Value::as_array).into_iter().flatten().any(is_coded),
        _ => true,
    }
}

/// Returns the first codes of a set.
pub(super) fn listed(codes: &CodesBySystem) -> String {
    let mut listed: Vec<&str> = codes.iter().take(SHOWN).map(|(_, code)| code).collect();
    if codes.len() > SHOWN {
        listed.push("…");
    }
    listed.join(", ")
}

/// Returns the codes of a value, each with its system.
pub(super) fn told(value: &Value) -> String {
    let coding = |coding: &Value| {
        let text = |name: &str| coding.get(name).and_then(Value::as_str);
        match (text("system"), text("code")) {
            (Some(system), Some(code)) => quoted(&format!("{system}|{code}")),
            (None, Some(code)) => format!("{} without a system", quoted(code)),
            (_, None) => "no code".to_owned(),
        }
    };
    match (value, value.get("coding").and_then(Value::as_array)) {
        (Value::String(code), _) => quoted(code),
        (_, Some(codings)) => codings.iter().take(SHOWN).map(coding).collect::<Vec<_>>().join(", "),
        (_, None) => coding(value),
    }
}
