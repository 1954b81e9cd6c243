//! The rules of a User.

use serde_json::Value;

use super::shape::{MemberShape, MemberShapes, members, one, structure};
use super::{ResourceIssue, ResourceIssueCode};
use crate::end_user::FhirUser;

/// The resources that can be the person behind a User (SMART App Launch 2.2.0, "Scopes for
/// requesting identity data", and the platform's `PractitionerRole`).
pub(crate) const PERSONS: [&str; 5] = ["Patient", "Practitioner", "PractitionerRole", "RelatedPerson", "Person"];

const USER: MemberShapes = &[
    ("userName", MemberShape::Text),
    ("email", MemberShape::Text),
    // Of SCIM, and of the platform.
    ("emails", MemberShape::Free),
    ("password", MemberShape::Secret),
    ("name", MemberShape::Object),
    ("active", MemberShape::Flag),
    ("inactive", MemberShape::Flag),
    ("fhirUser", MemberShape::By(fhir_user)),
    ("roles", MemberShape::Objects),
    ("data", MemberShape::Object),
    ("identifier", MemberShape::Objects),
    ("twoFactor", MemberShape::Members(TWO_FACTOR)),
];

const TWO_FACTOR: MemberShapes =
    &[("enabled", MemberShape::Flag), ("secretKey", MemberShape::Text), ("transport", MemberShape::Text)];

/// A `fhirUser` is somebody of the server at `base_url`. Not specified; we refuse the address of another server when it
/// is written, because whoever signs in as that User would be nobody here, and its owner would learn it by a launch
/// that ends without a patient.
pub(super) fn validate(user: &Value, base_url: &str) -> Vec<ResourceIssue> {
    let issues = members(USER, "User", user);
    let own = user.get("fhirUser").filter(|_| issues.iter().all(|issue| issue.expression != "User.fhirUser"));
    let misplaced = own.filter(|own| FhirUser::read(own, base_url).is_none()).map(|_| {
        let diagnostics = format!("must be somebody of this server: <type>/<id>, or {base_url}/fhir/<type>/<id>");
        ResourceIssue::new(ResourceIssueCode::Value, "User.fhirUser", diagnostics)
    });
    issues.into_iter().chain(misplaced).collect()
}

/// `{reference}` as FHIR spells it, or `{resourceType, id}` as the native format does.
fn fhir_user(at: &str, value: &Value) -> Vec<ResourceIssue> {
    let text = |key| value.get(key).and_then(Value::as_str);
    let target = match text("reference") {
        Some(reference) => {
            reference.rsplit_once('/').map(|(front, id)| (front.rsplit('/').next().unwrap_or(front), id))
        }
        None => text("resourceType").zip(text("id")),
    };
    match target {
        Some((kind, id)) if PERSONS.contains(&kind) && !id.is_empty() => Vec::new(),
        Some(_) => one(ResourceIssueCode::Value, at, format!("must refer to one of {}", PERSONS.join(", "))),
        None => structure(at, "a reference: {\"reference\": \"Patient/<id>\"}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(user: &Value) -> Vec<(String, ResourceIssueCode)> {
        validate(user, "https://platform.example").into_iter().map(|issue| (issue.expression, issue.code)).collect()
    }

    #[test]
    fn a_user_with_every_described_element_may_be_stored() {
        let user = json!({
            "userName": "ada", "email": "ada@example.org", "password": "correct horse", "active": true,
            "name": {"givenName": "Ada"}, "fhirUser": {"reference": "Patient/1"}, "roles": [{"value": "admin"}],
            "twoFactor": {"enabled": true, "secretKey": "x"}, "phoneNumber": "1",
        });
        assert_eq!(found(&user), []);
        assert_eq!(found(&json!({})), []);
    }

    #[test]
    fn every_described_element_has_a_type() {
        for (key, _) in USER.iter().filter(|(_, shape)| !matches!(shape, MemberShape::Free)) {
            assert_eq!(found(&json!({*key: null})), [(format!("User.{key}"), ResourceIssueCode::Structure)]);
        }
    }

    #[test]
    fn a_password_has_content_and_a_limit() {
        assert_eq!(found(&json!({"password": ""})), [("User.password".to_owned(), ResourceIssueCode::Value)]);
        assert_eq!(
            found(&json!({"password": "x".repeat(1025)})),
            [("User.password".to_owned(), ResourceIssueCode::TooLong)]
        );
    }

    #[test]
    fn fhir_user_refers_to_a_person() {
        for kind in PERSONS {
            assert_eq!(found(&json!({"fhirUser": {"reference": format!("{kind}/1")}})), []);
            assert_eq!(found(&json!({"fhirUser": {"resourceType": kind, "id": "1"}})), []);
            let absolute = format!("https://platform.example/fhir/{kind}/1");
            assert_eq!(found(&json!({"fhirUser": {"reference": absolute}})), []);
        }
        for elsewhere in [
            "https://other.example/fhir/Patient/1",
            "http://platform.example/fhir/Patient/1",
            "https://platform.example/tenant/fhir/Patient/1",
            "Patient/1/_history/Patient/1",
        ] {
            let issues = found(&json!({"fhirUser": {"reference": elsewhere}}));
            assert_eq!(issues, [("User.fhirUser".to_owned(), ResourceIssueCode::Value)], "{elsewhere}");
        }
        for (reference, code) in [
            (json!({"reference": "Organization/1"}), ResourceIssueCode::Value),
            (json!({"resourceType": "Client", "id": "1"}), ResourceIssueCode::Value),
            (json!({"reference": "Patient/"}), ResourceIssueCode::Value),
            (json!({"reference": "Patient"}), ResourceIssueCode::Structure),
            (json!({"resourceType": "Patient"}), ResourceIssueCode::Structure),
            (json!("Patient/1"), ResourceIssueCode::Structure),
        ] {
            assert_eq!(found(&json!({"fhirUser": reference})), [("User.fhirUser".to_owned(), code)]);
        }
    }
}
