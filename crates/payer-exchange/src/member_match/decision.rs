//! What becomes of the members of a request, given all that is stored about them.

use std::collections::BTreeMap;

use fhir_resource::{ResourceKey, ResourceType};
use fhir_store::AccessFilter;
use serde_json::Value;

use super::{
    MemberMatchOutcome, MemberRecords, PatientMatchRules, RequiredDemographics, SubmittedMember, demographics,
};
use crate::consent::{self, ConsentContext, ConsentDenialReason};
use crate::requester::MatchRequesterKind;

/// The members of a request, each with the patient that it matches, if any.
#[derive(Debug)]
pub struct MatchedMembers<'a> {
    members: Vec<(&'a SubmittedMember, Option<Named>)>,
}

/// A patient's id, and its name.
type Named = (String, Option<String>);

/// A Consent that is to be stored after a match.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsentToStore {
    /// The id of the patient.
    pub patient: String,
    /// The Consent without `resourceType` and id.
    pub consent: Value,
}

impl<'a> MatchedMembers<'a> {
    /// Finds the patient of each member among the records in `known`. `asked` are the required demographics, member by
    /// member; a patient outside of the filters in `within` is not found.
    #[must_use]
    pub fn find_patients(
        members: &'a [SubmittedMember],
        asked: &[Option<RequiredDemographics>],
        known: &MemberRecords,
        terms: PatientMatchRules<'_>,
        within: &[AccessFilter],
    ) -> Self {
        let patient_type: Option<ResourceType> = "Patient".parse().ok();
        let reached = |(id, patient): &&(String, Value)| {
            let key =
                patient_type.clone().zip(id.parse().ok()).map(|(resource_type, id)| ResourceKey { resource_type, id });
            within.is_empty()
                || key.is_some_and(|key| within.iter().all(|selection| selection.contains_resource(&key, patient)))
        };
        let find = |asked: &Option<RequiredDemographics>| {
            let found = asked.as_ref()?.find_patient(known, terms).filter(reached)?;
            Some((found.0.clone(), demographics::display_name(&found.1)))
        };
        Self { members: members.iter().zip(asked.iter().map(find)).collect() }
    }

    /// Returns the ids of the matched patients.
    #[must_use]
    pub fn patient_ids(&self) -> Vec<&str> {
        self.members.iter().filter_map(|(_, found)| Some(found.as_ref()?.0.as_str())).collect()
    }

    /// Returns the id of the patient of the first member, unless the sent Consent does not allow it to be reported or
    /// the patient has opted out. A Consent is not required.
    #[must_use]
    pub fn into_single_patient(self, judge: &ConsentContext<'_>, stored: &[(String, Value)]) -> Option<String> {
        let (member, found) = self.members.into_iter().next()?;
        let (patient, _) = found?;
        let sent = member.consent.as_ref().is_none_or(|consent| judge.check_allows_sharing(consent).is_ok());
        (sent && !has_opted_out(judge, stored, &patient)).then_some(patient)
    }

    /// Returns the outcome of each member in order, and the Consents to be stored. `pair_id` returns the id under which
    /// the Consent of a patient is stored.
    ///
    /// A patient who is matched twice is judged twice; a later failure makes the Consent of the earlier match inactive.
    #[must_use]
    pub fn into_outcomes_and_consents(
        self,
        judge: &ConsentContext<'_>,
        kind: MatchRequesterKind,
        stored: &[(String, Value)],
        pair_id: impl Fn(&str) -> Option<String>,
    ) -> (Vec<MemberMatchOutcome>, Vec<ConsentToStore>) {
        let mut kept: BTreeMap<String, Value> = BTreeMap::new();
        let mut verdicts = Vec::with_capacity(self.members.len());
        for (member, found) in self.members {
            let Some((patient, display)) = found else {
                verdicts.push(MemberMatchOutcome::NonMatched);
                continue;
            };
            match judged(judge, kind, member, stored, &patient) {
                Ok(()) => {
                    if let (MatchRequesterKind::Payer, Some(sent), Some(id)) =
                        (kind, &member.consent, &judge.requester.organization)
                    {
                        kept.insert(patient.clone(), consent::prepare_stored_consent(sent, &patient, id));
                    }
                    verdicts.push(MemberMatchOutcome::Matched { patient, display });
                }
                Err(because) => {
                    let before = pair_id(&patient).and_then(|id| stored.iter().find(|(stored, _)| *stored == id));
                    let taken = kept.get(&patient).or(before.map(|(_, consent)| consent)).cloned();
                    kept.extend(taken.map(|consent| (patient.clone(), inactive(consent))));
                    verdicts.push(MemberMatchOutcome::Constrained { patient, because });
                }
            }
        }
        let kept = kept.into_iter().map(|(patient, consent)| ConsentToStore { patient, consent }).collect();
        (verdicts, kept)
    }
}

fn judged(
    judge: &ConsentContext<'_>,
    kind: MatchRequesterKind,
    member: &SubmittedMember,
    stored: &[(String, Value)],
    patient: &str,
) -> Result<(), ConsentDenialReason> {
    judge.check_sent_consent(member.consent.as_ref(), kind)?;
    if has_opted_out(judge, stored, patient) { Err(ConsentDenialReason::OptOut) } else { Ok(()) }
}

fn has_opted_out(judge: &ConsentContext<'_>, stored: &[(String, Value)], patient: &str) -> bool {
    let theirs = |consent: &&Value| consent::consent_patient_id(consent, judge.base_url) == Some(patient);
    stored.iter().map(|(_, consent)| consent).filter(theirs).any(consent::is_provider_opt_out)
}

fn inactive(mut consent: Value) -> Value {
    if let Some(members) = consent.as_object_mut() {
        members.insert("status".to_owned(), "inactive".into());
    }
    consent
}

#[cfg(test)]
mod tests {
    use fhir_store::AccessFilterBranch;
    use serde_json::json;

    use super::*;
    use crate::member_match::MemberIdentifierRule;
    use crate::requester::RequestingOrganization;

    const NOW_US: i64 = 1_767_225_600_000_000;
    const OWN: &str = "https://payer.example/fhir/";
    const SENSITIVE: &str = "http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#sensitive";

    fn person(family: &str) -> Value {
        json!({"name": [{"family": family, "given": ["Ann"]}], "birthDate": "1980-01-01", "gender": "female"})
    }

    fn consent(status: &str) -> Value {
        let role = json!({"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationType", "code": "IRCP"}]});
        json!({
            "resourceType": "Consent", "status": status, "policy": [{"uri": SENSITIVE}],
            "provision": {"period": {"start": "2025"}, "actor": [{"role": role, "reference": {"reference": "Organization/b"}}]},
        })
    }

    fn member(family: &str, status: &str) -> SubmittedMember {
        SubmittedMember { patient: person(family), coverage: json!({}), consent: Some(consent(status)) }
    }

    fn decided(
        members: &[SubmittedMember],
        stored: &[(String, Value)],
        within: &[AccessFilter],
    ) -> (Vec<MemberMatchOutcome>, Vec<ConsentToStore>) {
        let known = MemberRecords::from_resources([("p1".to_owned(), person("A")), ("p2".to_owned(), person("B"))], []);
        let organization = Some("b".to_owned());
        let requester = RequestingOrganization { system: "s".to_owned(), value: "v".to_owned(), organization };
        let judge = ConsentContext { requester: &requester, now_us: NOW_US, base_url: OWN };
        let asked: Vec<_> = members.iter().map(RequiredDemographics::from_member).collect();
        let terms = PatientMatchRules {
            kind: MatchRequesterKind::Payer,
            base_url: OWN,
            identifier: MemberIdentifierRule::Optional,
        };
        let found = MatchedMembers::find_patients(members, &asked, &known, terms, within);
        found.into_outcomes_and_consents(&judge, MatchRequesterKind::Payer, stored, |patient| {
            Some(format!("pair-{patient}"))
        })
    }

    #[test]
    fn each_member_has_a_verdict_of_its_own_and_a_bad_one_fails_nobody_else() {
        let broken = SubmittedMember { patient: json!({"name": 7}), coverage: json!(null), consent: Some(json!("x")) };
        let members = [broken, member("A", "active"), member("B", "inactive"), member("C", "active")];
        let (verdicts, kept) = decided(&members, &[], &[]);
        assert_eq!(verdicts[0], MemberMatchOutcome::NonMatched);
        assert_eq!(
            verdicts[1],
            MemberMatchOutcome::Matched { patient: "p1".to_owned(), display: Some("Ann A".to_owned()) }
        );
        assert!(
            matches!(&verdicts[2], MemberMatchOutcome::Constrained { patient, because: ConsentDenialReason::Status, .. } if patient == "p2")
        );
        assert_eq!(verdicts[3], MemberMatchOutcome::NonMatched);
        assert_eq!(kept.len(), 1, "only what allows something is kept");
        assert_eq!((kept[0].patient.as_str(), &kept[0].consent["status"]), ("p1", &json!("active")));
    }

    #[test]
    fn who_opted_out_is_constrained_whatever_the_asking_payer_sends() {
        let purpose = json!({"coding": [{"system": "http://hl7.org/fhir/us/davinci-pdex/CodeSystem/pdex-consent-api-purpose", "code": "provider-access"}]});
        let out = json!({"status": "active", "category": [purpose], "provision": {"type": "deny"}, "patient": {"reference": "Patient/p1"}});
        let (verdicts, kept) = decided(&[member("A", "active"), member("B", "active")], &[("x".to_owned(), out)], &[]);
        assert!(matches!(&verdicts[0], MemberMatchOutcome::Constrained { because: ConsentDenialReason::OptOut, .. }));
        assert!(matches!(&verdicts[1], MemberMatchOutcome::Matched { .. }));
        assert_eq!(kept.len(), 1);
    }

    #[test]
    fn a_later_match_that_fails_takes_back_what_was_kept() {
        let before = [("pair-p1".to_owned(), consent("active"))];
        let (_, kept) = decided(&[member("A", "rejected")], &before, &[]);
        assert_eq!((kept[0].patient.as_str(), &kept[0].consent["status"]), ("p1", &json!("inactive")));
        let (_, kept) = decided(&[member("A", "rejected")], &[], &[]);
        assert!(kept.is_empty(), "there was nothing to take back");
        let (_, kept) = decided(&[member("A", "active"), member("A", "rejected")], &[], &[]);
        assert_eq!(kept[0].consent["status"], "inactive");
    }

    #[test]
    fn whoever_lies_outside_what_the_caller_reaches_is_nobody() {
        let nothing = AccessFilter::union_of_branches(Vec::new());
        assert_eq!(decided(&[member("A", "active")], &[], &[nothing]).0, [MemberMatchOutcome::NonMatched]);
        let everything = AccessFilter::union_of_branches(vec![AccessFilterBranch::default()]);
        assert!(matches!(
            decided(&[member("A", "active")], &[], &[everything]).0[0],
            MemberMatchOutcome::Matched { .. }
        ));
    }
}
