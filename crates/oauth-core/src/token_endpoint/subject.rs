//! The token of another issuer that is presented for exchange: every check on it.

use serde::Deserialize;
use serde_json::Value;

use crate::client::Client;
use crate::client_assertion::AssertionKeySelector;
use crate::form_fields::sanitize_for_error_description;
use crate::introspector::{HS256, IntrospectionTrust, TrustedKey, expected_audiences};
use crate::jose::{CompactJws, CompactJwsError, SigningAlg, parse_numeric_date};
use crate::jwks_cache::{JwksCache, JwksError};
use crate::limits::{ASSERTION_CLOCK_LEEWAY_S, KID_MAX_BYTES, SUBJECT_TOKEN_MAX_BYTES};
use crate::ports::StoreError;
use crate::registration_cache::RegistrationCache;
use crate::time_and_randomness::TimeAndRandomness;

use super::{TokenError, TokenService};

/// A token of another issuer; nothing of it is verified yet.
#[derive(Debug)]
pub(super) struct TokenSubject<'a> {
    jws: CompactJws<'a>,
    claims: Claims,
    issuer: String,
}

#[derive(Debug, Deserialize)]
struct Claims {
    iss: Option<Value>,
    sub: Option<Value>,
    aud: Option<Value>,
    exp: Option<Value>,
    nbf: Option<Value>,
    iat: Option<Value>,
    box_user: Option<Value>,
}

/// The check that the subject token of a token exchange failed. Every one is `invalid_request` (RFC 8693, section
/// 2.2.2).
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubjectTokenError {
    /// Not a compact JWS within the size limit.
    #[error("subject_token: {0}")]
    Shape(#[from] CompactJwsError),
    /// Signed with an algorithm that is not accepted, or not at all.
    #[error("subject_token: alg is {0}, accepted are ES256, ES384, RS256, RS384 and HS256")]
    Algorithm(String),
    /// `crit` names extensions.
    #[error("subject_token: critical header extensions are not supported")]
    Critical,
    /// A claim that must be there is missing or of the wrong type.
    #[error("subject_token: the claim {0} is missing or of the wrong type")]
    Claim(&'static str),
    /// The Client's `allowedIssuers` does not have the issuer.
    #[error("subject_token: the client may not exchange tokens of the issuer {0}")]
    Issuer(String),
    /// No `TokenIntrospector` has the issuer.
    #[error("subject_token: no TokenIntrospector is registered for the issuer {0}")]
    NoIntrospector(String),
    /// More than one has it, so that it is not clear which keys are the issuer's.
    #[error("subject_token: several TokenIntrospectors are registered for the issuer {0}")]
    SeveralIntrospectors(String),
    /// What is stored for the issuer is not what registration would take.
    #[error("subject_token: the TokenIntrospector of the issuer {0} cannot be used")]
    BadIntrospector(String),
    /// `aud` names none of the audiences that the `TokenIntrospector`, or the Client, expects: the token was made
    /// for another application.
    #[error("subject_token: aud is {seen}, and the {by} expects another audience")]
    Audience {
        /// What was sent.
        seen: String,
        /// `TokenIntrospector` or `Client`.
        by: &'static str,
    },
    /// `exp` has passed.
    #[error("subject_token: expired, exp is {exp}, server time is {now}")]
    Expired {
        /// Seconds since the UNIX epoch.
        exp: i64,
        /// Seconds since the UNIX epoch.
        now: i64,
    },
    /// `nbf` or `iat` lies in the future.
    #[error("subject_token: {claim} is {value}, in the future, server time is {now}")]
    NotYet {
        /// `nbf` or `iat`.
        claim: &'static str,
        /// Seconds since the UNIX epoch.
        value: i64,
        /// Seconds since the UNIX epoch.
        now: i64,
    },
    /// The issuer's keys are at an address, and the header does not name one.
    #[error("subject_token: the header has no kid")]
    NoKid,
    /// The issuer's keys could not be had.
    #[error("subject_token: {0}")]
    Keys(#[from] JwksError),
    /// No key of the issuer fits.
    #[error("subject_token: no key of the issuer fits {0}")]
    UnknownKey(String),
    /// Several keys at the issuer's address share the `kid`.
    #[error("subject_token: several keys of the issuer have kid {0}")]
    AmbiguousKey(String),
    /// The signature is not the issuer's.
    #[error("subject_token: the signature does not verify with a key of the issuer")]
    Signature,
    /// There is no such User, or it is not active: nobody is told which.
    #[error("subject_token: it names no active User")]
    User,
}

impl<'a> TokenSubject<'a> {
    /// Reads a token: size, shape, header, issuer. No cryptography.
    pub(super) fn read(text: &'a str) -> Result<Self, SubjectTokenError> {
        let jws = CompactJws::parse(text, SUBJECT_TOKEN_MAX_BYTES)?;
        let alg = &jws.header.alg;
        if alg != HS256 && alg.parse::<SigningAlg>().is_err() {
            return Err(SubjectTokenError::Algorithm(sanitize_for_error_description(alg)));
        }
        if jws.header.has_critical_extensions() {
            return Err(SubjectTokenError::Critical);
        }
        let claims: Claims = jws.parse_payload()?;
        let issuer = text_of("iss", claims.iss.as_ref())?.to_owned();
        Ok(Self { jws, claims, issuer })
    }

    /// Checks everything up to the signature, and returns the id of the User the token is about. The address
    /// of an issuer's keys is asked only after all that costs nothing.
    ///
    /// `aud` is checked where the `TokenIntrospector` or the Client says what it should be; RFC 8693 leaves it open.
    /// Where both say it, the token must please both.
    pub(super) async fn verified(
        &self,
        env: &TimeAndRandomness<'_>,
        service: &TokenService,
        client: &Client,
    ) -> Result<&str, TokenError> {
        if !client.allowed_issuers.contains(&self.issuer) {
            return Err(SubjectTokenError::Issuer(sanitize_for_error_description(&self.issuer)).into());
        }
        let user_id = self.user_id()?;
        self.check_times(env.now_s())?;
        let introspector = self.introspector(&service.directory).await??;
        let unusable = |_| SubjectTokenError::BadIntrospector(sanitize_for_error_description(&self.issuer));
        let trust = IntrospectionTrust::read(&introspector).map_err(unusable)?;
        self.check_audience(&expected_audiences(&introspector).map_err(unusable)?, "TokenIntrospector")?;
        if let Some(expected) = &client.allowed_audiences {
            self.check_named(&expected.iter().map(String::as_str).collect::<Vec<_>>(), "Client")?;
        }
        match &trust {
            IntrospectionTrust::Keys(keys) => self.check_signature(keys)?,
            IntrospectionTrust::At(uri) => self.check_signature_at(env, &service.jwks, uri).await?,
        }
        Ok(user_id)
    }

    /// `box_user` names the User, else `sub` does. Both must be right, whichever is used.
    fn user_id(&self) -> Result<&str, SubjectTokenError> {
        let subject = text_of("sub", self.claims.sub.as_ref())?;
        match &self.claims.box_user {
            None => Ok(subject),
            named => text_of("box_user", named.as_ref()),
        }
    }

    fn check_times(&self, now: i64) -> Result<(), SubjectTokenError> {
        let exp = self.claims.exp.as_ref().and_then(parse_numeric_date).ok_or(SubjectTokenError::Claim("exp"))?;
        if exp.saturating_add(ASSERTION_CLOCK_LEEWAY_S) < now {
            return Err(SubjectTokenError::Expired { exp, now });
        }
        for (claim, value) in [("nbf", &self.claims.nbf), ("iat", &self.claims.iat)] {
            let Some(value) = value else { continue };
            let value = parse_numeric_date(value).ok_or(SubjectTokenError::Claim(claim))?;
            if value > now.saturating_add(ASSERTION_CLOCK_LEEWAY_S) {
                return Err(SubjectTokenError::NotYet { claim, value, now });
            }
        }
        Ok(())
    }

    /// Whether `aud` names one of `expected`, if there are any.
    fn check_audience(&self, expected: &[&str], by: &'static str) -> Result<(), SubjectTokenError> {
        if expected.is_empty() { Ok(()) } else { self.check_named(expected, by) }
    }

    /// Whether `aud` names one of `expected`.
    fn check_named(&self, expected: &[&str], by: &'static str) -> Result<(), SubjectTokenError> {
        let is_expected = |named: &Value| named.as_str().is_some_and(|named| expected.contains(&named));
        let aud = self.claims.aud.as_ref().ok_or(SubjectTokenError::Claim("aud"))?;
        let (named, seen) = match aud {
            Value::String(one) => (is_expected(aud), sanitize_for_error_description(one)),
            Value::Array(several) => {
                (several.iter().any(is_expected), sanitize_for_error_description(&aud.to_string().replace('"', "'")))
            }
            _ => return Err(SubjectTokenError::Claim("aud")),
        };
        if named { Ok(()) } else { Err(SubjectTokenError::Audience { seen, by }) }
    }

    async fn introspector(
        &self,
        directory: &RegistrationCache,
    ) -> Result<Result<Value, SubjectTokenError>, StoreError> {
        let found = directory.store().introspectors_of_issuer(&self.issuer).await?;
        let issuer = sanitize_for_error_description(&self.issuer);
        Ok(match <[Value; 1]>::try_from(found) {
            Ok([one]) => Ok(one),
            Err(none) if none.is_empty() => Err(SubjectTokenError::NoIntrospector(issuer)),
            Err(_) => Err(SubjectTokenError::SeveralIntrospectors(issuer)),
        })
    }

    /// Registered keys have no identifiers, so each that fits is tried.
    fn check_signature(&self, keys: &[TrustedKey]) -> Result<(), SubjectTokenError> {
        let alg = &self.jws.header.alg;
        let mut fitting = keys.iter().filter(|key| key.fits(alg)).peekable();
        if fitting.peek().is_none() {
            return Err(SubjectTokenError::UnknownKey(sanitize_for_error_description(alg)));
        }
        let verified = fitting.any(|key| key.verifies(self.jws.signing_input(), self.jws.signature()));
        if verified { Ok(()) } else { Err(SubjectTokenError::Signature) }
    }

    /// A set at an address is public, so it never verifies a shared key's algorithm.
    async fn check_signature_at(
        &self,
        env: &TimeAndRandomness<'_>,
        jwks: &JwksCache,
        uri: &str,
    ) -> Result<(), SubjectTokenError> {
        let header = &self.jws.header;
        let unknown = || SubjectTokenError::UnknownKey(sanitize_for_error_description(&header.alg));
        let alg: SigningAlg = header.alg.parse().map_err(|_| unknown())?;
        let kid = header.kid.as_deref().filter(|kid| !kid.is_empty() && kid.len() <= KID_MAX_BYTES);
        let kid = kid.ok_or(SubjectTokenError::NoKid)?;
        let keys = jwks.get_or_fetch(env, uri, AssertionKeySelector { kid, alg }).await?;
        let mut matching = keys.matching_keys(kid, alg);
        let key = matching.next().ok_or_else(unknown)?;
        if matching.next().is_some() {
            return Err(SubjectTokenError::AmbiguousKey(sanitize_for_error_description(kid)));
        }
        let verified = key.verifies_signature(self.jws.signing_input(), self.jws.signature());
        if verified { Ok(()) } else { Err(SubjectTokenError::Signature) }
    }
}

fn text_of<'c>(name: &'static str, claim: Option<&'c Value>) -> Result<&'c str, SubjectTokenError> {
    claim.and_then(Value::as_str).filter(|text| !text.is_empty()).ok_or(SubjectTokenError::Claim(name))
}
