//! The check on write.

use b2b_claim::{ExtensionIssueSeverity, ExtensionProblem, SubExtension, validate_b2b_extension};
use serde_json::{Value, json};

use crate::{EXT_BASE, client_with, complete_parts};

/// Severity, place and text of each issue.
fn issues(parts: &Value) -> Vec<(ExtensionIssueSeverity, String)> {
    let issues = validate_b2b_extension(&client_with(parts), EXT_BASE);
    issues.into_iter().map(|issue| (issue.severity, issue.to_string())).collect()
}

#[test]
fn a_complete_extension_has_no_issues() {
    let mut parts = complete_parts();
    assert_eq!(issues(&parts), []);
    for code in ["TREAT", "HPAYMT"] {
        let part = json!({"url": "purposeOfUse", "valueCoding": {"system": "s", "code": code}});
        parts.as_array_mut().unwrap().push(part);
    }
    assert_eq!(issues(&parts), [], "purposeOfUse is 0..*");
}

#[test]
fn a_client_without_the_extension_has_no_issues() {
    assert_eq!(validate_b2b_extension(&json!({"resourceType": "Client"}), EXT_BASE), []);
}

#[test]
fn at_most_one_organization_and_one_identifier_system_are_allowed() {
    for (at, sub_extension) in [(0, SubExtension::Organization), (1, SubExtension::OrganizationIdentifierSystem)] {
        let mut parts = complete_parts();
        let second = parts[at].clone();
        parts.as_array_mut().unwrap().push(second);
        let issues = validate_b2b_extension(&client_with(&parts), EXT_BASE);
        assert_eq!(issues.len(), 1);
        assert_eq!(
            (issues[0].severity, &issues[0].problem),
            (ExtensionIssueSeverity::Error, &ExtensionProblem::Repeated { sub_extension, count: 2 })
        );
        assert_eq!(issues[0].expression, "Client.extension[1]");
    }
}

#[test]
fn a_second_extension_is_an_error() {
    let mut client = client_with(&complete_parts());
    let second = client["extension"][1].clone();
    client["extension"].as_array_mut().unwrap().push(second);
    let issues = validate_b2b_extension(&client, EXT_BASE);
    assert_eq!(issues.len(), 1);
    assert_eq!(
        (issues[0].severity, &issues[0].problem),
        (ExtensionIssueSeverity::Error, &ExtensionProblem::RepeatedExtension { count: 2 })
    );
}

#[test]
fn the_write_of_the_union_form_succeeds_with_a_warning_per_part() {
    let parts = json!([
        {"url": "organization", "value": {"Reference": {"reference": "Organization/payer-a"}}},
        {"url": "organizationIdentifierSystem", "value": {"uri": "x"}},
        {"url": "purposeOfUse", "value": {"Coding": {"system": "s", "code": "c"}}}
    ]);
    let issues = validate_b2b_extension(&client_with(&parts), EXT_BASE);
    let problems: Vec<_> = issues.iter().map(|issue| issue.problem.clone()).collect();
    assert_eq!(problems, SubExtension::ALL.map(ExtensionProblem::UnionForm));
    assert!(issues.iter().all(|issue| issue.severity == ExtensionIssueSeverity::Warning));
    assert_eq!(issues[2].expression, "Client.extension[1].extension[2]");
}

#[test]
fn an_incomplete_extension_or_one_with_other_urls_is_a_warning() {
    let mut parts = complete_parts();
    parts[0]["url"] = json!("Organization");
    let expected = [
        (
            ExtensionIssueSeverity::Warning,
            "Client.extension[1]: 'organization' is missing: tokens will carry no hl7-b2b claim",
        ),
        (
            ExtensionIssueSeverity::Warning,
            "Client.extension[1].extension[0]: 'Organization' is no part of client-hl7B2b and is not read",
        ),
    ];
    assert_eq!(issues(&parts), expected.map(|(severity, text)| (severity, text.to_owned())));
}

#[test]
fn a_value_that_is_not_read_is_a_warning() {
    let table = [
        (json!({"url": "organization", "valueReference": {"reference": "https://other.example/Organization/a"}}), 0),
        (json!({"url": "organization", "valueString": "a"}), 0),
        (json!({"url": "organizationIdentifierSystem", "valueUri": ""}), 1),
        (json!({"url": "organizationIdentifierSystem"}), 1),
    ];
    for (part, at) in table {
        let mut parts = complete_parts();
        parts[at] = part;
        let issues = issues(&parts);
        assert_eq!(issues.len(), 1, "{issues:?}");
        assert_eq!(issues[0].0, ExtensionIssueSeverity::Warning);
        assert!(issues[0].1.starts_with(&format!("Client.extension[1].extension[{at}]: ")));
    }
    let mut parts = complete_parts();
    parts.as_array_mut().unwrap().push(json!({"url": "purposeOfUse", "valueCoding": {"code": "TREAT"}}));
    assert_eq!(issues(&parts).len(), 1, "a purpose needs its system");
}
