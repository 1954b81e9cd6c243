//! `$davinci-data-export`: which export of a Group is asked for.

use fhir_store::member_match_group::{MEMBER_MATCH_GROUP_PROFILE, TREATMENT_RELATIONSHIP_PROFILE};
use serde_json::Value;

use crate::bulk_export::{ElementSelection, ExportParameters};
use crate::consent::ExportConsentRule;
use crate::elements::{each, referred};
use crate::member_match::match_group;
use crate::requester::RequestingOrganization;

/// How far back a payer's claims go: five years of 365.25 days, in microseconds.
///
/// # Source
/// `docs/decisions.md`, "Exports".
const CLAIMS_US: i64 = 1826 * 24 * 3600 * 1_000_000;
const PREFIX: &str = "hl7.fhir.us.davinci-pdex#";

/// The `exportType` of a Da Vinci export: to the next payer, or to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DavinciExportType {
    /// To the next payer of the members, who have allowed it.
    PayerToPayer,
    /// To a provider who treats the members, of whom none opted out.
    ProviderDownload,
}

/// The reason why a Da Vinci export is refused. The texts are the platform's own where it has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DavinciExportError {
    /// There is no `exportType`.
    #[error("Parameter exportType is required")]
    NoType,
    /// An `exportType` that does not exist.
    #[error("Unsupported exportType: {0}")]
    UnknownType(String),
    /// An `exportType` of Da Vinci that is not served.
    #[error("exportType {0} is not supported by this server: ask for {PREFIX}provider-download with _since")]
    UnservedType(String),
    /// A filter on claims, which would reveal which of them exist.
    #[error("Caller-supplied _typeFilter on ExplanationOfBenefit is not supported")]
    FilterOnClaims,
    /// The Group does not have the profile of this export type.
    #[error("The Group does not have the profile that exportType {0} needs")]
    Profile(&'static str),
    /// The Group is not active.
    #[error("The Group is not active")]
    Inactive,
    /// The token proves no organization that a member could consent to.
    #[error("Token must contain extensions.hl7-b2b.organization_id for opt-in consent strategy")]
    NoOrganization,
    /// Patients that are not members of the Group.
    #[error("patient must be a member of the Group: {0}")]
    NoMember(String),
}

impl DavinciExportType {
    /// Returns the export type that the request parameters name.
    ///
    /// # Errors
    /// [`DavinciExportError`].
    pub fn from_parameters(asked: &ExportParameters) -> Result<Self, DavinciExportError> {
        let sent = asked.export_type.as_deref().ok_or(DavinciExportError::NoType)?;
        let export_type = match sent.strip_prefix(PREFIX) {
            Some("payertopayer") => Self::PayerToPayer,
            Some("provider-download") => Self::ProviderDownload,
            Some("provider-delta" | "provider-snapshot") => {
                return Err(DavinciExportError::UnservedType(sent.to_owned()));
            }
            _ => return Err(DavinciExportError::UnknownType(sent.to_owned())),
        };
        let on_claims = asked.filters.iter().any(|(resource_type, _)| resource_type.as_str() == "ExplanationOfBenefit");
        if on_claims { Err(DavinciExportError::FilterOnClaims) } else { Ok(export_type) }
    }

    /// Returns the name of the export type, which is the fragment of its URL: `payertopayer`.
    #[must_use]
    pub const fn fragment_name(self) -> &'static str {
        match self {
            Self::PayerToPayer => "payertopayer",
            Self::ProviderDownload => "provider-download",
        }
    }

    const fn profile(self) -> &'static str {
        match self {
            Self::PayerToPayer => MEMBER_MATCH_GROUP_PROFILE,
            Self::ProviderDownload => TREATMENT_RELATIONSHIP_PROFILE,
        }
    }

    /// Checks that a Group has the profile of this export type and is active at `now_us`, UNIX microseconds.
    ///
    /// # Errors
    /// [`DavinciExportError`].
    pub fn check_group(self, group: &Value, now_us: i64) -> Result<(), DavinciExportError> {
        let profiles = group.get("meta").map_or(&[][..], |meta| each(meta, "profile"));
        if !profiles.iter().any(|profile| profile.as_str() == Some(self.profile())) {
            return Err(DavinciExportError::Profile(self.fragment_name()));
        }
        let active = group.get("active") == Some(&Value::Bool(true)) && !match_group::is_group_expired(group, now_us);
        if active { Ok(()) } else { Err(DavinciExportError::Inactive) }
    }

    /// Returns the consent rule of the export. Not specified for an administrator without a claim, for whom `requester`
    /// is `None`: the Group's own recipient is used then.
    ///
    /// # Errors
    /// [`DavinciExportError::NoOrganization`].
    pub fn required_consent(
        self,
        group: &Value,
        requester: Option<RequestingOrganization>,
    ) -> Result<ExportConsentRule, DavinciExportError> {
        match self {
            Self::ProviderDownload => Ok(ExportConsentRule::OptOut),
            Self::PayerToPayer => {
                let requester = requester
                    .or_else(|| match_group::group_recipient_organization(group))
                    .ok_or(DavinciExportError::NoOrganization)?;
                Ok(ExportConsentRule::OptIn(requester))
            }
        }
    }

    /// Returns the elements that the export writes, with the earliest date of service of claims.
    #[must_use]
    pub const fn element_selection(self, now_us: i64) -> ElementSelection {
        match self {
            Self::PayerToPayer => ElementSelection::DaVinci { claims_since_us: Some(now_us.saturating_sub(CLAIMS_US)) },
            Self::ProviderDownload => ElementSelection::DaVinci { claims_since_us: None },
        }
    }
}

/// Returns the ids of the patients who are members of a Group and not marked as inactive.
#[must_use]
pub fn active_member_patient_ids(group: &Value, base_url: &str) -> std::collections::BTreeSet<String> {
    let members = each(group, "member").iter().filter(|member| member.get("inactive") != Some(&Value::Bool(true)));
    let ids = members.filter_map(|member| referred(member.get("entity")?, "Patient", base_url));
    ids.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(export_type: Option<&str>) -> ExportParameters {
        ExportParameters { export_type: export_type.map(str::to_owned), ..ExportParameters::default() }
    }

    #[test]
    fn the_four_types_of_da_vinci_are_told_from_others() {
        let of = |text: &str| DavinciExportType::from_parameters(&asked(Some(text)));
        assert_eq!(of("hl7.fhir.us.davinci-pdex#payertopayer"), Ok(DavinciExportType::PayerToPayer));
        assert_eq!(of("hl7.fhir.us.davinci-pdex#provider-download"), Ok(DavinciExportType::ProviderDownload));
        for text in ["provider-delta", "provider-snapshot"] {
            let text = format!("hl7.fhir.us.davinci-pdex#{text}");
            assert_eq!(of(&text), Err(DavinciExportError::UnservedType(text.clone())));
        }
        for text in ["payertopayer", "hl7.fhir.us.davinci-pdex#", "hl7.fhir.us.davinci-pdex#PayerToPayer", ""] {
            assert_eq!(of(text), Err(DavinciExportError::UnknownType(text.to_owned())));
        }
        assert_eq!(DavinciExportType::from_parameters(&asked(None)), Err(DavinciExportError::NoType));
        let filters = vec![("ExplanationOfBenefit".parse().unwrap(), Vec::new())];
        let filtered = ExportParameters { filters, ..asked(Some("hl7.fhir.us.davinci-pdex#payertopayer")) };
        assert_eq!(DavinciExportType::from_parameters(&filtered), Err(DavinciExportError::FilterOnClaims));
    }

    #[test]
    fn a_group_of_another_profile_or_inactive_is_refused() {
        let group = |profile: &str, active: bool| json!({"meta": {"profile": [profile]}, "active": active});
        let export = DavinciExportType::PayerToPayer;
        assert_eq!(export.check_group(&group(MEMBER_MATCH_GROUP_PROFILE, true), 0), Ok(()));
        assert_eq!(export.check_group(&group(MEMBER_MATCH_GROUP_PROFILE, false), 0), Err(DavinciExportError::Inactive));
        assert_eq!(
            export.check_group(&group(TREATMENT_RELATIONSHIP_PROFILE, true), 0),
            Err(DavinciExportError::Profile("payertopayer"))
        );
        assert_eq!(export.check_group(&json!({}), 0), Err(DavinciExportError::Profile("payertopayer")));
        assert_eq!(
            DavinciExportType::ProviderDownload.check_group(&group(TREATMENT_RELATIONSHIP_PROFILE, true), 0),
            Ok(())
        );
    }

    #[test]
    fn members_are_active_patients_in_either_spelling() {
        let group = json!({"member": [
            {"entity": {"reference": "Patient/a"}, "inactive": false},
            {"entity": {"resourceType": "Patient", "id": "b"}},
            {"entity": {"reference": "https://payer.example/fhir/Patient/c/_history/3"}},
            {"entity": {"reference": "Patient/d"}, "inactive": true},
            {"entity": {"reference": "#1"}}, {"entity": {"reference": "Practitioner/p"}}, {},
        ]});
        let ids: Vec<_> = active_member_patient_ids(&group, "https://payer.example/fhir/").into_iter().collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }
}
