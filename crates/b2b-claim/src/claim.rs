//! The claim itself.

use serde::{Deserialize, Serialize};

use crate::OrganizationId;

/// The `hl7-b2b` claim in the `extensions` of a JWT access token.
///
/// # Source
/// Specification "Access token claim `extensions.hl7-b2b`".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct B2bClaim {
    /// Always `1`.
    pub version: ClaimVersion,
    /// The calling organization.
    pub organization_id: OrganizationId,
    /// The name of the organization; left out when the Organization has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
    /// `<system>#<code>` for each registered purpose in order; left out when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purpose_of_use: Vec<String>,
}

/// The supported version of the claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimVersion {
    /// The string `1`.
    #[default]
    #[serde(rename = "1")]
    One,
}
