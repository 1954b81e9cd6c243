//! What is asked of a security resource when it is written, and what of it is never shown.
//!
//! Clients, Users, access policies, Organizations and `TokenIntrospector`s come in by many doors (the native endpoint,
//! `/fhir`, patches, Bundles, the init bundle). These rules are the same at every door:
//! - [`validate`] names everything that is wrong with the document to be stored,
//! - [`seal`] and [`seal_patch`] replace secrets by their hashes before anything is stored,
//! - [`redact`] takes secrets out of whatever leaves the server.
//!
//! The order for a write is seal, then validate what would be stored: a patched document already
//! holds hashes, and sealing it again would destroy them. So what is sealed is always what came
//! from outside, never what came from storage.
//!
//! Elements that are not described are kept unchecked, because documents of the platform carry more
//! fields than the specification shows, unless their name is nearly that of a described one. The described ones are checked, because a Client that is
//! stored with `pkce: "true"` is one whose owner believes something false.
//!
//! ```
//! use oauth_core::registration::{redact, validate};
//! use oauth_core::settings::Settings;
//! use serde_json::json;
//!
//! let mut client = json!({"grant_types": ["client_credentials"], "secret": "s3cr3t", "active": "yes"});
//! let settings = Settings::new("https://payer.example", "http://platform.example/fhir");
//! let issues = validate("Client", &client, &settings);
//! assert_eq!(issues[0].expression, "Client.active");
//! redact("Client", &mut client);
//! assert_eq!(client.get("secret"), None);
//! ```

mod client;
mod jwks;
mod organization;
mod redact;
mod seal;
mod shape;
mod spelling;
mod user;

pub use crate::policy::{PolicyIssue, PolicyIssueCode};
pub use redact::{has_secrets, redact, withheld};
pub use seal::{SecretHashing, holds_secret, seal, seal_patch};
pub(crate) use shape::{is_redirect_uri, is_web_address};
pub(crate) use spelling::misspelt;
pub(crate) use user::PERSONS;

use b2b_claim::Deployment;
use serde_json::Value;

use crate::introspector::{self, IntrospectionTrust};
use crate::policy::AccessPolicy;
use crate::settings::Settings;

/// Everything that forbids storing `resource` as a `kind`; empty when it may be stored. Kinds
/// without rules of their own have no issues here.
///
/// `resource` is the whole document as it would be stored; `resourceType` and `id` may be in it.
///
/// # Source
/// Specification, "Client resource"; `docs/decisions.md`, "Registration".
#[must_use]
pub fn validate(kind: &str, resource: &Value, settings: &Settings) -> Vec<PolicyIssue> {
    if !is_ruled(kind) {
        return Vec::new();
    }
    if !resource.is_object() {
        return vec![PolicyIssue::new(PolicyIssueCode::Structure, kind, "a resource is a JSON object")];
    }
    match kind {
        "Client" => client::validate(resource, settings.deployment()),
        "User" => user::validate(resource, &settings.base_url),
        "AccessPolicy" => {
            let wrong = AccessPolicy::parse("", resource).err().unwrap_or_default();
            wrong.into_iter().chain(AccessPolicy::misspelt(resource)).collect()
        }
        "TokenIntrospector" => {
            let wrong = IntrospectionTrust::read(resource).err().unwrap_or_default();
            wrong.into_iter().chain(introspector::misspelt(resource)).collect()
        }
        _ => organization::validate(resource),
    }
}

/// Returns what the writer should know although `resource` may be stored: a policy that opens the server to everyone,
/// an extension that will give no claim.
#[must_use]
pub fn warnings<'a>(kind: &str, resource: &Value, deployment: impl Into<Deployment<'a>>) -> Vec<PolicyIssue> {
    match kind {
        "Client" => client::warnings(resource, deployment),
        "AccessPolicy" => AccessPolicy::parse("", resource).map(|policy| policy.warnings()).unwrap_or_default(),
        "TokenIntrospector" => introspector::warnings(resource),
        _ => Vec::new(),
    }
}

/// Returns what the tokens of a Client carried before a write and carry no longer: the B2B claim. `None` of other
/// kinds.
#[must_use]
pub fn lost_claim(kind: &str, before: &Value, after: &Value, settings: &Settings) -> Option<PolicyIssue> {
    if kind == "Client" { client::lost_claim(before, after, settings.deployment()) } else { None }
}

fn is_ruled(kind: &str) -> bool {
    matches!(kind, "Client" | "User" | "AccessPolicy" | "Organization" | "TokenIntrospector")
}
