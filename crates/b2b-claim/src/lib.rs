//! The `hl7-b2b` claim of an access token: whom the calling Client acts for, and for what purpose.
//!
//! **Owns** the reading of the `client-hl7B2b` extension ([`ClientB2bExtension`]), the claim built from it and
//! the Organization it points at ([`B2bClaim`], [`OrganizationId`]), the typed reason when there is none
//! ([`Omission`]), and the check of the extension when a Client is written ([`validate_b2b_extension`]).
//!
//! **Refuses** storage, HTTP and JWT. Two steps, because the lookup of the Organization lies between
//! them: [`ClientB2bExtension::from_client`], then [`ClientB2bExtension::build_claim`]. The token is issued either way;
//! an [`Omission`] says in a label for a metric, a sentence for a log and a structure for an
//! administrator why it carries no claim.
//!
//! **Key decision: nothing is repaired.** Systems are compared byte for byte, the union form that `/fhir`
//! writes is not read, and whatever is ambiguous (two organizations, a value with `#`) yields no claim:
//! other operations read from the claim who is calling, so a guess would be an impersonation.
//!
//! **Road not taken:** a claim sent by the client in its assertion. It would let any partner name any
//! organization; only the registered one is used.
//!
//! **Choices where the specification is silent**
//! - A reference to another server, a versioned one (`…/_history/2`), a contained or a logical one is
//!   [`Omission::BadOrganizationReference`]: the claim follows the current Organization of this deployment.
//!   `Organization/x`, `{resourceType, id}` and the address of the deployment's own Organization are read
//!   ([`DeploymentUrls`]).
//! - An empty `identifier.value` is no match; of several usable ones the first in order is taken.
//! - An Organization without a name gives a claim without `organization_name`.
//! - A purpose without system or code is left out.
//!
//! ```
//! use b2b_claim::{Omission, ClientB2bExtension};
//! use serde_json::json;
//!
//! let client = json!({
//!     "auth": {"client_credentials": {"token_format": "jwt"}},
//!     "extension": [{
//!         "url": "http://platform.example/fhir/StructureDefinition/client-hl7B2b",
//!         "extension": [
//!             {"url": "organization", "valueReference": {"reference": "Organization/payer-a"}},
//!             {"url": "organizationIdentifierSystem", "valueUri": "http://hl7.org/fhir/sid/us-npi"}
//!         ]
//!     }]
//! });
//! let registration = ClientB2bExtension::from_client(&client, "http://platform.example/fhir", "client_credentials")?;
//! assert_eq!(registration.organization.id, "payer-a"); // to be looked up by the caller
//!
//! let organization = json!({
//!     "name": "Payer A",
//!     "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567893"}]
//! });
//! let claim = registration.build_claim(Some(&organization))?;
//! assert_eq!(claim.organization_id.to_string(), "http://hl7.org/fhir/sid/us-npi#1234567893");
//!
//! let why = registration.build_claim(None).unwrap_err();
//! assert_eq!(why.metric_label(), "organization_absent");
//! # Ok::<(), Omission>(())
//! ```

mod claim;
mod deployment;
mod extension;
pub mod limits;
mod omission;
mod organization_id;
mod registration;
mod validation;

pub use claim::{B2bClaim, ClaimVersion};
pub use deployment::DeploymentUrls;
pub use extension::SubExtension;
pub use omission::{Omission, OmissionDiagnosis};
pub use organization_id::{OrganizationId, OrganizationIdError};
pub use registration::{ClientB2bExtension, OrganizationReference, PurposeOfUse};
pub use validation::{ExtensionIssue, ExtensionIssueSeverity, ExtensionProblem, validate_b2b_extension};

/// The key of the claim inside the token's `extensions` object.
pub const CLAIM_KEY: &str = "hl7-b2b";

/// Returns the URL of the Client extension under `ext_base`.
///
/// # Source
/// Specification "Extension `client-hl7B2b`".
#[must_use]
pub fn extension_url(ext_base: &str) -> String {
    format!("{}/StructureDefinition/client-hl7B2b", ext_base.trim_end_matches('/'))
}

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
