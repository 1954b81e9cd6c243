//! The discovery documents of OAuth, OpenID Connect and SMART, made once at start.
//!
//! # Source
//! Specification, Discovery document fields; SMART App Launch 2.2.0, conformance; OpenID Connect
//! Discovery 1.0, section 3; RFC 8414.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::settings::AuthorizationSettings;
use crate::smart_style;
use crate::static_document::StaticDocument;

/// The discovery documents, and the addresses that rules compare with.
#[derive(Debug)]
pub struct DiscoveryDocuments {
    /// `/.well-known/smart-configuration`, also under `/fhir`.
    pub smart: StaticDocument,
    /// `/.well-known/openid-configuration`.
    pub openid: StaticDocument,
    /// `/.well-known/oauth-authorization-server`.
    pub oauth: StaticDocument,
    /// `/fhir/smart-style.json`.
    pub smart_style: StaticDocument,
    smart_style_url: String,
    token_endpoint: String,
    fhir_base: String,
}

impl DiscoveryDocuments {
    /// Creates the discovery documents of a deployment.
    #[must_use]
    pub fn new(settings: &AuthorizationSettings) -> Self {
        let smart = smart_configuration(settings);
        let smart_style = smart_style::smart_style_document();
        let document = |value: &Value| StaticDocument::from_json_bytes(Bytes::from(value.to_string()));
        Self {
            openid: document(&with(&smart, &openid_only(settings))),
            oauth: document(&with(&smart, &oauth_only())),
            smart: document(&smart),
            smart_style_url: smart_style::versioned_smart_style_url(&settings.base_url, &smart_style),
            smart_style,
            token_endpoint: settings.token_endpoint_url(),
            fhir_base: settings.fhir_base_url(),
        }
    }

    /// Returns the URL of the token endpoint, `{base_url}/auth/token`.
    #[must_use]
    pub fn token_endpoint_url(&self) -> &str {
        &self.token_endpoint
    }

    /// Returns the URL of [`smart_style`](Self::smart_style), with the version of its content.
    #[must_use]
    pub fn smart_style_url(&self) -> &str {
        &self.smart_style_url
    }

    /// Returns the FHIR base URL, `{base_url}/fhir`.
    #[must_use]
    pub fn fhir_base_url(&self) -> &str {
        &self.fhir_base
    }
}

/// Returns the specification's table, and what SMART requires beside it: `issuer` (with `sso-openid-connect`),
/// `revocation_endpoint`, `management_endpoint`, `response_types_supported`, and the capabilities that certified
/// servers name.
fn smart_configuration(settings: &AuthorizationSettings) -> Value {
    let at = |path: &str| format!("{}{path}", settings.base_url);
    json!({
        "issuer": settings.base_url,
        "authorization_endpoint": at("/auth/authorize"),
        "token_endpoint": settings.token_endpoint_url(),
        "introspection_endpoint": at("/auth/introspect"),
        "revocation_endpoint": at("/auth/revoke"),
        "userinfo_endpoint": at("/auth/userinfo"),
        "management_endpoint": at("/auth/apps"),
        "jwks_uri": at("/.well-known/jwks.json"),
        "grant_types_supported": [
            "authorization_code", "client_credentials", "password", "implicit",
            "urn:ietf:params:oauth:grant-type:token-exchange"
        ],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["RS384", "ES384"],
        "code_challenge_methods_supported": ["S256"],
        "response_types_supported": ["code", "token"],
        "capabilities": [
            "launch-standalone", "launch-ehr", "client-public", "client-confidential-symmetric",
            "client-confidential-asymmetric", "permission-patient", "permission-user", "permission-v1",
            "permission-v2", "permission-offline", "sso-openid-connect", "context-banner", "context-style",
            "context-standalone-patient", "context-ehr-patient", "context-ehr-encounter", "authorize-post"
        ],
        "scopes_supported": [
            "openid", "profile", "email", "launch", "launch/patient", "patient/*.cruds", "system/*.cruds",
            "user/*.cruds", "fhirUser", "offline_access", "online_access"
        ],
    })
}

fn openid_only(settings: &AuthorizationSettings) -> Value {
    json!({
        "issuer": settings.base_url,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "claims_supported": [
            "iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "fhirUser", "email", "name",
            "given_name", "middle_name", "family_name", "preferred_username", "picture", "locale", "zoneinfo"
        ],
        "authorization_response_iss_parameter_supported": true,
        "request_parameter_supported": false,
        // Absent means true (OpenID Connect Discovery 1.0, section 3).
        "request_uri_parameter_supported": false,
    })
}

fn oauth_only() -> Value {
    json!({
        "authorization_response_iss_parameter_supported": true,
        "introspection_endpoint_auth_methods_supported":
            ["client_secret_basic", "client_secret_post", "private_key_jwt"],
        "introspection_endpoint_auth_signing_alg_values_supported": ["RS384", "ES384"],
        "revocation_endpoint_auth_methods_supported":
            ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"],
        "revocation_endpoint_auth_signing_alg_values_supported": ["RS384", "ES384"],
    })
}

/// Returns the OAuth metadata both documents share, without the members only SMART knows.
fn with(smart: &Value, more: &Value) -> Value {
    let smart_only = ["capabilities", "management_endpoint"];
    let members = smart.as_object().into_iter().chain(more.as_object()).flatten();
    let members = members.filter(|(name, _)| !smart_only.contains(&name.as_str()));
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}
