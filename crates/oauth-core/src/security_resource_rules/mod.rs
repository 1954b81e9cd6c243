//! The rules for writing security resources (Client, User, `AccessPolicy`, …): validation, hashing and redaction of
//! secrets.
//!
//! Clients, Users, access policies, Organizations and `TokenIntrospector`s come in by many doors (the native endpoint,
//! `/fhir`, patches, Bundles, the init bundle). These rules are the same at every door:
//! - [`find_storage_obstacles`] names everything that is wrong with the document to be stored,
//! - [`hash_resource_secrets`] and [`hash_json_patch_secrets`] replace secrets by their hashes before anything is
//!   stored,
//! - [`redact_secrets`] takes secrets out of whatever leaves the server.
//!
//! The order for a write is seal, then validate what would be stored: a patched document already
//! holds hashes, and sealing it again would destroy them. So what is sealed is always what came
//! from outside, never what came from storage.
//!
//! Elements that are not described are kept unchecked, because documents of the platform carry more fields than the
//! specification shows, unless their name is nearly that of a described one. The described ones are checked, because a
//! Client that is stored with `pkce: "true"` is one whose owner believes something false.
//!
//! ```
//! use oauth_core::security_resource_rules::{find_storage_obstacles, redact_secrets};
//! use oauth_core::settings::AuthorizationSettings;
//! use serde_json::json;
//!
//! let mut client = json!({"grant_types": ["client_credentials"], "secret": "s3cr3t", "active": "yes"});
//! let settings = AuthorizationSettings::new("https://payer.example", "http://platform.example/fhir");
//! let issues = find_storage_obstacles("Client", &client, &settings);
//! assert_eq!(issues[0].expression, "Client.active");
//! redact_secrets("Client", &mut client);
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

pub use crate::access_policies::{ResourceIssue, ResourceIssueCode};
pub use redact::{may_hold_secrets, redact_secrets, redacted_members};
pub use seal::{ResourceSecretHashing, hash_json_patch_secrets, hash_resource_secrets, needs_secret_hashing};
pub(crate) use shape::{is_redirect_uri, is_web_address};
pub(crate) use spelling::misspelt;
pub(crate) use user::PERSONS;

use b2b_claim::DeploymentUrls;
use serde_json::Value;

use crate::access_policies::AccessPolicy;
use crate::introspector::{self, IntrospectionTrust};
use crate::settings::AuthorizationSettings;

/// Returns every issue that forbids storing `resource` as a `kind`; empty when it may be stored. Kinds without rules of
/// their own have no issues here.
///
/// `resource` is the whole document as it would be stored; `resourceType` and `id` may be in it.
///
/// # Source
/// Specification, "Client resource"; `docs/decisions.md`, "Registration".
#[must_use]
pub fn find_storage_obstacles(kind: &str, resource: &Value, settings: &AuthorizationSettings) -> Vec<ResourceIssue> {
    if !is_ruled(kind) {
        return Vec::new();
    }
    if !resource.is_object() {
        return vec![ResourceIssue::new(ResourceIssueCode::Structure, kind, "a resource is a JSON object")];
    }
    match kind {
        "Client" => client::validate(resource, settings.b2b_deployment()),
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

/// Returns the warnings about a `resource` that may be stored: a policy that opens the server to everyone, an extension
/// that will give no claim.
#[must_use]
pub fn find_write_warnings<'a>(
    kind: &str,
    resource: &Value,
    deployment: impl Into<DeploymentUrls<'a>>,
) -> Vec<ResourceIssue> {
    match kind {
        "Client" => client::warnings(resource, deployment),
        "AccessPolicy" => {
            AccessPolicy::parse("", resource).map(|policy| policy.warnings_for_author()).unwrap_or_default()
        }
        "TokenIntrospector" => introspector::warnings(resource),
        _ => Vec::new(),
    }
}

/// Returns a warning when the tokens of a Client carried the B2B claim before a write and carry it no longer. `None`
/// for other kinds.
#[must_use]
pub fn lost_b2b_claim(
    kind: &str,
    before: &Value,
    after: &Value,
    settings: &AuthorizationSettings,
) -> Option<ResourceIssue> {
    if kind == "Client" { client::lost_claim(before, after, settings.b2b_deployment()) } else { None }
}

fn is_ruled(kind: &str) -> bool {
    matches!(kind, "Client" | "User" | "AccessPolicy" | "Organization" | "TokenIntrospector")
}
