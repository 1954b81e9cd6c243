//! What payers ask each other for: finding members, asking their consent, and the Groups that come of it.
//!
//! Everything here is a function of what was sent and what is stored: [`mod@sent`] reads the members of a request,
//! [`matching`] says which patient one is, [`consent`] whether anything of theirs may be shared, [`group`] makes the
//! Groups of the answer, [`davinci`] says what a Da Vinci export of such a Group is, and [`claims`] what of a claim
//! is left in it. Where the documents come from is behind [`PayerStore`].
//!
//! # Source
//! HL7 Da Vinci `HRex` and `PDex`; `docs/decisions.md`, "Member match" and "Exports".

pub mod claims;
pub mod consent;
pub mod davinci;
pub mod decide;
pub mod group;
pub mod matching;
pub mod member_identifier;
pub mod sent;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ports::StoreError;
pub use consent::{ConsentConstraint, ConsentRule};
pub use decide::MatchedMembers;
pub use group::MatchOutcome;
pub use matching::{IdentifierRule, MatchTerms, RequiredDemographics};
pub use sent::{MatchRequestError, SubmittedMember};

/// Most members of one request. Not specified; five thousand, which is what fits into one Group that is still read
/// in one piece.
pub const MEMBERS_MAX: usize = 5000;

/// The kind of a match operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchKind {
    /// `$bulk-member-match`: another payer asks.
    Payer,
    /// `$provider-member-match`: a provider asks, who attests to treat the members.
    Provider,
}

/// The organization that requests a match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestingOrganization {
    /// The system of its identifier, as its claim says it.
    pub system: String,
    /// The value of its identifier.
    pub value: String,
    /// The id of its Organization here; `None` when there is none any more.
    pub organization: Option<String>,
}

/// A match, as its job keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchWork {
    /// Which.
    pub kind: MatchKind,
    /// Who asks.
    pub requester: RequestingOrganization,
    /// The members asked for.
    pub members: Vec<SubmittedMember>,
    /// What scopes leave open of Patients: of each of these a patient has to meet one query.
    pub within: Vec<Vec<crate::export::SearchParameters>>,
    /// Whether a member has to be named by an identifier.
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
    /// Patients with their ids, and coverages, in any order.
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

/// The store operations of member matching.
#[async_trait]
pub trait PayerStore: Send + Sync {
    /// Returns what is stored about these people, in two statements however many there are.
    ///
    /// # Errors
    /// When the store fails.
    async fn known(&self, asked: &[&RequiredDemographics]) -> Result<MemberRecords, StoreError>;

    /// Returns the Consents of these patients with their ids; `fhir_base` is the address of our own FHIR endpoint
    /// without a slash at the end.
    ///
    /// # Errors
    /// When the store fails.
    async fn consents(&self, patients: &[&str], fhir_base: &str) -> Result<Vec<(String, Value)>, StoreError>;

    /// Returns the ids of the Organizations with this identifier.
    ///
    /// # Errors
    /// When the store fails.
    async fn organizations(&self, system: &str, value: &str) -> Result<Vec<String>, StoreError>;
}

/// Returns the members of an array field, or none when there is no such array.
pub(crate) fn each<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Text that says something.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// Returns whether a `CodeableConcept` has this coding; any code system where `system` is `None`.
pub(crate) fn has_code(concept: Option<&Value>, system: Option<&str>, code: &str) -> bool {
    let codings = concept.map_or(&[][..], |concept| each(concept, "coding"));
    codings.iter().any(|coding| {
        text(coding, "code") == Some(code) && system.is_none_or(|system| text(coding, "system") == Some(system))
    })
}

/// Returns the id of a resource of this type that a reference in either spelling names; `own` is `{base_url}/fhir/`.
pub(crate) fn referred<'a>(reference: &'a Value, kind: &str, own: &str) -> Option<&'a str> {
    if text(reference, "resourceType") == Some(kind) {
        return text(reference, "id");
    }
    let spelled = text(reference, "reference").or_else(|| text(reference, "uri"))?;
    let relative = spelled.strip_prefix(own).unwrap_or(spelled);
    let id = relative.strip_prefix(kind)?.strip_prefix('/')?;
    Some(id.split_once("/_history/").map_or(id, |(id, _)| id))
}
