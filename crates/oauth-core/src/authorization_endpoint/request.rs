//! The check of an authorization request, in the one order in which its faults are told.

use smart_scopes::{Context, Scope, ScopeSet};

use super::consent::is_of_use;
use super::fault::{AuthorizationPageError, AuthorizationRedirectError, AuthorizationRequestError};
use super::limits::{LAUNCH_MAX_BYTES, LOGIN_HINT_MAX_BYTES, NONCE_MAX_BYTES, STATE_MAX_BYTES};
use super::parameters::AuthorizationParameters;
use super::target::RedirectTarget;
use crate::client::{Client, GrantType};
use crate::jose::decode_base64url;
use crate::security_resource_rules::is_redirect_uri;
use crate::token_issuer::TokenIssuer;

/// A request that may be put before a person. Only the launch context is not looked at yet.
#[derive(Debug)]
pub(crate) struct AuthorizationRequest {
    pub(crate) target: RedirectTarget,
    pub(crate) response: ResponseType,
    /// What is asked for, as far as the Client is registered for it; in the order and spelling of the
    /// request.
    pub(crate) scope: ScopeSet,
    pub(crate) code_challenge: Option<String>,
    pub(crate) nonce: Option<String>,
    pub(crate) prompt: Prompt,
    /// Seconds.
    pub(crate) max_age_s: Option<i64>,
    pub(crate) login_hint: Option<String>,
    /// The launch JWT; there exactly when the scope `launch` is.
    pub(crate) launch: Option<String>,
}

/// What the app wants back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseType {
    /// A code.
    Code,
    /// An access token in the fragment (the implicit grant).
    Token,
}

/// `prompt`; `select_account` asks for nothing this server has, because a browser has one session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) none: bool,
    pub(crate) login: bool,
    pub(crate) consent: bool,
}

/// Returns where answers to this request may go.
///
/// # Errors
/// [`AuthorizationPageError`]: the person sees a page, and nothing goes anywhere.
pub(crate) fn target(
    issuer: &TokenIssuer,
    client: &Client,
    asked: &AuthorizationParameters,
) -> Result<RedirectTarget, AuthorizationPageError> {
    if !client.active {
        return Err(AuthorizationPageError::InactiveApp);
    }
    let fragment = asked.get("response_type") == Some("token");
    let implicit = client.implicit.redirect_uri.as_ref().filter(|_| fragment);
    let registered = implicit.or(client.authorization_code.redirect_uri.as_ref());
    let registered = registered.filter(|uri| is_redirect_uri(uri)).ok_or(AuthorizationPageError::RedirectUri)?;
    if asked.get("redirect_uri") != Some(registered) {
        return Err(AuthorizationPageError::RedirectUri);
    }
    Ok(RedirectTarget {
        redirect_uri: registered.clone(),
        fragment,
        state: asked.get("state").filter(|state| state.len() <= STATE_MAX_BYTES).map(str::to_owned),
        issuer: issuer.settings.base_url.clone(),
    })
}

/// Everything about a request that does not need the person or the launch context.
///
/// # Errors
/// [`AuthorizationRequestError::Page`] before the redirect target is known to be the app's,
/// [`AuthorizationRequestError::Redirect`] after.
///
/// # Source
/// Specification, GET /auth/authorize query parameters; RFC 6749, section 4.1.2.1; RFC 7636, section 4.
pub(crate) fn check(
    issuer: &TokenIssuer,
    client: &Client,
    asked: &AuthorizationParameters,
) -> Result<AuthorizationRequest, AuthorizationRequestError> {
    let target = target(issuer, client, asked)?;
    let parts = check_protocol(client, asked)
        .and_then(|response| check_aud(issuer, asked).map(|()| response))
        .and_then(|response| Ok((response, code_challenge(client, response, asked)?)))
        .and_then(|(response, challenge)| Ok((response, challenge, scope(client, response, asked)?)))
        .and_then(|(response, challenge, scope)| Ok((response, challenge, scope, prompt(asked)?, max_age(asked)?)));
    let (response, code_challenge, scope, prompt, max_age_s) = match parts {
        Ok(parts) => parts,
        Err(cause) => return Err(target.refuse(cause)),
    };
    let launch = match launch(&scope, asked) {
        Ok(launch) => launch.map(str::to_owned),
        Err(cause) => return Err(target.refuse(cause)),
    };
    let nonce = asked.get("nonce").map(str::to_owned);
    if nonce.as_ref().is_some_and(|nonce| nonce.len() > NONCE_MAX_BYTES) {
        return Err(target.refuse(AuthorizationRedirectError::Malformed("nonce")));
    }
    let login_hint = asked.get("login_hint").filter(|hint| hint.len() <= LOGIN_HINT_MAX_BYTES).map(str::to_owned);
    Ok(AuthorizationRequest { target, response, scope, code_challenge, nonce, prompt, max_age_s, login_hint, launch })
}

fn check_protocol(
    client: &Client,
    asked: &AuthorizationParameters,
) -> Result<ResponseType, AuthorizationRedirectError> {
    if let Some(name) = asked.repeated() {
        return Err(AuthorizationRedirectError::Repeated(name.to_owned()));
    }
    // To pass them over would answer another request than the one that was made.
    for (name, refusal) in [
        ("request", AuthorizationRedirectError::RequestObject),
        ("request_uri", AuthorizationRedirectError::RequestUri),
    ] {
        if asked.get(name).is_some() {
            return Err(refusal);
        }
    }
    let (response, grant, mode) = match asked.get("response_type") {
        None => return Err(AuthorizationRedirectError::Missing("response_type")),
        Some("code") => (ResponseType::Code, GrantType::AuthorizationCode, "query"),
        Some("token") => (ResponseType::Token, GrantType::Implicit, "fragment"),
        Some(_) => return Err(AuthorizationRedirectError::ResponseType),
    };
    let has_address = response == ResponseType::Code || client.implicit.redirect_uri.is_some();
    if !client.may_use_grant(grant) || !has_address {
        return Err(AuthorizationRedirectError::UnauthorizedClient);
    }
    if asked.get("response_mode").is_some_and(|asked| asked != mode) {
        return Err(AuthorizationRedirectError::ResponseMode(mode));
    }
    match asked.get("state").map(str::len) {
        None => Err(AuthorizationRedirectError::Missing("state")),
        Some(bytes) if bytes > STATE_MAX_BYTES => Err(AuthorizationRedirectError::StateTooLong),
        Some(_) => Ok(response),
    }
}

/// One trailing slash is forgiven: the most frequent fault of apps in this field, and no other server can
/// be meant by it.
fn check_aud(issuer: &TokenIssuer, asked: &AuthorizationParameters) -> Result<(), AuthorizationRedirectError> {
    let expected = issuer.documents.fhir_base_url();
    let aud = asked.get("aud").ok_or(AuthorizationRedirectError::Missing("aud"))?;
    if aud == expected || aud.strip_suffix('/') == Some(expected) {
        return Ok(());
    }
    Err(AuthorizationRedirectError::Audience { expected: expected.to_owned() })
}

/// A public app must use PKCE whatever its `pkce` says; a challenge that is not needed is held to the same
/// rules. With `response_type=token` there is no code to protect.
fn code_challenge(
    client: &Client,
    response: ResponseType,
    asked: &AuthorizationParameters,
) -> Result<Option<String>, AuthorizationRedirectError> {
    if response == ResponseType::Token {
        return Ok(None);
    }
    let method = asked.get("code_challenge_method");
    let Some(challenge) = asked.get("code_challenge") else {
        let is_needed =
            client.is_public(&client.authorization_code) || client.authorization_code.pkce || method.is_some();
        return if is_needed { Err(AuthorizationRedirectError::NoChallenge) } else { Ok(None) };
    };
    if method != Some("S256") {
        return Err(AuthorizationRedirectError::ChallengeMethod);
    }
    let is_digest = challenge.len() == 43 && decode_base64url(challenge).is_some_and(|digest| digest.len() == 32);
    if is_digest { Ok(Some(challenge.to_owned())) } else { Err(AuthorizationRedirectError::Challenge) }
}

fn scope(
    client: &Client,
    response: ResponseType,
    asked: &AuthorizationParameters,
) -> Result<ScopeSet, AuthorizationRedirectError> {
    let asked = asked.get("scope").ok_or(AuthorizationRedirectError::Missing("scope"))?;
    let requested = ScopeSet::parse(asked).map_err(AuthorizationRedirectError::MalformedScope)?;
    if requested.is_empty() {
        return Err(AuthorizationRedirectError::Missing("scope"));
    }
    let grantable = grantable(client, response, &requested);
    if is_of_use(&requested, &grantable) { Ok(grantable) } else { Err(AuthorizationRedirectError::NoScope) }
}

/// Returns what of a request a person can be asked for.
///
/// - `system/` scopes need no person, so a person gives none.
/// - `offline_access` is for codes of Clients whose `refresh_token` is true: to anybody else it would be a
///   promise without a token.
/// - Not specified for a Client without `scope`; we let the person decide over everything but scopes this
///   server does not know, which mean nothing to anybody here.
fn grantable(client: &Client, response: ResponseType, requested: &ScopeSet) -> ScopeSet {
    let may_be_asked = |scope: &&Scope| match scope {
        Scope::Clinical(clinical) => clinical.context() != Context::System,
        Scope::OfflineAccess => response == ResponseType::Code && client.authorization_code.refresh_token,
        Scope::Custom(_) => client.scope.is_some(),
        _ => true,
    };
    client.limit_to_registered_scopes(&requested.iter().filter(may_be_asked).cloned().collect())
}

/// Returns whether a scope names a context of the launch.
pub(crate) fn is_context(scope: &Scope) -> bool {
    matches!(scope, Scope::Launch | Scope::LaunchContext(_))
}

fn prompt(asked: &AuthorizationParameters) -> Result<Prompt, AuthorizationRedirectError> {
    let mut prompt = Prompt::default();
    for value in asked.get("prompt").into_iter().flat_map(|values| values.split(' ')) {
        match value {
            "none" => prompt.none = true,
            "login" => prompt.login = true,
            "consent" => prompt.consent = true,
            _ => {}
        }
    }
    // OpenID Connect Core 1.0, section 3.1.2.1: none stands alone.
    let is_contradiction = prompt.none && asked.get("prompt") != Some("none");
    if is_contradiction { Err(AuthorizationRedirectError::Malformed("prompt")) } else { Ok(prompt) }
}

fn max_age(asked: &AuthorizationParameters) -> Result<Option<i64>, AuthorizationRedirectError> {
    let read =
        |text: &str| text.parse::<u32>().map(i64::from).map_err(|_| AuthorizationRedirectError::Malformed("max_age"));
    asked.get("max_age").map(read).transpose()
}

fn launch<'a>(
    scope: &ScopeSet,
    asked: &'a AuthorizationParameters,
) -> Result<Option<&'a str>, AuthorizationRedirectError> {
    if !scope.contains(&Scope::Launch) {
        return Ok(None);
    }
    match asked.get("launch") {
        None => Err(AuthorizationRedirectError::LaunchMissing),
        Some(launch) if launch.len() > LAUNCH_MAX_BYTES => Err(AuthorizationRedirectError::Malformed("launch")),
        Some(launch) => Ok(Some(launch)),
    }
}
