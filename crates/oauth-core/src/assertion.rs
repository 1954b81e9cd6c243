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

use crate::client::JWT_BEARER;
use crate::env::Env;
use crate::form::printable;
use crate::jose::{CompactJws, CompactJwsError, JwsHeader, KeySet, SigningAlg, numeric_date};
use crate::jwks::JwksError;
use crate::limits::{ASSERTION_LIFETIME_MAX_S, ASSERTION_MAX_BYTES, CLOCK_LEEWAY_S, JTI_MAX_BYTES, KID_MAX_BYTES};
use crate::ports::JtiNonce;

/// An assertion whose shape, algorithm and key id are in order; nothing of it is verified yet.
#[derive(Debug)]
pub struct ClientAssertion<'a> {
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

/// The check that a client assertion failed. Every one is `invalid_client` to the caller; the text names the check and
/// the values that are no secret, because an opaque refusal is the field's first complaint.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AssertionError {
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
    #[error("client_assertion: the client is not registered for client_assertion_type {JWT_BEARER} here")]
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

/// The key that a client assertion names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySelector<'a> {
    /// The `kid`.
    pub kid: &'a str,
    /// The algorithm the key has to fit.
    pub alg: SigningAlg,
}

impl KeySelector<'_> {
    /// Returns whether `keys` has it.
    #[must_use]
    pub fn is_in(&self, keys: &KeySet) -> bool {
        keys.knows(self.kid, self.alg)
    }
}

/// The details of a refused assertion that an operator needs beside the error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifiedAssertion {
    /// The `sub`, shortened to printable text.
    pub client: String,
    /// The header's `alg`, shortened to printable text.
    pub alg: String,
    /// The header's `kid`, likewise.
    pub kid: String,
    /// The `aud` claim, likewise.
    pub aud: String,
}

impl VerifiedAssertion {
    /// Returns what can be seen of a text that may be no assertion at all.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let Ok(jws) = CompactJws::parse(text, ASSERTION_MAX_BYTES) else { return Self::default() };
        Self::of_parts(&jws.header, &jws.payload().unwrap_or_default())
    }

    fn of_parts(header: &JwsHeader, claims: &Claims) -> Self {
        let shown = |claim: &Option<Value>| match claim {
            None => String::new(),
            Some(Value::String(text)) => printable(text),
            Some(other) => printable(&other.to_string().replace('"', "'")),
        };
        Self {
            client: shown(&claims.sub),
            alg: printable(&header.alg),
            kid: printable(header.kid.as_deref().unwrap_or_default()),
            aud: shown(&claims.aud),
        }
    }
}

impl<'a> ClientAssertion<'a> {
    /// Reads an assertion: size, shape, header. No cryptography.
    ///
    /// # Errors
    /// The faults of the header, [`AssertionError::Shape`], and [`AssertionError::Claim`] when
    /// there is no subject to look the client up by.
    pub fn read(text: &'a str) -> Result<Self, AssertionError> {
        let jws = CompactJws::parse(text, ASSERTION_MAX_BYTES)?;
        let header = &jws.header;
        let alg = header.alg.parse().ok().filter(|alg: &SigningAlg| alg.signs_assertions());
        let alg = alg.ok_or_else(|| AssertionError::Algorithm(printable(&header.alg)))?;
        let kid = header.kid.clone().filter(|kid| !kid.is_empty() && kid.len() <= KID_MAX_BYTES);
        let kid = kid.ok_or(AssertionError::NoKid)?;
        // Not specified whether `typ` may be absent; RFC 7519, section 5.1 makes it optional and
        // widely used client libraries leave it out, so only another value is refused.
        if let Some(typ) = header.typ.as_deref().filter(|typ| !typ.eq_ignore_ascii_case("JWT")) {
            return Err(AssertionError::Type(printable(typ)));
        }
        if header.has_critical_extensions() {
            return Err(AssertionError::Critical);
        }
        let claims: Claims = jws.payload()?;
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
    pub fn key(&self) -> KeySelector<'_> {
        KeySelector { kid: &self.kid, alg: self.alg }
    }

    /// Returns what the log shows of this assertion.
    #[must_use]
    pub fn seen(&self) -> VerifiedAssertion {
        VerifiedAssertion::of_parts(&self.jws.header, &self.claims)
    }

    /// Checks `iss`, `sub`, `aud`, `exp`, `nbf`, `iat` and that there is a `jti`; returns the nonce
    /// to claim once everything else holds.
    ///
    /// # Errors
    /// The faults of the claims.
    pub fn check_claims(&self, env: &Env<'_>, token_endpoint: &str) -> Result<JtiNonce, AssertionError> {
        if string("iss", self.claims.iss.as_ref())? != self.subject {
            return Err(AssertionError::IssuerNotSubject);
        }
        self.check_audience(token_endpoint)?;
        let exp = self.check_times(env.now_s())?;
        let jti = string("jti", self.claims.jti.as_ref())?;
        if jti.is_empty() || jti.len() > JTI_MAX_BYTES {
            return Err(AssertionError::Claim("jti"));
        }
        Ok(JtiNonce { jti, expires_s: exp + CLOCK_LEEWAY_S + 1 })
    }

    fn check_audience(&self, expected: &str) -> Result<(), AssertionError> {
        let aud = self.claims.aud.as_ref().ok_or(AssertionError::Claim("aud"))?;
        let named = match aud {
            Value::String(one) => one == expected,
            Value::Array(several) => several.iter().any(|one| one.as_str() == Some(expected)),
            _ => return Err(AssertionError::Claim("aud")),
        };
        if named {
            Ok(())
        } else {
            Err(AssertionError::Audience { seen: self.seen().aud, expected: expected.to_owned() })
        }
    }

    fn check_times(&self, now: i64) -> Result<i64, AssertionError> {
        let exp = seconds("exp", self.claims.exp.as_ref())?.ok_or(AssertionError::Claim("exp"))?;
        if exp.saturating_add(CLOCK_LEEWAY_S) < now {
            return Err(AssertionError::Expired { exp, now });
        }
        if exp > now + ASSERTION_LIFETIME_MAX_S + CLOCK_LEEWAY_S {
            return Err(AssertionError::TooLong { exp, now });
        }
        for (claim, value) in [("nbf", &self.claims.nbf), ("iat", &self.claims.iat)] {
            match seconds(claim, value.as_ref())? {
                Some(value) if value > now + CLOCK_LEEWAY_S => {
                    return Err(AssertionError::NotYet { claim, value, now });
                }
                Some(iat) if claim == "iat" && exp.saturating_sub(iat) > ASSERTION_LIFETIME_MAX_S => {
                    return Err(AssertionError::TooLongAfterIssue { exp, iat });
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
    /// [`AssertionError::Jku`].
    pub fn check_jku(&self, registered: Option<&str>) -> Result<(), AssertionError> {
        match self.jws.header.jku.as_deref() {
            Some(jku) if registered != Some(jku) => Err(AssertionError::Jku),
            _ => Ok(()),
        }
    }

    /// Returns whether the key set that must be fetched comes from a `jku` the header names: then only that set counts,
    /// else the inline keys count too (SMART App Launch 2.2.0, section on key lookup).
    #[must_use]
    pub fn names_jku(&self) -> bool {
        self.jws.header.jku.is_some()
    }

    /// Checks the signature with the one key among `sets` that has this `kid` and fits the
    /// algorithm.
    ///
    /// # Errors
    /// [`AssertionError::UnknownKey`], [`AssertionError::AmbiguousKey`], [`AssertionError::Signature`].
    pub fn check_signature(&self, sets: &[&KeySet]) -> Result<(), AssertionError> {
        let mut matching = sets.iter().flat_map(|set| set.matching(&self.kid, self.alg));
        let unknown = || AssertionError::UnknownKey { kid: printable(&self.kid), alg: self.alg };
        let key = matching.next().ok_or_else(unknown)?;
        if matching.next().is_some() {
            return Err(AssertionError::AmbiguousKey(printable(&self.kid)));
        }
        if key.verifies(self.jws.signing_input(), self.jws.signature()) {
            Ok(())
        } else {
            Err(AssertionError::Signature(printable(&self.kid)))
        }
    }
}

fn string(name: &'static str, claim: Option<&Value>) -> Result<String, AssertionError> {
    claim.and_then(Value::as_str).map(str::to_owned).ok_or(AssertionError::Claim(name))
}

fn seconds(name: &'static str, claim: Option<&Value>) -> Result<Option<i64>, AssertionError> {
    claim.map(|value| numeric_date(value).ok_or(AssertionError::Claim(name))).transpose()
}
