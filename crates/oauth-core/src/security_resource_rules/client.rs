//! The rules of a Client.

use b2b_claim::{ClientB2bExtension, DeploymentUrls, ExtensionIssueSeverity};
use serde_json::Value;
use smart_scopes::Scope;

use super::shape::{MemberShape, MemberShapes, items, members, one, structure};
use super::{ResourceIssue, ResourceIssueCode, jwks};
use crate::client::JWT_BEARER_ASSERTION_TYPE;
use crate::jose::SigningAlg;
use crate::limits::REGISTERED_TOKEN_LIFETIME_MAX_S;

/// Longest lifetime of a refresh token, in seconds. Not specified; ten years is more than any
/// deployment keeps an unused grant.
const REFRESH_LIFETIME_MAX_S: i64 = 10 * 366 * 86_400;

/// The known entries of `grant_types`.
const GRANT_TYPES: [&str; 8] = [
    "basic",
    "code",
    "authorization_code",
    "client_credentials",
    "refresh_token",
    "password",
    "implicit",
    "urn:ietf:params:oauth:grant-type:token-exchange",
];

/// The described elements of a Client.
const CLIENT: MemberShapes = &[
    ("active", MemberShape::Flag),
    ("type", MemberShape::Text),
    ("name", MemberShape::Text),
    ("description", MemberShape::Text),
    ("grant_types", MemberShape::By(grant_types)),
    ("secret", MemberShape::Secret),
    ("first_party", MemberShape::Flag),
    ("trusted", MemberShape::Flag),
    ("scope", MemberShape::By(scope)),
    ("scopes", MemberShape::Objects),
    ("allowed-scopes", MemberShape::Objects),
    ("allowedIssuers", MemberShape::Texts),
    ("allowedAudiences", MemberShape::Texts),
    ("allowed_origins", MemberShape::Texts),
    ("jwks_uri", MemberShape::WebUrl),
    ("jwks", MemberShape::By(jwks::validate)),
    ("smart", MemberShape::Members(SMART)),
    ("fhir-base-url", MemberShape::Text),
    ("details", MemberShape::Members(DETAILS)),
    ("auth", MemberShape::Members(AUTH)),
    ("extension", MemberShape::Objects),
];

const SMART: MemberShapes =
    &[("launch_uri", MemberShape::WebUrl), ("name", MemberShape::Text), ("description", MemberShape::Text)];

/// What pages show of an app; everything else in `details` is free.
const DETAILS: MemberShapes =
    &[("logo_uri", MemberShape::WebUrl), ("policy_uri", MemberShape::WebUrl), ("tos_uri", MemberShape::WebUrl)];

/// One table for all grants: what a grant does not use does no harm, but is still checked.
const AUTH: MemberShapes = &[
    ("authorization_code", MemberShape::Members(GRANT)),
    ("client_credentials", MemberShape::Members(GRANT)),
    ("password", MemberShape::Members(GRANT)),
    ("implicit", MemberShape::Members(GRANT)),
    ("token_exchange", MemberShape::Members(GRANT)),
];

const GRANT: MemberShapes = &[
    ("redirect_uri", MemberShape::RedirectUri),
    ("token_format", MemberShape::Text),
    ("access_token_signing_alg", MemberShape::By(signing_alg)),
    ("access_token_expiration", MemberShape::Seconds(REGISTERED_TOKEN_LIFETIME_MAX_S)),
    ("refresh_token", MemberShape::Flag),
    ("refresh_token_expiration", MemberShape::Seconds(REFRESH_LIFETIME_MAX_S)),
    ("refresh_token_lifetime", MemberShape::Seconds(REFRESH_LIFETIME_MAX_S)),
    ("secret_required", MemberShape::Flag),
    ("pkce", MemberShape::Flag),
    ("audience", MemberShape::TextOrTexts),
    ("client_assertion_types", MemberShape::By(assertion_types)),
    ("default_identity_provider", MemberShape::Object),
];

pub(super) fn validate<'a>(client: &Value, deployment: impl Into<DeploymentUrls<'a>>) -> Vec<ResourceIssue> {
    let mut issues = members(CLIENT, "Client", client);
    issues.extend(app_protection(client));
    issues.extend(b2b(client, deployment.into(), ExtensionIssueSeverity::Error));
    issues
}

/// Returns what a write took from the tokens of a Client that had it: the B2B claim, of the first grant that lost it.
pub(super) fn lost_claim(before: &Value, after: &Value, deployment: DeploymentUrls<'_>) -> Option<ResourceIssue> {
    AUTH.iter().find_map(|(grant, _)| {
        ClientB2bExtension::from_client(before, deployment, grant).ok()?;
        let omission = ClientB2bExtension::from_client(after, deployment, grant).err()?;
        let text = format!("tokens of the grant {grant} no longer carry the hl7-b2b claim: {omission}");
        Some(ResourceIssue::new(ResourceIssueCode::Value, "Client.extension", text))
    })
}

pub(super) fn warnings<'a>(client: &Value, deployment: impl Into<DeploymentUrls<'a>>) -> Vec<ResourceIssue> {
    let mut issues = b2b(client, deployment.into(), ExtensionIssueSeverity::Warning);
    issues.extend(redirect_in_the_clear(client));
    issues.extend(client.get("jwks").map(|jwks| jwks::warnings("Client.jwks", jwks)).unwrap_or_default());
    issues
}

fn grant_types(at: &str, value: &Value) -> Vec<ResourceIssue> {
    items(at, value, |at, grant| match grant.as_str() {
        None => structure(at, "a string"),
        Some(name) if GRANT_TYPES.contains(&name) => Vec::new(),
        Some(_) => one(ResourceIssueCode::Value, at, format!("must be one of {}", GRANT_TYPES.join(", "))),
    })
}

/// Another type would be one that no assertion of the Client can have: it would look registered and be of no use.
fn assertion_types(at: &str, value: &Value) -> Vec<ResourceIssue> {
    items(at, value, |at, listed| match listed.as_str() {
        None => structure(at, "a string"),
        Some(JWT_BEARER_ASSERTION_TYPE) => Vec::new(),
        Some(_) => one(ResourceIssueCode::Value, at, format!("must be {JWT_BEARER_ASSERTION_TYPE}")),
    })
}

/// An element of ours: the specification leaves open what access tokens are signed with.
fn signing_alg(at: &str, value: &Value) -> Vec<ResourceIssue> {
    match value.as_str().map(str::parse::<SigningAlg>) {
        None => structure(at, "a string"),
        Some(Ok(_)) => Vec::new(),
        Some(Err(fault)) => one(ResourceIssueCode::Value, at, fault.to_string()),
    }
}

fn scope(at: &str, value: &Value) -> Vec<ResourceIssue> {
    let is_too_long = value.as_array().is_some_and(|scopes| scopes.len() > smart_scopes::limits::MAX_SCOPES);
    if is_too_long {
        return one(
            ResourceIssueCode::TooLong,
            at,
            format!("must have at most {} entries", smart_scopes::limits::MAX_SCOPES),
        );
    }
    items(at, value, |at, scope| match scope.as_str().map(str::parse::<Scope>) {
        None => structure(at, "a string: one scope"),
        Some(Ok(_)) => Vec::new(),
        Some(Err(fault)) => one(ResourceIssueCode::Value, at, fault.to_string()),
    })
}

/// An app that members authorize proves itself by PKCE or by a secret (specification,
/// `auth.authorization_code` fields). Asked only of what can use the code grant.
fn app_protection(client: &Value) -> Vec<ResourceIssue> {
    let settings = client.pointer("/auth/authorization_code");
    let grants = client.get("grant_types").and_then(Value::as_array).into_iter().flatten();
    let has_code_grant = grants.filter_map(Value::as_str).any(|name| matches!(name, "code" | "authorization_code"));
    let is_app = client.get("type").and_then(Value::as_str) == Some("smart-app");
    let is_on = |key| settings.and_then(|settings| settings.get(key)).and_then(Value::as_bool) == Some(true);
    if !is_app || !(has_code_grant || settings.is_some()) || is_on("pkce") || is_on("secret_required") {
        return Vec::new();
    }
    one(
        ResourceIssueCode::Invariant,
        "Client.auth.authorization_code",
        "a smart-app needs pkce true (public apps) or secret_required true (confidential apps)",
    )
}

/// A code that is sent by plain http can be read on its way (RFC 9700, section 4.1.1 forbids it but for
/// loopback). Not specified; we warn, because sandboxes live on inner hosts without TLS.
fn redirect_in_the_clear(client: &Value) -> Vec<ResourceIssue> {
    let grants = ["authorization_code", "implicit"].into_iter();
    let places =
        grants.map(|grant| (format!("Client.auth.{grant}.redirect_uri"), format!("/auth/{grant}/redirect_uri")));
    let clear = places.filter(|(_, pointer)| client.pointer(pointer).and_then(Value::as_str).is_some_and(is_clear));
    let text = "codes sent by plain http can be read on their way: use https, or a loopback address";
    clear.map(|(expression, _)| ResourceIssue::new(ResourceIssueCode::Security, expression, text)).collect()
}

fn is_clear(uri: &str) -> bool {
    let Ok(uri) = url::Url::parse(uri) else { return false };
    let is_loopback = match uri.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    uri.scheme() == "http" && !is_loopback
}

fn b2b(client: &Value, deployment: DeploymentUrls<'_>, severity: ExtensionIssueSeverity) -> Vec<ResourceIssue> {
    let found = b2b_claim::validate_b2b_extension(client, deployment).into_iter();
    let code = |severity| match severity {
        ExtensionIssueSeverity::Error => ResourceIssueCode::Invariant,
        ExtensionIssueSeverity::Warning => ResourceIssueCode::Value,
    };
    found
        .filter(|issue| issue.severity == severity)
        .map(|issue| ResourceIssue::new(code(issue.severity), issue.expression, issue.problem.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const EXT_BASE: &str = "http://platform.example/fhir";

    fn found(client: &Value) -> Vec<(String, ResourceIssueCode)> {
        validate(client, EXT_BASE).into_iter().map(|issue| (issue.expression, issue.code)).collect()
    }

    fn issue(expression: &str, code: ResourceIssueCode) -> (String, ResourceIssueCode) {
        (format!("Client.{expression}"), code)
    }

    fn backend() -> Value {
        json!({
            "resourceType": "Client",
            "id": "partner",
            "active": true,
            "grant_types": ["client_credentials"],
            "auth": {"client_credentials": {
                "client_assertion_types": ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
                "token_format": "jwt",
                "access_token_expiration": 300,
            }},
            "jwks_uri": "https://partner.example/jwks.json",
            "scope": ["system/*.read", "system/Claim.cu", "openid", "custom-scope"],
            "extension": [{"url": format!("{EXT_BASE}/StructureDefinition/client-hl7B2b"), "extension": [
                {"url": "organization", "valueReference": {"reference": "Organization/payer"}},
                {"url": "organizationIdentifierSystem", "valueUri": "http://hl7.org/fhir/sid/us-npi"},
            ]}],
            "meta": {"anything": 1},
            "field-nobody-described": [null],
        })
    }

    fn app(settings: Value) -> Value {
        let mut client = json!({"type": "smart-app", "grant_types": ["code"], "auth": {}});
        client["auth"]["authorization_code"] = settings;
        client
    }

    #[test]
    fn the_clients_of_the_specification_may_be_stored() {
        let symmetric = json!({"grant_types": ["client_credentials"], "secret": "s3cr3t",
            "auth": {"client_credentials": {"token_format": "jwt", "access_token_expiration": 3600}}});
        let public = app(json!({"redirect_uri": "https://app.example/cb", "token_format": "jwt", "pkce": true,
            "access_token_expiration": 3600, "refresh_token": true, "secret_required": false}));
        for client in [backend(), symmetric, public, json!({})] {
            assert_eq!(found(&client), [], "{client}");
            assert_eq!(warnings(&client, EXT_BASE), []);
        }
    }

    #[test]
    fn every_described_element_has_a_type() {
        let wrong = json!({"none": "of these"});
        let described =
            CLIENT.iter().filter(|(_, shape)| !matches!(shape, MemberShape::Object | MemberShape::Members(_)));
        for (key, _) in described {
            let issues = found(&json!({*key: wrong}));
            assert!(issues.contains(&issue(key, ResourceIssueCode::Structure)), "{key}: {issues:?}");
        }
        for (key, _) in CLIENT {
            let issues = found(&json!({*key: null}));
            assert!(issues.contains(&issue(key, ResourceIssueCode::Structure)), "{key}: {issues:?}");
        }
        for (key, _) in GRANT {
            let issues = found(&json!({"auth": {"client_credentials": {*key: null}}}));
            assert_eq!(issues, [issue(&format!("auth.client_credentials.{key}"), ResourceIssueCode::Structure)]);
        }
    }

    #[test]
    fn all_faults_are_named_at_once_with_their_place() {
        let client = json!({
            "active": "true",
            "grant_types": ["client_credentials", "magic", 7],
            "scope": ["system/*.read", "patient/*.xyz", ""],
            "auth": {"client_credentials": {"client_assertion_types": "x", "token_format": 1}},
        });
        assert_eq!(
            found(&client),
            [
                issue("active", ResourceIssueCode::Structure),
                issue("grant_types[1]", ResourceIssueCode::Value),
                issue("grant_types[2]", ResourceIssueCode::Structure),
                issue("scope[1]", ResourceIssueCode::Value),
                issue("scope[2]", ResourceIssueCode::Value),
                issue("auth.client_credentials.token_format", ResourceIssueCode::Structure),
                issue("auth.client_credentials.client_assertion_types", ResourceIssueCode::Structure),
            ]
        );
    }

    #[test]
    fn an_unknown_type_of_assertion_is_refused_with_the_one_that_is_known() {
        let saml = "urn:ietf:params:oauth:client-assertion-type:saml2-bearer";
        for grant in ["client_credentials", "authorization_code"] {
            let client = json!({"auth": {grant: {"client_assertion_types": [JWT_BEARER_ASSERTION_TYPE, saml, 1]}}});
            let issues = validate(&client, EXT_BASE);
            let at = format!("auth.{grant}.client_assertion_types");
            let places = issues.iter().map(|issue| (issue.expression.clone(), issue.code)).collect::<Vec<_>>();
            let expected = [
                issue(&format!("{at}[1]"), ResourceIssueCode::Value),
                issue(&format!("{at}[2]"), ResourceIssueCode::Structure),
            ];
            assert_eq!(places, expected);
            assert!(issues[0].diagnostics.contains(JWT_BEARER_ASSERTION_TYPE), "{:?}", issues[0]);
        }
        assert_eq!(found(&json!({"auth": {"client_credentials": {"client_assertion_types": []}}})), []);
    }

    #[test]
    fn a_redirect_uri_is_absolute_and_has_no_fragment() {
        let check = |uri: &str| {
            let client = app(json!({"pkce": true, "redirect_uri": uri}));
            found(&client).into_iter().map(|(_, code)| code).collect::<Vec<_>>()
        };
        for uri in ["https://app.example/cb?x=1", "http://localhost:8000/cb", "com.example.app:/cb"] {
            assert_eq!(check(uri), [], "{uri}");
        }
        for uri in
            ["/cb", "app.example/cb", "", "https://app.example/cb#", "https://app.example/#x", " https://app.example/"]
        {
            assert_eq!(check(uri), [ResourceIssueCode::Value], "{uri}");
        }
        for uri in ["javascript:alert(1)", "data:text/html,x"] {
            assert_eq!(check(uri), [ResourceIssueCode::Security], "{uri}");
        }
    }

    #[test]
    fn a_jwks_uri_is_an_absolute_web_url() {
        for uri in ["https://partner.example/jwks.json", "http://127.0.0.1:9000/jwks"] {
            assert_eq!(found(&json!({"jwks_uri": uri})), []);
        }
        for uri in ["", "jwks.json", "//partner.example/jwks", "file:///etc/passwd", "ftp://x.example/", "https://a b/"]
        {
            assert_eq!(found(&json!({"jwks_uri": uri})), [issue("jwks_uri", ResourceIssueCode::Value)], "{uri}");
        }
    }

    #[test]
    fn a_token_lifetime_is_a_positive_whole_number_within_the_limit() {
        let check = |lifetime: Value| {
            let client = json!({"auth": {"client_credentials": {"access_token_expiration": lifetime}}});
            found(&client).into_iter().map(|(_, code)| code).collect::<Vec<_>>()
        };
        assert_eq!(check(json!(1)), []);
        assert_eq!(check(json!(REGISTERED_TOKEN_LIFETIME_MAX_S)), []);
        for lifetime in [json!(0), json!(-1), json!(REGISTERED_TOKEN_LIFETIME_MAX_S + 1), json!(1.5), json!(u64::MAX)] {
            assert_eq!(check(lifetime), [ResourceIssueCode::Value]);
        }
        assert_eq!(check(json!("300")), [ResourceIssueCode::Structure]);
    }

    #[test]
    fn a_signing_algorithm_is_one_the_server_has() {
        let check = |alg: &str| found(&json!({"auth": {"client_credentials": {"access_token_signing_alg": alg}}}));
        assert_eq!(check("ES384"), []);
        let refused = issue("auth.client_credentials.access_token_signing_alg", ResourceIssueCode::Value);
        assert_eq!([check("none"), check("HS256")], [[refused.clone()], [refused]]);
    }

    #[test]
    fn a_smart_app_proves_itself_by_pkce_or_a_secret() {
        let protected =
            [json!({"pkce": true}), json!({"secret_required": true}), json!({"pkce": false, "secret_required": true})];
        for settings in protected {
            assert_eq!(found(&app(settings)), []);
        }
        for settings in [json!({}), json!({"pkce": false}), json!({"secret_required": false, "pkce": false})] {
            assert_eq!(found(&app(settings)), [issue("auth.authorization_code", ResourceIssueCode::Invariant)]);
        }
        assert_eq!(
            found(&json!({"type": "smart-app", "grant_types": ["authorization_code"]})),
            [issue("auth.authorization_code", ResourceIssueCode::Invariant)]
        );
        assert_eq!(found(&json!({"type": "smart-app", "grant_types": ["client_credentials"]})), []);
    }

    #[test]
    fn a_secret_has_content_and_a_limit() {
        assert_eq!(found(&json!({"secret": ""})), [issue("secret", ResourceIssueCode::Value)]);
        assert_eq!(found(&json!({"secret": "x".repeat(1025)})), [issue("secret", ResourceIssueCode::TooLong)]);
        assert_eq!(found(&json!({"secret": "x".repeat(1024)})), []);
    }

    #[test]
    fn a_second_organization_is_refused_and_a_missing_one_is_a_warning() {
        let mut client = backend();
        let parts = client["extension"][0]["extension"].as_array_mut().unwrap();
        let repeated = parts[0].clone();
        parts.push(repeated);
        assert_eq!(found(&client), [issue("extension[0]", ResourceIssueCode::Invariant)]);

        let parts = client["extension"][0]["extension"].as_array_mut().unwrap();
        parts.retain(|part| part["url"] != "organization");
        assert_eq!(found(&client), []);
        assert_eq!(warnings(&client, EXT_BASE).len(), 1);
    }

    #[test]
    fn a_redirect_by_plain_http_is_a_warning_but_on_loopback() {
        let warned = |uri: &str| {
            let client = app(json!({"pkce": true, "redirect_uri": uri}));
            assert_eq!(found(&client), []);
            warnings(&client, EXT_BASE).len()
        };
        for uri in ["http://app.example/cb", "http://10.0.0.1/cb", "http://localhost.example/cb"] {
            assert_eq!(warned(uri), 1, "{uri}");
        }
        for uri in [
            "https://app.example/cb",
            "http://localhost:1/cb",
            "http://127.0.0.1/cb",
            "http://[::1]/cb",
            "app.example:/cb",
        ] {
            assert_eq!(warned(uri), 0, "{uri}");
        }
    }
}
