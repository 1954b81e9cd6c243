//! Member match: which patient of ours a member of another payer or provider is, and the Groups of the answer.
//!
//! Everything here is a function of what was sent and what is stored: [`request`] reads the members of a request,
//! [`RequiredDemographics`] compares them with patients, [`MatchedMembers`] decides what becomes of each, and [`group`]
//! makes the Groups of the answer.
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`; `docs/decisions.md`, "Member match".

mod decision;
mod demographics;
pub mod group;
pub mod request;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::elements::text;
use crate::export::SearchParameters;
use crate::requester::{MatchKind, RequestingOrganization};
pub use decision::{ConsentToStore, MatchedMembers};
pub use demographics::{IdentifierRule, MatchTerms, RequiredDemographics};
pub use group::MatchOutcome;
pub use request::{MatchRequestError, SubmittedMember};

/// Most members of one request. Not specified; five thousand, which is what fits into one Group that is still read
/// in one piece.
pub const MEMBERS_MAX: usize = 5000;

/// The work of a match job, as the job stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchWork {
    /// The kind of match.
    pub kind: MatchKind,
    /// The organization that requests the match.
    pub requester: RequestingOrganization,
    /// The members of the request.
    pub members: Vec<SubmittedMember>,
    /// The Patients that scopes open: a patient must meet one query of each list.
    pub within: Vec<Vec<SearchParameters>>,
    /// Whether a member must be named by an identifier.
    #[serde(default)]
    pub identifier: IdentifierRule,
}

/// The stored records about the members of a match request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberRecords {
    /// Patients with their ids, by their birth dates.
    patients: BTreeMap<String, Vec<(String, Value)>>,
    /// Coverages by their subscribers' ids.
    coverages: BTreeMap<String, Vec<Value>>,
}

impl MemberRecords {
    /// Collects patients with their ids, and coverages, in any order.
    pub fn of(patients: impl IntoIterator<Item = (String, Value)>, coverages: impl IntoIterator<Item = Value>) -> Self {
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
