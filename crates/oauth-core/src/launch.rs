//! The EHR launch: the address an EHR opens an app with, and the context it carries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::audit::{AuditTrail, LaunchAudit};
use crate::authorization_endpoint::limits::{LAUNCH_MAX_BYTES, PENDING_AUTHORIZATION_LIFETIME_S};
use crate::authorization_endpoint::{encoded, query_separator};
use crate::end_user::EndUser;
use crate::jose::{CompactJws, SigningAlg, SigningError};
use crate::ports::{PatientStore, StoreError};
use crate::registration_cache::RegistrationCache;
use crate::security_resource_rules::is_web_address;
use crate::time_and_randomness::TimeAndRandomness;
use crate::token_issuer::TokenIssuer;

/// How long a launch context can be used unless the deployment says otherwise, in seconds. Not specified; an
/// app is opened at once.
pub const LAUNCH_CONTEXT_LIFETIME_S: i64 = 300;

/// Longest `ctx` of a launch, in bytes of JSON: the launch travels in an address.
const CONTEXT_MAX_BYTES: usize = 4096;

/// The claims of a launch JWT.
///
/// # Source
/// Specification, Launch JWT (EHR launch): `client`, `user`, `ctx`, `exp`. `iss`, `aud` and `jti` are ours,
/// so that no other token is taken for a launch and a launch is used once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LaunchClaims {
    pub(crate) iss: String,
    pub(crate) aud: String,
    pub(crate) exp: i64,
    pub(crate) jti: String,
    pub(crate) client: String,
    pub(crate) user: String,
    pub(crate) ctx: Map<String, Value>,
}

/// A launch context that is good now, but for whether it was used before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Launch {
    pub(crate) jti: String,
    pub(crate) expires_s: i64,
    pub(crate) user: String,
    /// `ctx.patient`.
    pub(crate) patient: Option<String>,
    /// `ctx.encounter`.
    pub(crate) encounter: Option<String>,
    /// `ctx.intent`.
    pub(crate) intent: Option<String>,
    /// `ctx.tenant`.
    pub(crate) tenant: Option<String>,
    /// `ctx.smart_style_url`.
    pub(crate) smart_style_url: Option<String>,
    /// `ctx.need_patient_banner`: `false` where the EHR shows itself whose record it is.
    pub(crate) need_patient_banner: Option<bool>,
    /// `ctx.fhirContext`: objects alone.
    pub(crate) fhir_context: Vec<Value>,
}

impl Launch {
    /// Until when its use must be remembered, in seconds since the UNIX epoch: a request that came with it
    /// in its last second may go on for as long as any.
    pub(crate) const fn used_until_s(&self) -> i64 {
        self.expires_s + PENDING_AUTHORIZATION_LIFETIME_S
    }
}

/// The reason why a launch context is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum LaunchContextError {
    /// No JWT of this server for this purpose.
    #[error("not a launch context of this server")]
    Unknown,
    /// `exp` has passed.
    #[error("the launch context expired; launch the app again")]
    Expired,
    /// For another Client.
    #[error("the launch context is another client's")]
    OtherClient,
    /// It gave a code before.
    #[error("the launch context was used before; launch the app again")]
    Used,
}

/// The reason why no launch URI is given.
#[derive(Debug, thiserror::Error)]
pub enum LaunchUriError {
    /// A parameter is missing or of the wrong type.
    #[error("params.{0} is missing or malformed")]
    Malformed(&'static str),
    /// There is no such Client, or it is not active.
    #[error("params.client is no active client")]
    UnknownClient,
    /// The Client has no `smart.launch_uri`.
    #[error("the client is not registered for EHR launch: it has no smart.launch_uri")]
    NotLaunchable,
    /// There is no such User, or it is not active.
    #[error("params.user is no active user")]
    UnknownUser,
    /// There is no such Patient.
    #[error("params.ctx.patient is no patient of this server")]
    UnknownPatient,
    /// `iss` is another server's.
    #[error("params.iss must be {expected}")]
    OtherIssuer {
        /// `{base_url}/fhir`.
        expected: String,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Signing failed.
    #[error(transparent)]
    Sign(#[from] SigningError),
}

/// The response of `platform.smart/get-launch-uri`: the URI that launches the app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaunchUriResponse {
    /// What the EHR opens: the app's launch address with `iss` and `launch`.
    pub uri: String,
    /// The launch JWT.
    pub launch: String,
    /// The FHIR base.
    pub iss: String,
    /// The app's launch address as registered.
    #[serde(rename = "launch-uri")]
    pub launch_uri: String,
}

/// The EHR that requests a launch, for the audit.
#[derive(Debug, Clone, Copy, Default)]
pub struct EhrLaunchRequester<'a> {
    /// The Client, or the bootstrap administrator.
    pub id: Option<&'a str>,
    /// From where.
    pub address: Option<&'a str>,
}

/// The service that makes the URIs by which an EHR launches apps.
pub struct LaunchService {
    pub(crate) issuer: Arc<TokenIssuer>,
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) patients: Arc<dyn PatientStore>,
    pub(crate) audit: AuditTrail,
}

impl LaunchService {
    /// Answers `platform.smart/get-launch-uri`. Who may ask is for access policies to say.
    ///
    /// # Errors
    /// [`LaunchUriError`].
    ///
    /// # Source
    /// Specification, POST /rpc: get launch URL, and Launch JWT (EHR launch); SMART App Launch 2.2.0, "Launch App:
    /// EHR Launch". Not specified what is checked; we check everything the launch would fail on later.
    pub async fn get_launch_uri(
        &self,
        env: &TimeAndRandomness<'_>,
        ehr: EhrLaunchRequester<'_>,
        params: &Value,
    ) -> Result<LaunchUriResponse, LaunchUriError> {
        let outcome = self.launch_uri(env, params).await;
        let text = |pointer: &str| params.pointer(pointer).and_then(Value::as_str);
        let launching = LaunchAudit {
            client_id: text("/client"),
            user_id: text("/user"),
            patient_id: text("/ctx/patient"),
            asked_by: ehr.id,
            address: ehr.address,
        };
        self.audit.launch(env, launching, outcome.as_ref().map(|(_, jti)| jti.as_str()));
        outcome.map(|(uri, _)| uri)
    }

    /// Returns the address, and the id of its launch.
    async fn launch_uri(
        &self,
        env: &TimeAndRandomness<'_>,
        params: &Value,
    ) -> Result<(LaunchUriResponse, String), LaunchUriError> {
        let text = |member: &'static str| {
            let text = params.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.ok_or(LaunchUriError::Malformed(member))
        };
        let (client_id, user_id, iss) = (text("client")?, text("user")?, text("iss")?);
        let ctx = match params.get("ctx") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(ctx)) if Value::Object(ctx.clone()).to_string().len() <= CONTEXT_MAX_BYTES => {
                ctx.clone()
            }
            Some(_) => return Err(LaunchUriError::Malformed("ctx")),
        };
        let client = self.directory.load_current_client(client_id).await?.filter(|client| client.active);
        let client = client.ok_or(LaunchUriError::UnknownClient)?;
        let launch_uri = client.app.launch_uri.clone().ok_or(LaunchUriError::NotLaunchable)?;
        let user = self.directory.store().user(user_id).await?;
        if !user.is_some_and(|stored| EndUser::from_stored(user_id, &stored, &self.issuer.settings.base_url).active) {
            return Err(LaunchUriError::UnknownUser);
        }
        let expected = self.issuer.documents.fhir_base_url();
        if iss.strip_suffix('/').unwrap_or(iss) != expected {
            return Err(LaunchUriError::OtherIssuer { expected: expected.to_owned() });
        }
        self.check_context(&ctx).await?;
        let (launch, jti) = self.sign(env, (client_id, user_id), ctx)?;
        let separator = query_separator(&launch_uri);
        let uri = format!("{launch_uri}{separator}iss={}&launch={launch}", encoded(expected));
        Ok((LaunchUriResponse { uri, launch, iss: expected.to_owned(), launch_uri }, jti))
    }

    /// The described members of `ctx` are of their types, and its patient exists. Others are kept as they are:
    /// the specification shows `patient` alone.
    async fn check_context(&self, ctx: &Map<String, Value>) -> Result<(), LaunchUriError> {
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        let texts = [("patient", "ctx.patient"), ("encounter", "ctx.encounter"), ("intent", "ctx.intent")];
        for (member, name) in texts.into_iter().chain([("tenant", "ctx.tenant")]) {
            if ctx.get(member).is_some_and(|value| !is_text(value)) {
                return Err(LaunchUriError::Malformed(name));
            }
        }
        let is_address = |value: &Value| value.as_str().is_some_and(is_web_address);
        let is_list =
            |value: &Value| value.as_array().is_some_and(|entries| entries.iter().all(ContextEntry::is_described));
        for (member, name, is_good) in [
            ("smart_style_url", "ctx.smart_style_url", &is_address as &dyn Fn(&Value) -> bool),
            ("need_patient_banner", "ctx.need_patient_banner", &Value::is_boolean),
            ("fhirContext", "ctx.fhirContext", &is_list),
        ] {
            if ctx.get(member).is_some_and(|value| !is_good(value)) {
                return Err(LaunchUriError::Malformed(name));
            }
        }
        match ctx.get("patient").and_then(Value::as_str) {
            Some(id) if self.patients.patient_by_id(id).await?.is_none() => Err(LaunchUriError::UnknownPatient),
            _ => Ok(()),
        }
    }

    /// A launch JWT for this client, user and context, and its `jti`.
    fn sign(
        &self,
        env: &TimeAndRandomness<'_>,
        (client, user): (&str, &str),
        ctx: Map<String, Value>,
    ) -> Result<(String, String), SigningError> {
        let claims = LaunchClaims {
            iss: self.issuer.settings.base_url.clone(),
            aud: self.issuer.settings.authorization_endpoint_url(),
            exp: env.now_s() + self.issuer.settings.launch_lifetime_s,
            jti: env.random_identifier(),
            client: client.to_owned(),
            user: user.to_owned(),
            ctx,
        };
        Ok((self.issuer.sign_jwt(env, SigningAlg::ES256, &claims)?, claims.jti))
    }
}

/// An entry of `fhirContext`, with its described members.
///
/// # Source
/// SMART App Launch 2.2.0, "fhirContext".
#[derive(Deserialize)]
struct ContextEntry {
    reference: Option<String>,
    canonical: Option<String>,
    identifier: Option<Map<String, Value>>,
    role: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl ContextEntry {
    fn is_described(value: &Value) -> bool {
        Self::deserialize(value).is_ok_and(|entry| entry.says_which() && !entry.repeats())
    }

    /// Returns whether it names a resource, each time as such a name is written.
    fn says_which(&self) -> bool {
        let is_some = self.reference.is_some() || self.canonical.is_some() || self.identifier.is_some();
        let is_relative = |reference: &str| {
            let is_name = |(kind, id): (&str, &str)| is_type(kind) && !id.is_empty() && !id.contains('/');
            reference.split_once('/').is_some_and(is_name)
        };
        is_some
            && self.reference.as_deref().is_none_or(is_relative)
            && self.canonical.as_deref().is_none_or(|canonical| url::Url::parse(canonical).is_ok())
            && [&self.role, &self.kind].into_iter().flatten().all(|text| !text.is_empty())
    }

    /// Returns whether it is the Patient or Encounter of the launch, which have members of their own.
    fn repeats(&self) -> bool {
        let kind = self.reference.as_deref().and_then(|reference| reference.split_once('/')).map(|(kind, _)| kind);
        matches!(kind, Some("Patient" | "Encounter")) && matches!(self.role.as_deref(), None | Some("launch"))
    }
}

/// Returns whether `kind` is written as the name of a resource type.
fn is_type(kind: &str) -> bool {
    kind.starts_with(|first: char| first.is_ascii_uppercase()) && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Reads a launch JWT that was presented by `client` at the second `at_s`.
///
/// Possession alone signs nobody in: it says which person the app was opened for, and that person's session
/// or password is asked for all the same.
///
/// # Errors
/// [`LaunchContextError`], but not [`LaunchContextError::Used`].
pub(crate) async fn read(
    env: &TimeAndRandomness<'_>,
    issuer: &TokenIssuer,
    (jwt, client_id): (&str, &str),
    at_s: i64,
) -> Result<Launch, LaunchContextError> {
    let jws = CompactJws::parse(jwt, LAUNCH_MAX_BYTES).map_err(|_| LaunchContextError::Unknown)?;
    if !issuer.keys.signed(env, &jws).await {
        return Err(LaunchContextError::Unknown);
    }
    let claims: LaunchClaims = jws.parse_payload().map_err(|_| LaunchContextError::Unknown)?;
    let settings = &issuer.settings;
    if claims.iss != settings.base_url || claims.aud != settings.authorization_endpoint_url() {
        return Err(LaunchContextError::Unknown);
    }
    // No leeway: issuer and verifier are one server.
    if claims.exp <= at_s {
        return Err(LaunchContextError::Expired);
    }
    if claims.client != client_id {
        return Err(LaunchContextError::OtherClient);
    }
    let text = |member: &str| claims.ctx.get(member).and_then(Value::as_str).map(str::to_owned);
    let fhir_context = claims.ctx.get("fhirContext").and_then(Value::as_array).into_iter().flatten();
    Ok(Launch {
        patient: text("patient"),
        encounter: text("encounter"),
        intent: text("intent"),
        tenant: text("tenant"),
        smart_style_url: text("smart_style_url").filter(|url| is_web_address(url)),
        need_patient_banner: claims.ctx.get("need_patient_banner").and_then(Value::as_bool),
        fhir_context: fhir_context.filter(|entry| entry.is_object()).cloned().collect(),
        jti: claims.jti,
        expires_s: claims.exp,
        user: claims.user,
    })
}
