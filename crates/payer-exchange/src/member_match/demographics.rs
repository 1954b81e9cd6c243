//! Which patient a member is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MemberRecords, SubmittedMember};
use crate::elements::{each, referred, text};
use crate::requester::MatchRequesterKind;

/// The rule of whether an identifier of the patient or the coverage must name the member.
///
/// Not specified. Name, birth date and gender are known to many, so a match by them alone would show every caller
/// whether a person is a member here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberIdentifierRule {
    /// An identifier is required.
    #[default]
    Required,
    /// The demographics alone are enough.
    Optional,
}

/// The rules by which members are matched to patients.
#[derive(Clone, Copy, Debug)]
pub struct PatientMatchRules<'a> {
    /// The kind of match that is requested.
    pub kind: MatchRequesterKind,
    /// `{base_url}/fhir/`, which absolute references to resources of this server begin with.
    pub base_url: &'a str,
    /// Whether an identifier is required.
    pub identifier: MemberIdentifierRule,
}

/// The demographics of a member that must agree with the patient's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredDemographics {
    family: String,
    given: String,
    birth_date: String,
    gender: String,
    identifiers: Vec<(Option<String>, String)>,
    subscriber_id: Option<String>,
}

impl RequiredDemographics {
    /// Returns the required demographics of a submitted member; `None` when family name, given name, birth date or
    /// gender is missing.
    ///
    /// # Source
    /// `docs/decisions.md`, "Member match".
    #[must_use]
    pub fn from_member(member: &SubmittedMember) -> Option<Self> {
        let patient = &member.patient;
        let name = each(patient, "name").iter().find_map(|name| {
            let given = each(name, "given").first().and_then(Value::as_str)?;
            Some((folded(text(name, "family")?), folded(given))).filter(|(_, given)| !given.is_empty())
        });
        let (family, given) = name?;
        let identifiers = each(patient, "identifier").iter().filter_map(|identifier| {
            Some((text(identifier, "system").map(str::to_owned), text(identifier, "value")?.to_owned()))
        });
        Some(Self {
            family,
            given,
            birth_date: text(patient, "birthDate")?.to_owned(),
            gender: text(patient, "gender")?.to_owned(),
            identifiers: identifiers.collect(),
            subscriber_id: text(&member.coverage, "subscriberId").map(str::to_owned),
        })
    }

    /// Returns the family name in lower case, without spaces around it.
    #[must_use]
    pub fn family_name(&self) -> &str {
        &self.family
    }

    /// Returns the birth date, by which patients are looked up.
    #[must_use]
    pub fn birth_date(&self) -> &str {
        &self.birth_date
    }

    /// Returns the id of the subscriber, by which coverages are looked up; `None` when the member's coverage has none.
    #[must_use]
    pub fn subscriber_id(&self) -> Option<&str> {
        self.subscriber_id.as_deref()
    }

    /// Returns the one patient in `known` that matches; `None` when none does, several do, or a required identifier is
    /// missing.
    #[must_use]
    pub fn find_patient<'k>(
        &self,
        known: &'k MemberRecords,
        terms: PatientMatchRules<'_>,
    ) -> Option<&'k (String, Value)> {
        let insured = self.subscriber_id.as_deref().map(|subscriber| insured(known, subscriber, terms.base_url));
        let born = known.patients.get(&self.birth_date).map_or(&[][..], Vec::as_slice);
        let mut found = born.iter().filter(|(id, patient)| {
            self.is(patient, terms.kind) && insured.as_ref().is_none_or(|insured| insured.contains(id.as_str()))
        });
        let only = found.next()?;
        let is_named = terms.identifier == MemberIdentifierRule::Optional || insured.is_some() || self.names(&only.1);
        (found.next().is_none() && is_named).then_some(only)
    }

    /// Returns whether one of the identifiers is one that the patient has. Of a provider's request those of systems
    /// that are not known here agree with every patient, so they name none.
    fn names(&self, patient: &Value) -> bool {
        self.identifiers.iter().any(|identifier| is_identified(patient, identifier, MatchRequesterKind::Payer))
    }

    fn is(&self, patient: &Value, kind: MatchRequesterKind) -> bool {
        let named = |name: &Value| {
            let family = text(name, "family").is_some_and(|family| folded(family) == self.family);
            family && each(name, "given").iter().filter_map(Value::as_str).any(|given| folded(given) == self.given)
        };
        text(patient, "gender") == Some(&self.gender)
            && each(patient, "name").iter().any(named)
            && self.identifiers.iter().all(|identifier| is_identified(patient, identifier, kind))
    }
}

/// Returns whether a patient has an identifier. What a provider numbers its patients by is not known here, so of a
/// provider's request an identifier counts where the patient has one of the same system.
fn is_identified(patient: &Value, (system, value): &(Option<String>, String), kind: MatchRequesterKind) -> bool {
    let held = each(patient, "identifier").iter();
    let mut of_system =
        held.filter(|held| system.as_deref().is_none_or(|system| text(held, "system") == Some(system))).peekable();
    if kind == MatchRequesterKind::Provider && of_system.peek().is_none() {
        return true;
    }
    of_system.any(|held| text(held, "value") == Some(value))
}

/// Returns the patients who have a coverage under this subscriber's id.
fn insured<'k>(known: &'k MemberRecords, subscriber: &str, base_url: &str) -> BTreeSet<&'k str> {
    let covering = known.coverages.get(subscriber).map_or(&[][..], Vec::as_slice);
    covering.iter().filter_map(|coverage| referred(coverage.get("beneficiary")?, "Patient", base_url)).collect()
}

/// Names are compared without regard to case and to spaces at their ends.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Returns the name of a person, for the readers of a Group.
#[must_use]
pub(super) fn display_name(patient: &Value) -> Option<String> {
    let name = each(patient, "name").iter().find(|name| text(name, "family").is_some())?;
    let given = each(name, "given").iter().filter_map(Value::as_str);
    let parts: Vec<&str> = given.chain(text(name, "family")).map(str::trim).filter(|part| !part.is_empty()).collect();
    Some(parts.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWN: &str = "https://payer.example/fhir/";

    fn patient(id: &str, extra: &Value) -> (String, Value) {
        let mut patient = json!({
            "name": [{"family": "Müller", "given": ["Anna", "Maria"]}, {"family": "Schmidt", "given": ["Anna"]}],
            "birthDate": "1980-02-29", "gender": "female",
            "identifier": [{"system": "urn:member", "value": "m1"}, {"system": "urn:ssn", "value": "s1"}],
        });
        for (name, value) in extra.as_object().unwrap() {
            patient[name] = value.clone();
        }
        (id.to_owned(), patient)
    }

    fn member(patient: Value, coverage: Value) -> SubmittedMember {
        SubmittedMember { patient, coverage, consent: None }
    }

    fn asked(change: &Value) -> SubmittedMember {
        let mut person = json!({
            "name": [{"family": " MÜLLER ", "given": ["anna"]}], "birthDate": "1980-02-29", "gender": "female",
        });
        for (name, value) in change.as_object().unwrap() {
            person[name] = value.clone();
        }
        member(person, json!({}))
    }

    fn found(asked: &SubmittedMember, known: &MemberRecords, kind: MatchRequesterKind) -> Option<String> {
        let terms = PatientMatchRules { kind, base_url: OWN, identifier: MemberIdentifierRule::Optional };
        RequiredDemographics::from_member(asked)?.find_patient(known, terms).map(|(id, _)| id.clone())
    }

    #[test]
    fn demographics_alone_find_nobody_where_an_identifier_is_required() {
        let covering = json!({"subscriberId": "sub-1", "beneficiary": {"reference": "Patient/p"}});
        let known = MemberRecords::from_resources([patient("p", &json!({}))], [covering]);
        let found = |asked: &SubmittedMember, kind: MatchRequesterKind| {
            let terms = PatientMatchRules { kind, base_url: OWN, identifier: MemberIdentifierRule::default() };
            RequiredDemographics::from_member(asked).unwrap().find_patient(&known, terms).is_some()
        };
        let with = |system: &str, value: &str| asked(&json!({"identifier": [{"system": system, "value": value}]}));
        for kind in [MatchRequesterKind::Payer, MatchRequesterKind::Provider] {
            assert!(!found(&asked(&json!({})), kind), "{kind:?}");
            assert!(found(&with("urn:member", "m1"), kind), "{kind:?}");
            let insured = |id: &str| member(asked(&json!({})).patient, json!({ "subscriberId": id }));
            assert!(found(&insured("sub-1"), kind) && !found(&insured("sub-2"), kind), "{kind:?}");
            assert!(!found(&with("urn:mrn", "9"), kind), "{kind:?}: a number of an unknown system names nobody");
        }
    }

    #[test]
    fn a_member_is_the_one_patient_whose_four_facts_and_identifiers_agree() {
        let known = MemberRecords::from_resources([patient("p", &json!({}))], []);
        let identifier = |system: Option<&str>, value: &str| match system {
            Some(system) => json!({"system": system, "value": value}),
            None => json!({"value": value}),
        };
        for (change, is_found) in [
            (json!({}), true),
            (json!({"name": [{"family": "schmidt", "given": ["ANNA"]}]}), true),
            (json!({"name": [{"text": "x"}, {"family": "schmidt", "given": ["ANNA"]}]}), true),
            (json!({"name": [{"family": "müller", "given": ["Maria"]}]}), true),
            (json!({"name": [{"family": "Schmidt", "given": ["Maria"]}]}), false),
            (json!({"name": [{"family": "Muller", "given": ["Anna"]}]}), false),
            (json!({"birthDate": "1980-02-28"}), false),
            (json!({"birthDate": "1980"}), false),
            (json!({"gender": "Female"}), false),
            (json!({"gender": null}), false),
            (json!({"name": [{"family": "Müller"}]}), false),
            (json!({"name": [{"given": ["Anna"]}]}), false),
            (json!({"birthDate": ""}), false),
            (json!({"identifier": [identifier(Some("urn:member"), "m1")]}), true),
            (json!({"identifier": [identifier(None, "s1")]}), true),
            (json!({"identifier": [identifier(Some("urn:member"), "m1"), identifier(Some("urn:ssn"), "s2")]}), false),
            (json!({"identifier": [identifier(Some("urn:ssn"), "m1")]}), false),
            (json!({"identifier": [identifier(Some("urn:other"), "x")]}), false),
        ] {
            let asked = asked(&change);
            assert_eq!(found(&asked, &known, MatchRequesterKind::Payer).is_some(), is_found, "{change}");
        }
    }

    #[test]
    fn a_providers_own_number_of_a_patient_is_passed_over_and_one_we_know_is_not() {
        let known = MemberRecords::from_resources([patient("p", &json!({}))], []);
        let with = |system: &str, value: &str| asked(&json!({"identifier": [{"system": system, "value": value}]}));
        assert!(found(&with("urn:mrn", "9"), &known, MatchRequesterKind::Provider).is_some());
        assert!(found(&with("urn:mrn", "9"), &known, MatchRequesterKind::Payer).is_none());
        assert!(found(&with("urn:member", "other"), &known, MatchRequesterKind::Provider).is_none());
    }

    #[test]
    fn who_could_be_two_is_nobody() {
        let twins = vec![patient("a", &json!({})), patient("b", &json!({"identifier": []}))];
        let known = MemberRecords::from_resources(twins, []);
        assert_eq!(found(&asked(&json!({})), &known, MatchRequesterKind::Payer), None);
        let told = asked(&json!({"identifier": [{"system": "urn:member", "value": "m1"}]}));
        assert_eq!(found(&told, &known, MatchRequesterKind::Payer).as_deref(), Some("a"));
    }

    #[test]
    fn a_subscribers_id_has_to_be_of_a_coverage_of_the_patient() {
        let covering = |beneficiary: Value| json!({"subscriberId": "sub-1", "beneficiary": beneficiary});
        let told = member(asked(&json!({})).patient, json!({"subscriberId": "sub-1"}));
        for (coverage, is_found) in [
            (covering(json!({"reference": "Patient/p"})), true),
            (covering(json!({"reference": "https://payer.example/fhir/Patient/p"})), true),
            (covering(json!({"reference": "https://other.example/fhir/Patient/p"})), false),
            (covering(json!({"resourceType": "Patient", "id": "p"})), true),
            (covering(json!({"resourceType": "Patient", "id": "q"})), false),
            (json!({"subscriberId": "sub-2", "beneficiary": {"reference": "Patient/p"}}), false),
            (json!({"subscriberId": "sub-1"}), false),
        ] {
            let known = MemberRecords::from_resources([patient("p", &json!({}))], [coverage.clone()]);
            assert_eq!(found(&told, &known, MatchRequesterKind::Payer).is_some(), is_found, "{coverage}");
        }
    }
}
