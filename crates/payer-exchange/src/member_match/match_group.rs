//! The Groups that are the answer to a match.

use std::collections::{BTreeMap, BTreeSet};

use fhir_resource::ResourceId;
use fhir_store::member_match_group::{
    MATCH_RESULT_CODE_SYSTEM, MEMBER_MATCH_GROUP_PROFILE, NO_MATCH_GROUP_PROFILE, OPT_OUT_GROUP_PROFILE,
    TREATMENT_RELATIONSHIP_PROFILE,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::match_request;
use super::{MatchWork, SubmittedMember};
use crate::consent::ConsentDenialReason;
use crate::elements::{each, referred, text};
use crate::requester::{MatchRequesterKind, RequestingOrganization};

const PDEX: &str = "http://hl7.org/fhir/us/davinci-pdex";
/// How long a provider's Group is for, in microseconds: 30 days.
const TREATMENT_US: i64 = 30 * 24 * 3600 * 1_000_000;

/// The outcome of matching one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberMatchOutcome {
    /// The member is this patient, whose consent allows sharing.
    Matched {
        /// The id of the patient.
        patient: String,
        /// The name of the patient.
        display: Option<String>,
    },
    /// The member matches no patient, or several.
    NonMatched,
    /// The member is this patient, whose data may not be shared.
    Constrained {
        /// The id of the patient, for the audit record and the Consent to be stored; the response does not contain it.
        patient: String,
        /// The reason.
        because: ConsentDenialReason,
    },
}

/// One of the three Groups an answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bucket {
    Matched,
    NonMatched,
    Constrained,
}

impl Bucket {
    const ALL: [Self; 3] = [Self::Matched, Self::NonMatched, Self::Constrained];

    /// Returns the name of its parameter, the end of its id, its code.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Matched => ("MatchedMembers", "matched", "match"),
            Self::NonMatched => ("NonMatchedMembers", "nomatch", "nomatch"),
            Self::Constrained => ("ConsentConstrainedMembers", "consent", "consentconstraint"),
        }
    }

    const fn profile(self, kind: MatchRequesterKind) -> &'static str {
        match (self, kind) {
            (Self::Matched, MatchRequesterKind::Payer) => MEMBER_MATCH_GROUP_PROFILE,
            (Self::Matched, MatchRequesterKind::Provider) => TREATMENT_RELATIONSHIP_PROFILE,
            (Self::Constrained, MatchRequesterKind::Provider) => OPT_OUT_GROUP_PROFILE,
            (Self::NonMatched | Self::Constrained, _) => NO_MATCH_GROUP_PROFILE,
        }
    }

    const fn of(verdict: &MemberMatchOutcome) -> Self {
        match verdict {
            MemberMatchOutcome::Matched { .. } => Self::Matched,
            MemberMatchOutcome::NonMatched => Self::NonMatched,
            MemberMatchOutcome::Constrained { .. } => Self::Constrained,
        }
    }
}

/// Returns the ids of the Groups that a match job may create.
#[must_use]
pub fn match_group_ids(job: &ResourceId) -> Vec<String> {
    Bucket::ALL.iter().map(|bucket| id(job, *bucket)).collect()
}

fn id(job: &ResourceId, bucket: Bucket) -> String {
    format!("{job}-{}", bucket.words().1)
}

/// A Group that a member match creates.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchGroup {
    /// The name of its parameter in the response.
    pub name: &'static str,
    /// Its id.
    pub id: String,
    /// The resource in FHIR's format, with `resourceType` and without `id`.
    pub resource: Value,
}

/// Builds the Groups of a match from the outcomes of its members. The Group of matched members is always built, the
/// others only when they have members.
///
/// # Source
/// `docs/decisions.md`, "Member match".
#[must_use]
pub fn build_match_groups(
    job: &ResourceId,
    work: &MatchWork,
    verdicts: &[MemberMatchOutcome],
    now_us: i64,
) -> Vec<MatchGroup> {
    let made = |bucket: Bucket| {
        let members: Vec<(&SubmittedMember, &MemberMatchOutcome)> =
            work.members.iter().zip(verdicts).filter(|(_, verdict)| Bucket::of(verdict) == bucket).collect();
        let wanted = bucket == Bucket::Matched || !members.is_empty();
        wanted.then(|| MatchGroup {
            name: bucket.words().0,
            id: id(job, bucket),
            resource: group(bucket, work, &members, now_us),
        })
    };
    Bucket::ALL.into_iter().filter_map(made).collect()
}

/// Builds the `Parameters` response of a bulk match with its Groups.
#[must_use]
pub fn build_match_response(kind: MatchRequesterKind, groups: &[MatchGroup]) -> Value {
    let profile = match kind {
        MatchRequesterKind::Payer => "pdex-parameters-multi-member-match-bundle-out",
        MatchRequesterKind::Provider => "pdex-parameters-provider-member-match-bundle-out",
    };
    let parameters = groups.iter().map(|group| {
        let mut resource = group.resource.clone();
        set(&mut resource, "id", group.id.as_str());
        json!({"name": group.name, "resource": resource})
    });
    json!({
        "resourceType": "Parameters",
        "meta": {"profile": [format!("{PDEX}/StructureDefinition/{profile}")]},
        "parameter": parameters.collect::<Vec<_>>(),
    })
}

fn group(bucket: Bucket, work: &MatchWork, members: &[(&SubmittedMember, &MemberMatchOutcome)], now_us: i64) -> Value {
    let (_, _, code) = bucket.words();
    let concept = json!({"coding": [{"system": MATCH_RESULT_CODE_SYSTEM, "code": code}]});
    let RequestingOrganization { system, value, .. } = &work.requester;
    let mut group = json!({
        "resourceType": "Group",
        "meta": {"profile": [bucket.profile(work.kind)]},
        "identifier": [{"system": system, "value": value}],
        "active": true,
        "type": "person",
        "actual": true,
        "code": concept,
        "quantity": members.len(),
        "characteristic": [characteristic(bucket, work, &concept, now_us)],
    });
    if work.kind == MatchRequesterKind::Provider {
        set(&mut group, "managingEntity", managing(work));
    }
    if !members.is_empty() {
        let ids = contained_ids(members.iter().map(|(member, _)| *member));
        let contained = members.iter().zip(&ids).map(|((member, _), id)| contained(id, member));
        set(&mut group, "contained", contained.collect::<Vec<_>>());
        let entries = members.iter().zip(&ids).map(|((_, verdict), id)| entry(id, verdict));
        set(&mut group, "member", entries.collect::<Vec<_>>());
    }
    group
}

/// Returns the organization that the Group is for, or that it is for none.
fn characteristic(bucket: Bucket, work: &MatchWork, concept: &Value, now_us: i64) -> Value {
    let (name, value) = match (bucket, work.kind) {
        (Bucket::NonMatched, _) => ("valueBoolean", true.into()),
        (Bucket::Constrained, MatchRequesterKind::Provider) => {
            let coding = json!({"system": format!("{PDEX}/CodeSystem/opt-out-scope"), "code": "provider-specific"});
            ("valueCodeableConcept", json!({"coding": [coding]}))
        }
        (Bucket::Matched | Bucket::Constrained, _) => ("valueReference", named(&work.requester)),
    };
    let mut period = json!({"start": date(now_us)});
    if bucket == Bucket::Matched && work.kind == MatchRequesterKind::Provider {
        set(&mut period, "end", date(now_us.saturating_add(TREATMENT_US)));
    }
    json!({"code": concept, name: value, "exclude": false, "period": period})
}

/// Returns the asking organization, by the identifier of its claim.
fn named(requester: &RequestingOrganization) -> Value {
    let mut reference = json!({"identifier": {"system": requester.system, "value": requester.value}});
    if let Some(id) = &requester.organization {
        set(&mut reference, "reference", format!("Organization/{id}"));
    }
    reference
}

/// Returns the payer that answers, as the first member's coverage names it.
fn managing(work: &MatchWork) -> Value {
    let payor = match_request::first_member_payer(&work.members);
    match payor.and_then(|payor| payor.get("identifier")) {
        Some(identifier) => json!({"identifier": identifier}),
        None => json!({"display": "unknown"}),
    }
}

/// Returns the ids of what was sent of members, each once in the Group: the id that was sent, by which the asking
/// organization knows the member, with a number behind it where another member came with it too. One that was sent
/// without an id, or with a text that is none, has its place in the Group.
///
/// # Source
/// `PDex`: contained Patients are as submitted; `docs/decisions.md`, "Member match".
fn contained_ids<'a>(members: impl Iterator<Item = &'a SubmittedMember>) -> Vec<String> {
    let sent =
        |member: &SubmittedMember| text(&member.patient, "id")?.parse::<ResourceId>().ok().map(|id| id.to_string());
    let own: Vec<Option<String>> = members.map(sent).collect();
    let mut taken: BTreeSet<String> = own.iter().flatten().cloned().collect();
    let mut used = BTreeSet::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut ids = Vec::with_capacity(own.len());
    for (place, own) in own.into_iter().enumerate() {
        let name = own.clone().unwrap_or_else(|| (place + 1).to_string());
        if own.is_some_and(|own| used.insert(own)) || taken.insert(name.clone()) {
            ids.push(name);
            continue;
        }
        let number = numbers.entry(name.clone()).or_insert(1);
        let id = loop {
            *number += 1;
            let id = format!("{name}-{number}");
            if taken.insert(id.clone()) {
                break id;
            }
        };
        ids.push(id);
    }
    ids
}

/// Returns what was sent of a member, under its id in the Group.
fn contained(id: &str, member: &SubmittedMember) -> Value {
    let mut patient = member.patient.clone();
    set(&mut patient, "id", id);
    patient
}

/// A member, with the id of what was sent of it: so the asking organization knows which of its members this is. Of a
/// member who may not be shared it contains nothing of ours, neither the id nor the name.
fn entry(id: &str, verdict: &MemberMatchOutcome) -> Value {
    let sent = format!("#{id}");
    let extension = json!([{
        "url": format!("{PDEX}/StructureDefinition/base-ext-match-parameters"),
        "valueReference": {"reference": sent},
    }]);
    let entity = match verdict {
        MemberMatchOutcome::NonMatched | MemberMatchOutcome::Constrained { .. } => {
            json!({"extension": extension, "reference": sent})
        }
        MemberMatchOutcome::Matched { patient, display } => {
            let mut entity = json!({"extension": extension, "reference": format!("Patient/{patient}")});
            if let Some(display) = display {
                set(&mut entity, "display", display.as_str());
            }
            entity
        }
    };
    json!({"entity": entity, "inactive": false})
}

/// Returns the organization that a match Group was created for; `None` when the Group names none.
#[must_use]
pub fn group_recipient_organization(group: &Value) -> Option<RequestingOrganization> {
    let reference = each(group, "characteristic")
        .iter()
        .find_map(|one| one.get("valueReference").or_else(|| one.get("value")?.get("Reference")))?;
    let identifier = reference.get("identifier")?;
    Some(RequestingOrganization {
        system: text(identifier, "system")?.to_owned(),
        value: text(identifier, "value")?.to_owned(),
        organization: referred(reference, "Organization", "").map(str::to_owned),
    })
}

/// Returns whether the period of a match Group ended before the day of `now_us`, UNIX microseconds.
#[must_use]
pub fn is_group_expired(group: &Value, now_us: i64) -> bool {
    let ends = each(group, "characteristic").iter().filter_map(|one| text(one.get("period")?, "end"));
    let today = date(now_us);
    ends.into_iter().any(|end| end.get(..today.len()).is_some_and(|end| end < today.as_str()))
}

fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}

fn date(unix_us: i64) -> String {
    let at = jiff::Timestamp::from_microsecond(unix_us).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

#[cfg(test)]
mod tests {
    use fhir_store::member_match_group::{is_made_for_organization, is_match_group_id};

    use super::*;
    use crate::member_match::MemberIdentifierRule;

    const NOW_US: i64 = 1_767_225_600_000_000;

    fn work(kind: MatchRequesterKind) -> MatchWork {
        let member = |name: &str| SubmittedMember {
            patient: json!({"resourceType": "Patient", "id": format!("their-{name}"), "name": [{"family": name}]}),
            coverage: json!({"payor": [{"identifier": {"system": "urn:npi", "value": "us"}}]}),
            consent: None,
        };
        let organization = Some("payer-b".to_owned());
        MatchWork {
            kind,
            requester: RequestingOrganization { system: "urn:npi".to_owned(), value: "1".to_owned(), organization },
            members: vec![member("a"), member("b"), member("c")],
            within: Vec::new(),
            identifier: MemberIdentifierRule::Required,
        }
    }

    fn made(kind: MatchRequesterKind, verdicts: &[MemberMatchOutcome]) -> Vec<MatchGroup> {
        build_match_groups(&"job".parse().unwrap(), &work(kind), verdicts, NOW_US)
    }

    fn verdicts() -> [MemberMatchOutcome; 3] {
        let display = Some("A".to_owned());
        [
            MemberMatchOutcome::NonMatched,
            MemberMatchOutcome::Matched { patient: "p2".to_owned(), display },
            MemberMatchOutcome::Constrained { patient: "p3".to_owned(), because: ConsentDenialReason::Status },
        ]
    }

    #[test]
    fn everybody_is_in_one_group_and_whoever_asked_is_stamped_on_it() {
        let made = made(MatchRequesterKind::Payer, &verdicts());
        assert_eq!(
            made.iter().map(|group| group.id.as_str()).collect::<Vec<_>>(),
            ["job-matched", "job-nomatch", "job-consent"]
        );
        let [matched, unmatched, constrained] = made.try_into().unwrap();
        let stamp = &matched.resource["characteristic"][0];
        assert_eq!(stamp["code"]["coding"][0]["code"], "match");
        assert_eq!(
            stamp["valueReference"],
            json!({"identifier": {"system": "urn:npi", "value": "1"}, "reference": "Organization/payer-b"})
        );
        assert_eq!((&stamp["exclude"], &matched.resource["quantity"]), (&json!(false), &json!(1)));
        assert_eq!(matched.resource["member"][0]["entity"]["reference"], "Patient/p2");
        assert_eq!(matched.resource["contained"][0]["name"][0]["family"], "b", "the one that was asked for");
        assert_eq!(matched.resource["contained"][0]["id"], "their-b");
        assert_eq!(unmatched.resource["member"][0]["entity"]["reference"], "#their-a");
        assert_eq!(unmatched.resource["characteristic"][0]["valueBoolean"], true);
        assert!(!unmatched.resource.to_string().contains("Patient/p"), "no id of ours is told");
        assert_eq!(constrained.resource["code"]["coding"][0]["code"], "consentconstraint");
        let named = &constrained.resource["member"][0]["entity"];
        assert_eq!((&named["reference"], named.get("display")), (&json!("#their-c"), None));
        assert_eq!(constrained.resource["contained"][0]["id"], "their-c");
        assert!(!constrained.resource.to_string().contains("p3"), "neither our id nor our name of the member is told");
        assert_eq!(constrained.resource["meta"]["profile"][0], NO_MATCH_GROUP_PROFILE);
        let requester = group_recipient_organization(&matched.resource).unwrap();
        assert_eq!(requester, work(MatchRequesterKind::Payer).requester);
        assert!(
            is_made_for_organization(&unmatched.resource, "urn:npi", "1")
                && !is_made_for_organization(&unmatched.resource, "urn:npi", "2")
        );
        assert!([&matched, &unmatched, &constrained].iter().all(|made| is_match_group_id(&made.id)));
        assert!(!is_match_group_id("matched") && !is_match_group_id("job") && !is_match_group_id("job-matched-2"));
    }

    #[test]
    fn members_that_came_with_one_id_are_told_apart() {
        let member = |id: Option<&str>| {
            let patient = id.map_or_else(|| json!({}), |id| json!({ "id": id }));
            SubmittedMember { patient, coverage: Value::Null, consent: None }
        };
        let sent = [Some("1"), None, Some("1"), Some("1-2"), Some("1"), Some("no id"), None, Some("7")].map(member);
        let ids = contained_ids(sent.iter());
        assert_eq!(ids, ["1", "2", "1-3", "1-2", "1-4", "6", "7-2", "7"]);
    }

    #[test]
    fn an_empty_group_of_matches_is_there_and_no_other_empty_one() {
        let nobody = [MemberMatchOutcome::NonMatched, MemberMatchOutcome::NonMatched, MemberMatchOutcome::NonMatched];
        let [matched, unmatched] = made(MatchRequesterKind::Payer, &nobody).try_into().unwrap();
        assert_eq!((&matched.resource["quantity"], matched.resource.get("member")), (&json!(0), None));
        assert_eq!(unmatched.resource["quantity"], 3);
        let answer = build_match_response(MatchRequesterKind::Payer, &[matched, unmatched]);
        assert_eq!(answer["parameter"][0]["name"], "MatchedMembers");
        assert_eq!(answer["parameter"][1]["resource"]["id"], "job-nomatch");
    }

    #[test]
    fn a_providers_groups_are_its_own_for_a_month() {
        let [matched, _, constrained] = made(MatchRequesterKind::Provider, &verdicts()).try_into().unwrap();
        assert_eq!(matched.resource["meta"]["profile"][0], TREATMENT_RELATIONSHIP_PROFILE);
        assert_eq!(
            matched.resource["characteristic"][0]["period"],
            json!({"start": "2026-01-01", "end": "2026-01-31"})
        );
        assert!(
            is_made_for_organization(&matched.resource, "urn:npi", "1")
                && !is_made_for_organization(&matched.resource, "urn:npi", "2")
        );
        assert!(
            !is_group_expired(&matched.resource, NOW_US + TREATMENT_US)
                && is_group_expired(&matched.resource, NOW_US + 2 * TREATMENT_US)
        );
        assert_eq!(matched.resource["managingEntity"]["identifier"]["value"], "us");
        assert_eq!(constrained.resource["meta"]["profile"][0], OPT_OUT_GROUP_PROFILE);
    }
}
