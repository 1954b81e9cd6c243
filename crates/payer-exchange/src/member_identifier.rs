//! The identifier by which another payer asks for a member once it was matched.
//!
//! # Source
//! `HRex`, `$member-match`: the identifier is one of the Patient, for later searches;
//! `docs/decisions.md`, "Member match".

use serde_json::{Value, json};

use crate::elements::{each, has_code, text};

/// The `HRex` code system of identifier types.
pub const HREX_CODE_SYSTEM: &str = "http://hl7.org/fhir/us/davinci-hrex/CodeSystem/hrex-temp";
/// The code of an identifier that is unique to a member (`UMB`).
pub const UNIQUE_MEMBER_CODE: &str = "UMB";
const IDENTIFIER_TYPES: &str = "http://terminology.hl7.org/CodeSystem/v2-0203";
/// The types of identifiers that name a member, the best first.
const TYPES: [(&str, &str); 4] = [
    (HREX_CODE_SYSTEM, UNIQUE_MEMBER_CODE),
    (IDENTIFIER_TYPES, "MB"),
    (IDENTIFIER_TYPES, "UM"),
    (HREX_CODE_SYSTEM, "UM"),
];
/// Characters with a special meaning in a search: a value with one is not found as it stands.
const SPECIAL: [char; 4] = [',', '|', '$', '\\'];

/// An identifier that identifies a member to other payers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberIdentifier {
    /// The system.
    pub system: String,
    /// The value.
    pub value: String,
}

/// Returns the identifiers of a Patient that may serve as its member identifier, best first. The caller checks that no
/// other Patient has the same one.
#[must_use]
pub fn candidate_member_identifiers(patient: &Value) -> Vec<MemberIdentifier> {
    let identifiers = each(patient, "identifier");
    let of_type = |(system, code): (&'static str, &'static str)| {
        identifiers.iter().filter(move |one| has_code(one.get("type"), Some(system), code))
    };
    let usable = |one: &Value| {
        let is_current =
            text(one, "use") != Some("old") && one.get("period").is_none_or(|period| period.get("end").is_none());
        let (system, value) = (text(one, "system")?, text(one, "value")?);
        let is_plain = !value.contains(SPECIAL) && value.trim() == value;
        (is_current && is_plain).then(|| MemberIdentifier { system: system.to_owned(), value: value.to_owned() })
    };
    TYPES.into_iter().flat_map(of_type).filter_map(usable).collect()
}

/// Returns the Patient with `identifier` added as the unique member identifier (`UMB`).
#[must_use]
pub fn with_member_identifier(mut patient: Value, identifier: &MemberIdentifier) -> Value {
    let MemberIdentifier { system, value } = identifier;
    let identifier_type = json!({"coding": [{"system": HREX_CODE_SYSTEM, "code": UNIQUE_MEMBER_CODE}]});
    let made = json!({"type": identifier_type, "system": system, "value": value});
    if let Some(members) = patient.as_object_mut() {
        match members.get_mut("identifier") {
            Some(Value::Array(identifiers)) => identifiers.push(made),
            _ => drop(members.insert("identifier".to_owned(), Value::Array(vec![made]))),
        }
    }
    patient
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identifier(kind: (&str, &str), value: &str) -> Value {
        json!({"type": {"coding": [{"system": kind.0, "code": kind.1}]}, "system": "urn:s", "value": value})
    }

    #[test]
    fn a_member_is_named_by_its_own_number() {
        let mut old = identifier(TYPES[1], "old");
        old["use"] = "old".into();
        let mut ended = identifier(TYPES[1], "ended");
        ended["period"] = json!({"end": "2020"});
        let patient = json!({"identifier": [
            identifier((IDENTIFIER_TYPES, "MR"), "mrn"), identifier(TYPES[1], "mb"), old, ended,
            identifier(TYPES[1], "a|b"), identifier(TYPES[0], "umb"), identifier(TYPES[2], "um"),
            {"type": {"coding": [{"system": IDENTIFIER_TYPES, "code": "MB"}]}, "value": "without a system"},
        ]});
        let values: Vec<String> = candidate_member_identifiers(&patient).into_iter().map(|one| one.value).collect();
        assert_eq!(values, ["umb", "mb", "um"]);
        assert_eq!(candidate_member_identifiers(&json!({})), []);
    }

    #[test]
    fn an_identifier_that_is_made_is_the_first_candidate_from_then_on() {
        let made = MemberIdentifier { system: "urn:ours".to_owned(), value: "x1".to_owned() };
        let patient =
            with_member_identifier(json!({"identifier": [identifier(TYPES[1], "mb")], "gender": "female"}), &made);
        assert_eq!(candidate_member_identifiers(&patient).first(), Some(&made));
        assert_eq!((patient["identifier"].as_array().unwrap().len(), &patient["gender"]), (2, &json!("female")));
        assert_eq!(candidate_member_identifiers(&with_member_identifier(json!({}), &made)), [made]);
    }
}
