//! Member match: which patient of ours a member of another payer or provider is, and the Groups of the answer.
//!
//! Everything here is a function of what was sent and what is stored: [`match_request`] reads the members of a request,
//! [`RequiredDemographics`] compares them with patients, [`MatchedMembers`] decides what becomes of each, and
//! [`match_group`] makes the Groups of the answer.
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`; `docs/decisions.md`, "Member match".

mod decision;
mod demographics;
pub mod match_group;
pub mod match_request;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bulk_export::SearchParameterPairs;
use crate::elements::text;
use crate::requester::{MatchRequesterKind, RequestingOrganization};
pub use decision::{ConsentToStore, MatchedMembers};
pub use demographics::{MemberIdentifierRule, PatientMatchRules, RequiredDemographics};
pub use match_group::MemberMatchOutcome;
pub use match_request::{MatchRequestError, SubmittedMember};

/// Most members of one request. Not specified; five thousand, which is what fits into one Group that is still read
/// in one piece.
pub const REQUEST_MEMBERS_MAX: usize = 5000;

/// The work of a match job, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchWork {
    /// The kind of match.
    pub kind: MatchRequesterKind,
    /// The organization that requests the match.
    pub requester: RequestingOrganization,
    /// The members of the request.
    pub members: Vec<SubmittedMember>,
    /// Lists of queries that limit which Patients may be found; a patient must meet one query of each list.
    pub within: Vec<Vec<SearchParameterPairs>>,
    /// The rule of whether an identifier must name the member.
    #[serde(default)]
    pub identifier: MemberIdentifierRule,
}

/// The stored records about the members of a request: patients and coverages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberRecords {
    /// Patients with their ids, by their birth dates.
    patients: BTreeMap<String, Vec<(String, Value)>>,
    /// Coverages by their subscribers' ids.
    coverages: BTreeMap<String, Vec<Value>>,
}

impl MemberRecords {
    /// Collects Patients with their ids, and Coverages; those without a birth date or a subscriber id are left out.
    pub fn from_resources(
        patients: impl IntoIterator<Item = (String, Value)>,
        coverages: impl IntoIterator<Item = Value>,
    ) -> Self {
        let mut known = Self::default();
        for (id, patient) in patients {
            if let Some(birth_date) = text(&patient, "birthDate").map(str::to_owned) {
                known.patients.entry(birth_date).or_default().push((id, patient));
            }
        }
        for coverage in coverages {
            if let Some(subscriber) = text(&coverage, "subscriberId").map(str::to_owned) {
                known.coverages.entry(subscriber).or_default().push(coverage);
            }
        }
        known
    }
}
