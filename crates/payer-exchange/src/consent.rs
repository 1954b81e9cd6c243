//! Consent: whether anything of a member may be shared with the organization that requests it.

use std::collections::BTreeSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::elements::{each, has_code, referred, text};
use crate::requester::{MatchRequesterKind, RequestingOrganization};

/// A Consent that allows all that is not sensitive is of no use where nothing is redacted.
const SENSITIVE: &str = "http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#sensitive";
const PARTICIPATION: &str = "http://terminology.hl7.org/CodeSystem/v3-ParticipationType";
const PURPOSE: &str = "http://hl7.org/fhir/us/davinci-pdex/CodeSystem/pdex-consent-api-purpose";

/// The reason why consent does not let a member's data be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConsentDenialReason {
    /// There is no Consent, or it is not active.
    Status,
    /// The Consent denies sharing.
    Denied,
    /// Its period is absent, cannot be read, or does not cover this moment.
    Period,
    /// Its recipient is not the requesting organization.
    Recipient,
    /// It does not allow sensitive data to be shared, or does not say.
    Policy,
    /// The member has opted out.
    OptOut,
    /// The Consent cannot be stored, because the requesting organization is not registered here.
    Persistence,
}

/// The consent that an export requires of members: no opt-out, or an opt-in for one organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportConsentRule {
    /// Every member is exported except those who have opted out of sharing with providers.
    OptOut,
    /// The members are exported whose Consent allows it to this organization.
    OptIn(RequestingOrganization),
}

/// The requesting organization, the time and the base URL that a Consent is checked against.
#[derive(Clone, Copy, Debug)]
pub struct ConsentContext<'a> {
    /// The organization that requests the data.
    pub requester: &'a RequestingOrganization,
    /// The current time, UNIX microseconds.
    pub now_us: i64,
    /// The base URL of this server's FHIR endpoint with a slash at the end: `{base_url}/fhir/`.
    pub base_url: &'a str,
}

impl ConsentContext<'_> {
    /// Checks the Consent that was sent with a match request.
    ///
    /// The Consent of a provider is its attestation that it treats the member: it only has to be active. A payer's must
    /// allow sharing, and the payer must be registered here.
    ///
    /// # Errors
    /// The first [`ConsentDenialReason`].
    ///
    /// # Source
    /// HL7 Da Vinci `HRex`, Consent profile; `docs/decisions.md`, "Member match".
    pub fn check_sent_consent(
        &self,
        consent: Option<&Value>,
        kind: MatchRequesterKind,
    ) -> Result<(), ConsentDenialReason> {
        let consent = consent.ok_or(ConsentDenialReason::Status)?;
        match kind {
            MatchRequesterKind::Provider if text(consent, "status") == Some("active") => Ok(()),
            MatchRequesterKind::Provider => Err(ConsentDenialReason::Status),
            MatchRequesterKind::Payer if self.requester.organization.is_none() => Err(ConsentDenialReason::Persistence),
            MatchRequesterKind::Payer => self.check_allows_sharing(consent),
        }
    }

    /// Checks that a Consent allows all data, sensitive data included, to be shared with this organization at this
    /// time.
    ///
    /// # Errors
    /// The first [`ConsentDenialReason`].
    pub fn check_allows_sharing(&self, consent: &Value) -> Result<(), ConsentDenialReason> {
        let holds = |holds: bool, constraint| if holds { Ok(()) } else { Err(constraint) };
        let provision = consent.get("provision");
        let denies = provision.and_then(|provision| text(provision, "type")) == Some("deny");
        holds(text(consent, "status") == Some("active"), ConsentDenialReason::Status)?;
        holds(!denies, ConsentDenialReason::Denied)?;
        let period = provision.and_then(|provision| provision.get("period"));
        holds(period.is_some_and(|period| covers(period, self.now_us)), ConsentDenialReason::Period)?;
        let actors = provision.map_or(&[][..], |provision| each(provision, "actor"));
        let recipients = actors.iter().filter(|actor| has_code(actor.get("role"), Some(PARTICIPATION), "IRCP"));
        let named = recipients.filter_map(|actor| actor.get("reference"));
        let is_recipient = named.into_iter().any(|reference| self.is_requester(consent, reference));
        holds(is_recipient, ConsentDenialReason::Recipient)?;
        let sensitive = each(consent, "policy").iter().any(|policy| text(policy, "uri") == Some(SENSITIVE));
        holds(sensitive, ConsentDenialReason::Policy)
    }

    /// Returns whether a reference of a Consent names the organization that asks: by its id here, by its identifier, or
    /// by an Organization inside the Consent that has the identifier. The asking payer does not know its id here, so
    /// not specified; the identifier is as good, because it is what the claim proves.
    fn is_requester(&self, consent: &Value, reference: &Value) -> bool {
        let RequestingOrganization { system, value, organization } = self.requester;
        let is_ours =
            |identifier: &Value| text(identifier, "system") == Some(system) && text(identifier, "value") == Some(value);
        let by_id =
            organization.as_deref().is_some_and(|id| referred(reference, "Organization", self.base_url) == Some(id));
        let by_identifier = reference.get("identifier").is_some_and(is_ours);
        let name = text(reference, "reference").and_then(|text| text.strip_prefix('#'));
        let inside = name.or_else(|| text(reference, "localRef")).is_some_and(|name| {
            each(consent, "contained").iter().any(|contained| {
                text(contained, "resourceType") == Some("Organization")
                    && text(contained, "id") == Some(name)
                    && each(contained, "identifier").iter().any(is_ours)
            })
        });
        by_id || by_identifier || inside
    }
}

/// Returns whether a stored Consent is an opt-out from sharing with providers.
#[must_use]
pub fn is_provider_opt_out(consent: &Value) -> bool {
    let purpose =
        each(consent, "category").iter().any(|category| has_code(Some(category), Some(PURPOSE), "provider-access"));
    let denies = consent.get("provision").and_then(|provision| text(provision, "type")) == Some("deny");
    text(consent, "status") == Some("active") && purpose && denies
}

/// Returns the id of the patient of a stored Consent; `None` when the reference is not to a Patient of this server.
#[must_use]
pub fn consent_patient_id<'a>(consent: &'a Value, base_url: &str) -> Option<&'a str> {
    referred(consent.get("patient")?, "Patient", base_url)
}

/// Returns those of `patients` whose stored Consents allow the export.
#[must_use]
pub fn consenting_patients(
    rule: &ExportConsentRule,
    patients: &[&str],
    consents: &[(String, Value)],
    (now_us, base_url): (i64, &str),
) -> BTreeSet<String> {
    let of = |holds: &dyn Fn(&Value) -> bool| -> BTreeSet<&str> {
        let held = consents.iter().map(|(_, consent)| consent).filter(|consent| holds(consent));
        held.filter_map(|consent| consent_patient_id(consent, base_url)).collect()
    };
    let out = of(&is_provider_opt_out);
    let allowed = match rule {
        ExportConsentRule::OptOut => None,
        ExportConsentRule::OptIn(requester) => {
            let judge = ConsentContext { requester, now_us, base_url };
            Some(of(&|consent| judge.check_allows_sharing(consent).is_ok()))
        }
    };
    let may = |id: &str| match &allowed {
        None => !out.contains(id),
        Some(allowed) => allowed.contains(id),
    };
    patients.iter().filter(|id| may(id)).map(|id| (*id).to_owned()).collect()
}

/// Returns the sent Consent in the form in which it is stored: for the matched patient and the requesting organization,
/// without `resourceType`, id and `meta`.
#[must_use]
pub fn prepare_stored_consent(sent: &Value, patient: &str, organization: &str) -> Value {
    let mut consent: Map<String, Value> = sent.as_object().cloned().unwrap_or_default();
    for name in ["resourceType", "id", "meta"] {
        consent.remove(name);
    }
    consent.insert("patient".to_owned(), json!({"reference": format!("Patient/{patient}")}));
    consent.insert("organization".to_owned(), json!([{"reference": format!("Organization/{organization}")}]));
    Value::Object(consent)
}

/// Returns whether a Period covers a moment. One that is open at an end covers everything on that side; one open at
/// both says nothing.
fn covers(period: &Value, now_us: i64) -> bool {
    let bound = |name: &str| period.get(name).map(|value| value.as_str().and_then(bounds));
    match (bound("start"), bound("end")) {
        (None, None) | (Some(None), _) | (_, Some(None)) => false,
        (start, end) => {
            start.flatten().is_none_or(|(first, _)| first <= now_us)
                && end.flatten().is_none_or(|(_, last)| now_us < last)
        }
    }
}

/// Returns what a FHIR `dateTime` covers: its first microsecond, and the first one after it. Where it has no time zone,
/// UTC.
fn bounds(text: &str) -> Option<(i64, i64)> {
    if let Ok(at) = text.parse::<Timestamp>() {
        let last = at.as_microsecond().checked_add(1_000_000)?;
        return Some((at.as_microsecond(), last));
    }
    let number = |part: Option<&str>| part.map_or(Some(1), |part| part.parse::<i8>().ok());
    let mut parts = text.split('-');
    let year: i16 = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let (month, day) = (parts.next(), parts.next());
    if parts.next().is_some() {
        return None;
    }
    let first = Date::new(year, number(month)?, number(day)?).ok()?;
    let next = match (month, day) {
        (None, _) => first.checked_add(1.year()),
        (_, None) => first.checked_add(1.month()),
        _ => first.checked_add(1.day()),
    };
    let at = |date: Date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond());
    Some((at(first)?, at(next.ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-01T00:00:00Z.
    const NOW_US: i64 = 1_767_225_600_000_000;
    const OWN: &str = "https://payer.example/fhir/";

    fn requester() -> RequestingOrganization {
        RequestingOrganization {
            system: "urn:npi".to_owned(),
            value: "1".to_owned(),
            organization: Some("payer-b".to_owned()),
        }
    }

    fn good() -> Value {
        let role = json!({"coding": [{"system": PARTICIPATION, "code": "IRCP"}]});
        json!({
            "resourceType": "Consent", "id": "theirs", "status": "active", "policy": [{"uri": SENSITIVE}],
            "provision": {
                "type": "permit", "period": {"start": "2025-01-01", "end": "2026-12-31"},
                "actor": [{"role": role, "reference": {"reference": "Organization/payer-b"}}],
            },
        })
    }

    fn judged(consent: &Value) -> Result<(), ConsentDenialReason> {
        let requester = requester();
        ConsentContext { requester: &requester, now_us: NOW_US, base_url: OWN }
            .check_sent_consent(Some(consent), MatchRequesterKind::Payer)
    }

    fn changed(pointer: &str, value: Value) -> Value {
        let mut consent = good();
        *consent.pointer_mut(pointer).unwrap() = value;
        consent
    }

    #[test]
    fn every_check_constrains_by_itself() {
        assert_eq!(judged(&good()), Ok(()));
        let recipient = "/provision/actor/0/reference";
        for (pointer, value, constraint) in [
            ("/status", json!("inactive"), ConsentDenialReason::Status),
            ("/provision/type", json!("deny"), ConsentDenialReason::Denied),
            ("/provision/period", json!(null), ConsentDenialReason::Period),
            ("/provision/period", json!({}), ConsentDenialReason::Period),
            ("/provision/period/end", json!("2025-12-31"), ConsentDenialReason::Period),
            ("/provision/period/start", json!("2026-01-02"), ConsentDenialReason::Period),
            ("/provision/period/end", json!("whenever"), ConsentDenialReason::Period),
            ("/provision/period/start", json!(7), ConsentDenialReason::Period),
            (recipient, json!({"reference": "Organization/payer-c"}), ConsentDenialReason::Recipient),
            (
                recipient,
                json!({"reference": "https://other.example/fhir/Organization/payer-b"}),
                ConsentDenialReason::Recipient,
            ),
            (recipient, json!({"reference": "#o"}), ConsentDenialReason::Recipient),
            (recipient, json!({"identifier": {"system": "urn:npi", "value": "2"}}), ConsentDenialReason::Recipient),
            ("/provision/actor/0/role/coding/0/code", json!("PRCP"), ConsentDenialReason::Recipient),
            ("/provision/actor", json!([]), ConsentDenialReason::Recipient),
            ("/policy/0/uri", json!(SENSITIVE.replace("sensitive", "regular")), ConsentDenialReason::Policy),
            ("/policy", json!([]), ConsentDenialReason::Policy),
            ("/provision", json!(null), ConsentDenialReason::Period),
        ] {
            assert_eq!(judged(&changed(pointer, value.clone())), Err(constraint), "{pointer} {value}");
        }
        let nobody = RequestingOrganization { organization: None, ..requester() };
        let judge = ConsentContext { requester: &nobody, now_us: NOW_US, base_url: OWN };
        assert_eq!(
            judge.check_sent_consent(Some(&good()), MatchRequesterKind::Payer),
            Err(ConsentDenialReason::Persistence)
        );
        assert_eq!(judge.check_sent_consent(None, MatchRequesterKind::Payer), Err(ConsentDenialReason::Status));
    }

    #[test]
    fn a_period_may_be_open_at_one_end_and_coarse() {
        for period in [
            json!({"start": "2025"}),
            json!({"end": "2026"}),
            json!({"start": "2026-01", "end": "2026-01-01"}),
            json!({"start": "2026-01-01T01:00:00+01:00", "end": "2026-01-01T00:00:00Z"}),
        ] {
            assert_eq!(judged(&changed("/provision/period", period.clone())), Ok(()), "{period}");
        }
        for period in [json!({"start": "2026-01-01T00:00:01Z"}), json!({"start": "26"}), json!({"end": "2026-13"})] {
            assert_eq!(
                judged(&changed("/provision/period", period.clone())),
                Err(ConsentDenialReason::Period),
                "{period}"
            );
        }
    }

    #[test]
    fn the_recipient_may_be_named_by_what_its_claim_proves() {
        let identifier = json!({"system": "urn:npi", "value": "1"});
        let recipient = "/provision/actor/0/reference";
        for reference in [
            json!({"reference": "https://payer.example/fhir/Organization/payer-b"}),
            json!({"resourceType": "Organization", "id": "payer-b"}),
            json!({"identifier": identifier}),
        ] {
            assert_eq!(judged(&changed(recipient, reference.clone())), Ok(()), "{reference}");
        }
        for reference in [json!({"reference": "#o"}), json!({"localRef": "o"})] {
            let mut consent = changed(recipient, reference);
            consent["contained"] = json!([{"resourceType": "Organization", "id": "o", "identifier": [identifier]}]);
            assert_eq!(judged(&consent), Ok(()));
            consent["contained"][0]["identifier"] = json!([]);
            assert_eq!(judged(&consent), Err(ConsentDenialReason::Recipient));
        }
    }

    #[test]
    fn a_provider_attests_with_an_active_consent_and_no_more() {
        let requester = requester();
        let judge = ConsentContext { requester: &requester, now_us: NOW_US, base_url: OWN };
        assert_eq!(judge.check_sent_consent(Some(&json!({"status": "active"})), MatchRequesterKind::Provider), Ok(()));
        for consent in [Some(json!({"status": "draft"})), Some(json!({})), None] {
            assert_eq!(
                judge.check_sent_consent(consent.as_ref(), MatchRequesterKind::Provider),
                Err(ConsentDenialReason::Status)
            );
        }
    }

    fn opt_out(patient: &str) -> Value {
        json!({
            "status": "active", "patient": {"reference": format!("Patient/{patient}")},
            "category": [{"coding": [{"system": PURPOSE, "code": "provider-access"}]}], "provision": {"type": "deny"},
        })
    }

    #[test]
    fn an_export_writes_for_who_has_not_opted_out_or_has_opted_in() {
        let mut inactive = opt_out("b");
        inactive["status"] = json!("inactive");
        let allowed = prepare_stored_consent(&good(), "c", "payer-b");
        let consents = [opt_out("a"), inactive, allowed].map(|consent| ("id".to_owned(), consent));
        let of = |rule: &ExportConsentRule| consenting_patients(rule, &["a", "b", "c", "d"], &consents, (NOW_US, OWN));
        assert_eq!(of(&ExportConsentRule::OptOut).into_iter().collect::<Vec<_>>(), ["b", "c", "d"]);
        assert_eq!(of(&ExportConsentRule::OptIn(requester())).into_iter().collect::<Vec<_>>(), ["c"]);
        let other =
            RequestingOrganization { organization: Some("other".to_owned()), value: "2".to_owned(), ..requester() };
        assert!(of(&ExportConsentRule::OptIn(other)).is_empty());
    }

    #[test]
    fn what_is_kept_is_about_our_patient_and_for_who_asked() {
        let kept = prepare_stored_consent(&good(), "p", "payer-b");
        assert_eq!(kept["patient"]["reference"], "Patient/p");
        assert_eq!(kept["organization"], json!([{"reference": "Organization/payer-b"}]));
        assert_eq!((kept.get("id"), kept.get("resourceType")), (None, None));
        assert_eq!(kept["provision"], good()["provision"]);
    }
}
