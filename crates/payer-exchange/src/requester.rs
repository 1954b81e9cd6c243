//! The party that requests a match or an export: another payer or a provider, and its organization.

use serde::{Deserialize, Serialize};

/// The kind of requester of a bulk match: another payer or a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchRequesterKind {
    /// `$bulk-member-match`: requested by another payer.
    Payer,
    /// `$provider-member-match`: requested by a provider, who attests to treat the members.
    Provider,
}

/// The organization that requests a match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestingOrganization {
    /// The system of its identifier, as its claim has it.
    pub system: String,
    /// The value of its identifier.
    pub value: String,
    /// The id of its Organization here; `None` when none is stored.
    pub organization: Option<String>,
}
