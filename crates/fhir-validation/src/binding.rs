//! Checks codes against the value sets that their elements require.

use fhir_resource::type_definitions::{CodesBySystem, ElementDefinition, ElementType, RequiredBinding};
use serde_json::Value;

use crate::document_path::DocumentPath;
use crate::report::{IssueType, Report, quoted};

/// Codes that an issue lists.
const SHOWN: usize = 12;

/// Adds an issue unless a value is of the value set its element requires, where the codes of that are listed.
pub(crate) fn check(
    element: &ElementDefinition,
    element_type: &ElementType,
    value: &Value,
    place: &DocumentPath<'_>,
    report: &mut Report,
) {
    let Some(RequiredBinding::Closed { id, codes }) = &element.binding else { return };
    if !is_member(codes, &element_type.name, value) {
        let text = || {
            format!("expected a code of the value set {id} ({}), found {}", list_codes(codes), describe_codes(value))
        };
        report.add(IssueType::Binding, place, text);
    }
}

/// Returns whether a value of a type has a code of the set; a value of a type that has no codes is valid.
pub(crate) fn is_member(codes: &CodesBySystem, element_type: &str, value: &Value) -> bool {
    let is_coded = |coding: &Value| {
        let text = |name: &str| coding.get(name).and_then(Value::as_str);
        matches!((text("system"), text("code")), (Some(system), Some(code)) if codes.contains(system, code))
    };
    match element_type {
        "code" | "string" | "uri" => value.as_str().is_none_or(|code| codes.contains_code_without_system(code)),
        "Coding" | "Quantity" => is_coded(value),
        "CodeableConcept" => value.get("coding").and_then(Value::as_array).into_iter().flatten().any(is_coded),
        _ => true,
    }
}

/// Returns the first codes of a set.
pub(crate) fn list_codes(codes: &CodesBySystem) -> String {
    let mut listed: Vec<&str> = codes.iter().take(SHOWN).map(|(_, code)| code).collect();
    if codes.len() > SHOWN {
        listed.push("…");
    }
    listed.join(", ")
}

/// Returns the codes of a value, each with its system.
pub(crate) fn describe_codes(value: &Value) -> String {
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
