//! Client assertions: the checks on a `private_key_jwt`, cheapest first.
//!
//! The order is part of the design. Size and shape, algorithm, key id, the client, the claims and
//! `jku` cost nothing next to a signature; the signature costs up to 145 µs; and the `jti` is claimed
//! last of all by the caller, so that a forged or stale assertion can never burn a good nonce.
//!
//! # Source
//! Specification, Client assertion JWT and Limits; RFC 7523, section 3; SMART App Launch 2.2.0,
//! client-confidential-asymmetric.

use serde::Deserialize;
use serde_json::Value;

use crate::client::JWT_BEARER_ASSERTION_TYPE;
use crate::form_fields::sanitize_for_error_description;
use crate::jose::{CompactJws, CompactJwsError, JwsHeader, SigningAlg, UsableJwkSet, parse_numeric_date};
use crate::jwks_cache::JwksError;
use crate::limits::{
    ASSERTION_CLOCK_LEEWAY_S, ASSERTION_LIFETIME_MAX_S, ASSERTION_MAX_BYTES, JTI_MAX_BYTES, KID_MAX_BYTES,
};
use crate::ports::ExpiringJti;
use crate::time_and_randomness::TimeAndRandomness;

/// A parsed client assertion whose shape, algorithm and key id are in order; nothing of it is verified yet.
#[derive(Debug)]
pub struct UnverifiedClientAssertion<'a> {
    jws: CompactJws<'a>,
    claims: Claims,
    alg: SigningAlg,
    kid: String,
    subject: String,
}

#[derive(Debug, Default, Deserialize)]
struct Claims {
    iss: Option<Value>,
    sub: Option<Value>,
    aud: Option<Value>,
    exp: Option<Value>,
    nbf: Option<Value>,
    iat: Option<Value>,
    jti: Option<Value>,
}

/// The check that a client assertion failed. Every one is `invalid_client` to the client; the text names the check and
/// the values that are no secret.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientAssertionError {
    /// Not a compact JWS within the size limit.
    #[error("client_assertion: {0}")]
    Shape(#[from] CompactJwsError),
    /// Signed with something other than RS384 or ES384.
    #[error("client_assertion: alg is {0}, accepted are RS384 and ES384")]
    Algorithm(String),
    /// No usable `kid`.
    #[error("client_assertion: the header has no kid")]
    NoKid,
    /// `typ` is there and not `JWT`.
    #[error("client_assertion: typ is {0}, expected JWT")]
    Type(String),
    /// `crit` names extensions.
    #[error("client_assertion: critical header extensions are not supported")]
    Critical,
    /// A claim that must be there is missing or of the wrong type.
    #[error("client_assertion: the claim {0} is missing or of the wrong type")]
    Claim(&'static str),
    /// `iss` is not `sub`.
    #[error("client_assertion: iss and sub must both be the client id")]
    IssuerNotSubject,
    /// `client_id` in the form is not `sub`.
    #[error("client_assertion: the parameter client_id differs from sub")]
    OtherClientId,
    /// `aud` does not name the token endpoint.
    #[error("client_assertion: aud is {seen}, expected {expected}")]
    Audience {
        /// What was sent.
        seen: String,
        /// `{base_url}/auth/token`.
        expected: String,
    },
    /// `exp` has passed.
    #[error("client_assertion: expired, exp is {exp}, server time is {now}")]
    Expired {
        /// Seconds since the UNIX epoch.
        exp: i64,
        /// Seconds since the UNIX epoch.
        now: i64,
    },
    /// `exp` is too far in the future.
    #[error("client_assertion: exp is {exp}, at most 5 minutes from now are allowed, server time is {now}")]
    TooLong {
        /// Seconds since the UNIX epoch.
        exp: i64,
        /// Seconds since the UNIX epoch.
        now: i64,
    },
    /// `exp` is too long after `iat`. Both are of one clock, so there is no leeway.
    #[error("client_assertion: exp is {exp}, at most 5 minutes after iat are allowed, iat is {iat}")]
    TooLongAfterIssue {
        /// Seconds since the UNIX epoch.
        exp: i64,
        /// Seconds since the UNIX epoch.
        iat: i64,
    },
    /// `nbf` or `iat` lies in the future.
    #[error("client_assertion: {claim} is {value}, in the future, server time is {now}")]
    NotYet {
        /// `nbf` or `iat`.
        claim: &'static str,
        /// Seconds since the UNIX epoch.
        value: i64,
        /// Seconds since the UNIX epoch.
        now: i64,
    },
    /// The Client's `client_assertion_types` does not list the type.
    #[error(
        "client_assertion: the client is not registered for client_assertion_type {JWT_BEARER_ASSERTION_TYPE} here"
    )]
    TypeNotRegistered,
    /// `jku` is there and not the registered `jwks_uri`.
    #[error("client_assertion: jku differs from the registered jwks_uri")]
    Jku,
    /// The partner's keys could not be had.
    #[error("client_assertion: {0}")]
    Keys(#[from] JwksError),
    /// No registered key has this `kid` and fits the algorithm.
    #[error("client_assertion: no registered key has kid {kid} and fits {alg}")]
    UnknownKey {
        /// The `kid` sent.
        kid: String,
        /// The `alg` sent.
        alg: SigningAlg,
    },
    /// Two registered keys of one type share the `kid`.
    #[error("client_assertion: several registered keys have kid {0}")]
    AmbiguousKey(String),
    /// The signature is not the key's.
    #[error("client_assertion: the signature does not verify with the registered key {0}")]
    Signature(String),
    /// The `jti` was used before.
    #[error("client_assertion: the jti was used before")]
    Replayed,
}

/// The key that a client assertion names: its key id, and the algorithm that the key has to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssertionKeySelector<'a> {
    /// The `kid`.
    pub kid: &'a str,
    /// The algorithm the key has to fit.
    pub alg: SigningAlg,
}

impl AssertionKeySelector<'_> {
    /// Returns whether `keys` contains a key with this id for this algorithm.
    #[must_use]
    pub fn is_in_key_set(&self, keys: &UsableJwkSet) -> bool {
        keys.has_matching_key(self.kid, self.alg)
    }
}

/// The details of a refused client assertion (client, algorithm, key id, audience) that an operator needs beside the
/// error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssertionLogDetails {
    /// The `sub`, shortened to printable text.
    pub client: String,
    /// The header's `alg`, shortened to printable text.
    pub alg: String,
    /// The header's `kid`, likewise.
    pub kid: String,
    /// The `aud` claim, likewise.
    pub aud: String,
}

impl AssertionLogDetails {
    /// Returns the log details of a text that may not be a client assertion at all.
    #[must_use]
    pub fn from_unparsed_text(text: &str) -> Self {
        let Ok(jws) = CompactJws::parse(text, ASSERTION_MAX_BYTES) else { return Self::default() };
        Self::of_parts(&jws.header, &jws.parse_payload().unwrap_or_default())
    }

    fn of_parts(header: &JwsHeader, claims: &Claims) -> Self {
        let shown = |claim: &Option<Value>| match claim {
            None => String::new(),
            Some(Value::String(text)) => sanitize_for_error_description(text),
            Some(other) => sanitize_for_error_description(&other.to_string().replace('"', "'")),
        };
        Self {
            client: shown(&claims.sub),
            alg: sanitize_for_error_description(&header.alg),
            kid: sanitize_for_error_description(header.kid.as_deref().unwrap_or_default()),
            aud: shown(&claims.aud),
        }
    }
}

impl<'a> UnverifiedClientAssertion<'a> {
    /// Reads an assertion: size, shape, header. No cryptography.
    ///
    /// # Errors
    /// The faults of the header, [`ClientAssertionError::Shape`], and [`ClientAssertionError::Claim`] when
    /// there is no subject to look the client up by.
    pub fn parse(text: &'a str) -> Result<Self, ClientAssertionError> {
        let jws = CompactJws::parse(text, ASSERTION_MAX_BYTES)?;
        let header = &jws.header;
        let alg = header.alg.parse().ok().filter(|alg: &SigningAlg| alg.allowed_for_client_assertions());
        let alg = alg.ok_or_else(|| ClientAssertionError::Algorithm(sanitize_for_error_description(&header.alg)))?;
        let kid = header.kid.clone().filter(|kid| !kid.is_empty() && kid.len() <= KID_MAX_BYTES);
        let kid = kid.ok_or(ClientAssertionError::NoKid)?;
        // Not specified whether `typ` may be absent; RFC 7519, section 5.1 makes it optional and
        // widely used client libraries leave it out, so only another value is refused.
        if let Some(typ) = header.typ.as_deref().filter(|typ| !typ.eq_ignore_ascii_case("JWT")) {
            return Err(ClientAssertionError::Type(sanitize_for_error_description(typ)));
        }
        if header.has_critical_extensions() {
            return Err(ClientAssertionError::Critical);
        }
        let claims: Claims = jws.parse_payload()?;
        let subject = string("sub", claims.sub.as_ref())?;
        Ok(Self { jws, claims, alg, kid, subject })
    }

    /// Returns the `sub`, by which the client is found.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns which key verifies it: the `kid` and the algorithm it has to fit.
    #[must_use]
    pub fn key_selector(&self) -> AssertionKeySelector<'_> {
        AssertionKeySelector { kid: &self.kid, alg: self.alg }
    }

    /// Returns what the log shows of this assertion.
    #[must_use]
    pub fn log_details(&self) -> AssertionLogDetails {
        AssertionLogDetails::of_parts(&self.jws.header, &self.claims)
    }

    /// Checks `iss`, `sub`, `aud`, `exp`, `nbf`, `iat` and that there is a `jti`; returns the nonce
    /// to claim once everything else holds.
    ///
    /// # Errors
    /// The faults of the claims.
    pub fn check_claims(
        &self,
        env: &TimeAndRandomness<'_>,
        token_endpoint: &str,
    ) -> Result<ExpiringJti, ClientAssertionError> {
        if string("iss", self.claims.iss.as_ref())? != self.subject {
            return Err(ClientAssertionError::IssuerNotSubject);
        }
        self.check_audience(token_endpoint)?;
        let exp = self.check_times(env.now_s())?;
        let jti = string("jti", self.claims.jti.as_ref())?;
        if jti.is_empty() || jti.len() > JTI_MAX_BYTES {
            return Err(ClientAssertionError::Claim("jti"));
        }
        Ok(ExpiringJti { jti, expires_s: exp + ASSERTION_CLOCK_LEEWAY_S + 1 })
    }

    fn check_audience(&self, expected: &str) -> Result<(), ClientAssertionError> {
        let aud = self.claims.aud.as_ref().ok_or(ClientAssertionError::Claim("aud"))?;
        let named = match aud {
            Value::String(one) => one == expected,
            Value::Array(several) => several.iter().any(|one| one.as_str() == Some(expected)),
            _ => return Err(ClientAssertionError::Claim("aud")),
        };
        if named {
            Ok(())
        } else {
            Err(ClientAssertionError::Audience { seen: self.log_details().aud, expected: expected.to_owned() })
        }
    }

    fn check_times(&self, now: i64) -> Result<i64, ClientAssertionError> {
        let exp = seconds("exp", self.claims.exp.as_ref())?.ok_or(ClientAssertionError::Claim("exp"))?;
        if exp.saturating_add(ASSERTION_CLOCK_LEEWAY_S) < now {
            return Err(ClientAssertionError::Expired { exp, now });
        }
        if exp > now + ASSERTION_LIFETIME_MAX_S + ASSERTION_CLOCK_LEEWAY_S {
            return Err(ClientAssertionError::TooLong { exp, now });
        }
        for (claim, value) in [("nbf", &self.claims.nbf), ("iat", &self.claims.iat)] {
            match seconds(claim, value.as_ref())? {
                Some(value) if value > now + ASSERTION_CLOCK_LEEWAY_S => {
                    return Err(ClientAssertionError::NotYet { claim, value, now });
                }
                Some(iat) if claim == "iat" && exp.saturating_sub(iat) > ASSERTION_LIFETIME_MAX_S => {
                    return Err(ClientAssertionError::TooLongAfterIssue { exp, iat });
                }
                _ => {}
            }
        }
        Ok(exp)
    }

    /// Checks that a `jku`, when there is one, is the registered `jwks_uri`, as a string. A `jku` is
    /// never fetched.
    ///
    /// # Errors
    /// [`ClientAssertionError::Jku`].
    pub fn check_registered_jku(&self, registered: Option<&str>) -> Result<(), ClientAssertionError> {
        match self.jws.header.jku.as_deref() {
            Some(jku) if registered != Some(jku) => Err(ClientAssertionError::Jku),
            _ => Ok(()),
        }
    }

    /// Returns whether the header names a `jku`: then only the key set fetched from there counts, else the inline keys
    /// count too (SMART App Launch 2.2.0, section on key lookup).
    #[must_use]
    pub fn has_jku_header(&self) -> bool {
        self.jws.header.jku.is_some()
    }

    /// Checks the signature with the one key among `sets` that has this `kid` and fits the
    /// algorithm.
    ///
    /// # Errors
    /// [`ClientAssertionError::UnknownKey`], [`ClientAssertionError::AmbiguousKey`],
    /// [`ClientAssertionError::Signature`].
    pub fn verify_signature(&self, sets: &[&UsableJwkSet]) -> Result<(), ClientAssertionError> {
        let mut matching = sets.iter().flat_map(|set| set.matching_keys(&self.kid, self.alg));
        let unknown =
            || ClientAssertionError::UnknownKey { kid: sanitize_for_error_description(&self.kid), alg: self.alg };
        let key = matching.next().ok_or_else(unknown)?;
        if matching.next().is_some() {
            return Err(ClientAssertionError::AmbiguousKey(sanitize_for_error_description(&self.kid)));
        }
        if key.verifies_signature(self.jws.signing_input(), self.jws.signature()) {
            Ok(())
        } else {
            Err(ClientAssertionError::Signature(sanitize_for_error_description(&self.kid)))
        }
    }
}

fn string(name: &'static str, claim: Option<&Value>) -> Result<String, ClientAssertionError> {
    claim.and_then(Value::as_str).map(str::to_owned).ok_or(ClientAssertionError::Claim(name))
}

fn seconds(name: &'static str, claim: Option<&Value>) -> Result<Option<i64>, ClientAssertionError> {
    claim.map(|value| parse_numeric_date(value).ok_or(ClientAssertionError::Claim(name))).transpose()
}
