//! The Groups that are the answer to a match.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Constraint, MatchKind, MatchWork, Member, Requester, text};
use crate::key::ResourceId;

const PDEX: &str = "http://hl7.org/fhir/us/davinci-pdex";
/// What a Group made for a match is, as `meta.profile` says it.
pub const MEMBER_MATCH: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-match-group";
/// The Group of the members a provider treats.
pub const TREATMENT: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-treatment-relationship";
const NO_MATCH: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-no-match-group";
const OPT_OUT: &str = "http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-opt-out";
/// How long a provider's Group is for, in microseconds: 30 days.
const TREATMENT_US: i64 = 30 * 24 * 3600 * 1_000_000;

/// What became of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is this patient, who allows it.
    Matched {
        /// The id.
        patient: String,
        /// The name.
        display: Option<String>,
    },
    /// It is nobody, or could be several.
    NonMatched,
    /// It is this patient, of whom nothing may be shared.
    Constrained {
        /// The id.
        patient: String,
        /// The name.
        display: Option<String>,
        /// Why.
        because: Constraint,
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

    /// The name of its parameter, the end of its id, its code.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Matched => ("MatchedMembers", "matched", "match"),
            Self::NonMatched => ("NonMatchedMembers", "nomatch", "nomatch"),
            Self::Constrained => ("ConsentConstrainedMembers", "consent", "consentconstraint"),
        }
    }

    const fn profile(self, kind: MatchKind) -> &'static str {
        match (self, kind) {
            (Self::Matched, MatchKind::Payer) => MEMBER_MATCH,
            (Self::Matched, MatchKind::Provider) => TREATMENT,
            (Self::Constrained, MatchKind::Provider) => OPT_OUT,
            (Self::NonMatched | Self::Constrained, _) => NO_MATCH,
        }
    }

    const fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Matched { .. } => Self::Matched,
            Verdict::NonMatched => Self::NonMatched,
            Verdict::Constrained { .. } => Self::Constrained,
        }
    }
}

/// The ids of the Groups that a job may have made.
#[must_use]
pub fn ids(job: &ResourceId) -> Vec<String> {
    Bucket::ALL.iter().map(|bucket| id(job, *bucket)).collect()
}

fn id(job: &ResourceId, bucket: Bucket) -> String {
    format!("{job}-{}", bucket.words().1)
}

/// A Group of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeGroup {
    /// The name of its parameter.
    pub name: &'static str,
    /// Its id.
    pub id: String,
    /// The resource in FHIR's spelling, with `resourceType` and without `id`.
    pub resource: Value,
}

/// The Groups of a match, `verdicts` being in the order of its members. The Group of those who were found is always
/// there, the others where somebody is in them.
///
/// # Source
/// `reference/auth/b2b-and-member-match.md`, sections 5.1 and 6.
#[must_use]
pub fn groups(job: &ResourceId, work: &MatchWork, verdicts: &[Verdict], now_us: i64) -> Vec<MadeGroup> {
    let made = |bucket: Bucket| {
        let members: Vec<(&Member, &Verdict)> =
            work.members.iter().zip(verdicts).filter(|(_, verdict)| Bucket::of(verdict) == bucket).collect();
        let wanted = bucket == Bucket::Matched || !members.is_empty();
        wanted.then(|| MadeGroup {
            name: bucket.words().0,
            id: id(job, bucket),
            resource: group(bucket, work, &members, now_us),
        })
    };
    Bucket::ALL.into_iter().filter_map(made).collect()
}

/// The answer that holds the Groups.
#[must_use]
pub fn answer(kind: MatchKind, groups: &[MadeGroup]) -> Value {
    let profile = match kind {
        MatchKind::Payer => "pdex-parameters-multi-member-match-bundle-out",
        MatchKind::Provider => "pdex-parameters-provider-member-match-bundle-out",
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

fn group(bucket: Bucket, work: &MatchWork, members: &[(&Member, &Verdict)], now_us: i64) -> Value {
    let (_, _, code) = bucket.words();
    let concept =
        json!({"coding": [{"system": format!("{PDEX}/CodeSystem/PdexMultiMemberMatchResultCS"), "code": code}]});
    let mut group = json!({
        "resourceType": "Group",
        "meta": {"profile": [bucket.profile(work.kind)]},
        "active": true,
        "type": "person",
        "actual": true,
        "code": concept,
        "quantity": members.len(),
        "characteristic": [characteristic(bucket, work, &concept, now_us)],
    });
    if work.kind == MatchKind::Provider {
        let Requester { system, value, .. } = &work.requester;
        set(&mut group, "identifier", json!([{"system": system, "value": value}]));
        set(&mut group, "managingEntity", managing(work));
    }
    if !members.is_empty() {
        set(
            &mut group,
            "contained",
            members.iter().enumerate().map(|(place, (member, _))| contained(place, member)).collect::<Vec<_>>(),
        );
        set(
            &mut group,
            "member",
            members.iter().enumerate().map(|(place, (_, verdict))| entry(place, verdict)).collect::<Vec<_>>(),
        );
    }
    group
}

/// For whom the Group is, or that it is for nobody.
fn characteristic(bucket: Bucket, work: &MatchWork, concept: &Value, now_us: i64) -> Value {
    let (name, value) = match (bucket, work.kind) {
        (Bucket::NonMatched, _) => ("valueBoolean", true.into()),
        (Bucket::Constrained, MatchKind::Provider) => {
            let coding = json!({"system": format!("{PDEX}/CodeSystem/opt-out-scope"), "code": "provider-specific"});
            ("valueCodeableConcept", json!({"coding": [coding]}))
        }
        (Bucket::Matched | Bucket::Constrained, _) => ("valueReference", named(&work.requester)),
    };
    let mut period = json!({"start": date(now_us)});
    if bucket == Bucket::Matched && work.kind == MatchKind::Provider {
        set(&mut period, "end", date(now_us.saturating_add(TREATMENT_US)));
    }
    json!({"code": concept, name: value, "exclude": false, "period": period})
}

/// The asking organization, by the identifier of its claim.
fn named(requester: &Requester) -> Value {
    let mut reference = json!({"identifier": {"system": requester.system, "value": requester.value}});
    if let Some(id) = &requester.organization {
        set(&mut reference, "reference", format!("Organization/{id}"));
    }
    reference
}

/// The payer that answers, as the first member's coverage names it.
fn managing(work: &MatchWork) -> Value {
    let payor = super::sent::payor(&work.members);
    match payor.and_then(|payor| payor.get("identifier")) {
        Some(identifier) => json!({"identifier": identifier}),
        None => json!({"display": "unknown"}),
    }
}

/// What was sent of a member, under the number it has in the Group.
fn contained(place: usize, member: &Member) -> Value {
    let mut patient = member.patient.clone();
    set(&mut patient, "id", (place + 1).to_string());
    patient
}

/// A member, with the number of what was sent of it: so whoever asked knows which of its members this is.
fn entry(place: usize, verdict: &Verdict) -> Value {
    let sent = format!("#{}", place + 1);
    let extension = json!([{
        "url": format!("{PDEX}/StructureDefinition/base-ext-match-parameters"),
        "valueReference": {"reference": sent},
    }]);
    let entity = match verdict {
        Verdict::NonMatched => json!({"extension": extension, "reference": sent}),
        Verdict::Matched { patient, display } | Verdict::Constrained { patient, display, .. } => {
            let mut entity = json!({"extension": extension, "reference": format!("Patient/{patient}")});
            if let Some(display) = display {
                set(&mut entity, "display", display.as_str());
            }
            entity
        }
    };
    json!({"entity": entity, "inactive": false})
}

/// For whom a Group was made, as [`groups`] stamps it: its identifier, and the id of its Organization here.
#[must_use]
pub fn made_for(group: &Value) -> Option<Requester> {
    let reference = super::each(group, "characteristic")
        .iter()
        .find_map(|one| one.get("valueReference").or_else(|| one.get("value")?.get("Reference")))?;
    let identifier = reference.get("identifier")?;
    Some(Requester {
        system: text(identifier, "system")?.to_owned(),
        value: text(identifier, "value")?.to_owned(),
        organization: super::referred(reference, "Organization", "").map(str::to_owned),
    })
}

/// Whether what a Group is for is over, as the period of its characteristic says.
#[must_use]
pub fn is_over(group: &Value, now_us: i64) -> bool {
    let ends = super::each(group, "characteristic").iter().filter_map(|one| text(one.get("period")?, "end"));
    let today = date(now_us);
    ends.into_iter().any(|end| end.get(..today.len()).is_some_and(|end| end < today.as_str()))
}

/// Whom a provider's Group was made for: its identifier.
#[must_use]
pub fn identified(group: &Value, system: &str, value: &str) -> bool {
    super::each(group, "identifier")
        .iter()
        .any(|identifier| text(identifier, "system") == Some(system) && text(identifier, "value") == Some(value))
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
    use super::*;

    const NOW_US: i64 = 1_767_225_600_000_000;

    fn work(kind: MatchKind) -> MatchWork {
        let member = |name: &str| Member {
            patient: json!({"resourceType": "Patient", "id": "theirs", "name": [{"family": name}]}),
            coverage: json!({"payor": [{"identifier": {"system": "urn:npi", "value": "us"}}]}),
            consent: None,
        };
        let organization = Some("payer-b".to_owned());
        MatchWork {
            kind,
            requester: Requester { system: "urn:npi".to_owned(), value: "1".to_owned(), organization },
            members: vec![member("a"), member("b"), member("c")],
            within: Vec::new(),
        }
    }

    fn made(kind: MatchKind, verdicts: &[Verdict]) -> Vec<MadeGroup> {
        groups(&"job".parse().unwrap(), &work(kind), verdicts, NOW_US)
    }

    fn verdicts() -> [Verdict; 3] {
        let display = Some("A".to_owned());
        [
            Verdict::NonMatched,
            Verdict::Matched { patient: "p2".to_owned(), display: display.clone() },
            Verdict::Constrained { patient: "p3".to_owned(), display, because: Constraint::Status },
        ]
    }

    #[test]
    fn everybody_is_in_one_group_and_whoever_asked_is_stamped_on_it() {
        let made = made(MatchKind::Payer, &verdicts());
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
        assert_eq!(matched.resource["contained"][0]["id"], "1");
        assert_eq!(unmatched.resource["member"][0]["entity"]["reference"], "#1");
        assert_eq!(unmatched.resource["characteristic"][0]["valueBoolean"], true);
        assert!(!unmatched.resource.to_string().contains("Patient/p"), "no id of ours is told");
        assert_eq!(constrained.resource["code"]["coding"][0]["code"], "consentconstraint");
        assert_eq!(constrained.resource["meta"]["profile"][0], NO_MATCH);
        let requester = made_for(&matched.resource).unwrap();
        assert_eq!(requester, work(MatchKind::Payer).requester);
        assert_eq!(made_for(&unmatched.resource), None);
    }

    #[test]
    fn an_empty_group_of_matches_is_there_and_no_other_empty_one() {
        let nobody = [Verdict::NonMatched, Verdict::NonMatched, Verdict::NonMatched];
        let [matched, unmatched] = made(MatchKind::Payer, &nobody).try_into().unwrap();
        assert_eq!((&matched.resource["quantity"], matched.resource.get("member")), (&json!(0), None));
        assert_eq!(unmatched.resource["quantity"], 3);
        let answer = answer(MatchKind::Payer, &[matched, unmatched]);
        assert_eq!(answer["parameter"][0]["name"], "MatchedMembers");
        assert_eq!(answer["parameter"][1]["resource"]["id"], "job-nomatch");
    }

    #[test]
    fn a_providers_groups_are_its_own_for_a_month() {
        let [matched, _, constrained] = made(MatchKind::Provider, &verdicts()).try_into().unwrap();
        assert_eq!(matched.resource["meta"]["profile"][0], TREATMENT);
        assert_eq!(
            matched.resource["characteristic"][0]["period"],
            json!({"start": "2026-01-01", "end": "2026-01-31"})
        );
        assert!(identified(&matched.resource, "urn:npi", "1") && !identified(&matched.resource, "urn:npi", "2"));
        assert!(
            !is_over(&matched.resource, NOW_US + TREATMENT_US) && is_over(&matched.resource, NOW_US + 2 * TREATMENT_US)
        );
        assert_eq!(matched.resource["managingEntity"]["identifier"]["value"], "us");
        assert_eq!(constrained.resource["meta"]["profile"][0], OPT_OUT);
    }
}
