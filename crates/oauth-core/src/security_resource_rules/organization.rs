//! The rules of an Organization, as far as the B2B claim reads it.

use serde_json::Value;

use super::ResourceIssue;
use super::shape::{MemberShape, MemberShapes, items, members};

const ORGANIZATION: MemberShapes = &[("name", MemberShape::Text), ("identifier", MemberShape::By(identifiers))];

const IDENTIFIER: MemberShapes = &[("system", MemberShape::Text), ("value", MemberShape::Text)];

/// # Source
/// Specification, "Organization (as used by the claim)".
pub(super) fn validate(organization: &Value) -> Vec<ResourceIssue> {
    members(ORGANIZATION, "Organization", organization)
}

fn identifiers(at: &str, value: &Value) -> Vec<ResourceIssue> {
    items(at, value, |at, identifier| MemberShape::Members(IDENTIFIER).check(at, identifier))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ResourceIssueCode;
    use super::*;

    #[test]
    fn name_and_identifiers_are_strings() {
        let organization = json!({"name": "Payer", "identifier": [{"system": "s", "value": "1", "use": "official"}]});
        assert_eq!(validate(&organization), []);
        let wrong = json!({"name": ["Payer"], "identifier": [{"system": 1}, "npi", {"value": null}]});
        let found: Vec<_> = validate(&wrong).into_iter().map(|issue| (issue.expression, issue.code)).collect();
        let places = ["name", "identifier[0].system", "identifier[1]", "identifier[2].value"];
        let expected = places.map(|place| (format!("Organization.{place}"), ResourceIssueCode::Structure));
        assert_eq!(found, expected);
        let one = validate(&json!({"identifier": {"system": "s"}}));
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].expression, "Organization.identifier");
    }
}
