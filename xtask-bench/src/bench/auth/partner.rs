//! Who asks for tokens: a Client with its credentials, and requests as it sends them.

use std::{net::SocketAddr, time::UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use aws_lc_rs::{rand, rand::SystemRandom};
use serde_json::{Value, json};

use super::super::{
    crypto::{Algorithm, Key, encoded},
    load::{self, Wire},
};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const SCOPE: &str = "system/*.read";
const KEY_ID: &str = "bench-1";
const TOKEN: &str = "/auth/token";
/// Below the 300 s that the server accepts at most.
const ASSERTION_LIFETIME_S: u64 = 290;

pub(super) const ORGANIZATION: &str = "acme-health";
pub(super) const EXT_BASE: &str = "http://platform.example/fhir";
pub(super) const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

/// How a Client proves who it is, and what its token is signed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// ES384 assertion, ES384 token, with the B2B claim.
    Es384,
    /// RS384 assertion, ES256 token.
    Rs384,
    /// Secret, ES256 token.
    Secret,
    /// Secret, opaque token.
    Opaque,
}

/// A registered Client.
#[derive(Debug)]
pub(super) struct Partner {
    kind: Kind,
    credential: Credential,
}

#[derive(Debug)]
enum Credential {
    Key(Box<Key>),
    Secret(String),
}

impl Kind {
    /// Whether each request needs an assertion of its own.
    pub(super) fn asserts(self) -> bool {
        matches!(self, Self::Es384 | Self::Rs384)
    }

    fn client(self) -> &'static str {
        match self {
            Self::Es384 => "bench-es384",
            Self::Rs384 => "bench-rs384",
            Self::Secret => "bench-secret",
            Self::Opaque => "bench-opaque",
        }
    }

    fn token_algorithm(self) -> Algorithm {
        match self {
            Self::Es384 => Algorithm::Es384,
            Self::Rs384 | Self::Secret | Self::Opaque => Algorithm::Es256,
        }
    }
}

impl Partner {
    /// A partner with a credential of this run alone.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub(super) fn generate(kind: Kind) -> Result<Self> {
        let credential = match kind {
            Kind::Es384 => Credential::Key(Box::new(Key::generate(Algorithm::Es384)?)),
            Kind::Rs384 => Credential::Key(Box::new(Key::generate(Algorithm::Rs384)?)),
            Kind::Secret | Kind::Opaque => Credential::Secret(random_text()?),
        };
        Ok(Self { kind, credential })
    }

    /// The id and the resource it is registered with.
    pub(super) fn client(&self) -> (&'static str, Value) {
        let id = self.kind.client();
        let mut grant = json!({
            "token_format": if self.kind == Kind::Opaque { "opaque" } else { "jwt" },
            "access_token_expiration": 300,
            "access_token_signing_alg": self.kind.token_algorithm().name(),
        });
        let mut client = json!({
            "resourceType": "Client",
            "id": id,
            "active": true,
            "grant_types": ["client_credentials"],
            "scope": [SCOPE],
        });
        match &self.credential {
            Credential::Key(key) => {
                set(&mut grant, "client_assertion_types", json!([JWT_BEARER]));
                set(&mut client, "jwks", json!([key.jwk(KEY_ID)]));
            }
            Credential::Secret(secret) => set(&mut client, "secret", json!(secret)),
        }
        set(&mut client, "auth", json!({"client_credentials": grant}));
        if self.kind == Kind::Es384 {
            set(&mut client, "extension", b2b());
        }
        (id, client)
    }

    /// A token request that has never been sent.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub(super) fn request(&self, server: SocketAddr) -> Result<Wire> {
        let common = [("grant_type", "client_credentials"), ("scope", SCOPE)];
        let assertion;
        let own = match &self.credential {
            Credential::Key(key) => {
                assertion = self.assertion(key, &format!("http://{server}{TOKEN}"))?;
                [("client_assertion_type", JWT_BEARER), ("client_assertion", assertion.as_str())]
            }
            Credential::Secret(_) => self.secret_fields()?,
        };
        Ok(load::post_form(server, TOKEN, &[common, own].concat()))
    }

    /// How a Client with a secret authenticates in a form.
    ///
    /// # Errors
    /// When it has none.
    pub(super) fn secret_fields(&self) -> Result<[(&str, &str); 2]> {
        let Credential::Secret(secret) = &self.credential else { bail!("the Client has no secret") };
        Ok([("client_id", self.kind.client()), ("client_secret", secret)])
    }

    /// # Source
    /// The platform's specification, "Client assertion JWT".
    fn assertion(&self, key: &Key, audience: &str) -> Result<String> {
        let client = self.kind.client();
        let header = json!({"alg": key.algorithm().name(), "typ": "JWT", "kid": KEY_ID}).to_string();
        let claims = json!({
            "iss": client,
            "sub": client,
            "aud": audience,
            "exp": now_s()? + ASSERTION_LIFETIME_S,
            "jti": random_text()?,
        });
        let message = format!("{}.{}", encoded(header.as_bytes()), encoded(claims.to_string().as_bytes()));
        let signature = key.sign(&SystemRandom::new(), message.as_bytes())?;
        Ok(format!("{message}.{}", encoded(&signature)))
    }

    /// Whether an answer of the token endpoint is what is meant to be measured.
    ///
    /// # Errors
    /// When its token is signed with another algorithm, or carries the B2B claim where it should not or the
    /// other way round.
    pub(super) fn check(&self, answer: &Value) -> Result<()> {
        let token = answer.get("access_token").and_then(Value::as_str).context("the answer has no access_token")?;
        let mut parts = token.split('.').map(decoded);
        let (header, claims) = (parts.next().flatten(), parts.next().flatten());
        let (header, claims) = header.zip(claims).context("the access token is no JWT")?;
        let algorithm = self.kind.token_algorithm().name();
        ensure!(header.get("alg").and_then(Value::as_str) == Some(algorithm), "the token is not {algorithm}: {header}");
        let has_claim = claims.pointer("/extensions/hl7-b2b").is_some();
        ensure!(has_claim == (self.kind == Kind::Es384), "the B2B claim is where it should not be, or not: {claims}");
        Ok(())
    }
}

fn b2b() -> Value {
    json!([{
        "url": format!("{EXT_BASE}/StructureDefinition/client-hl7B2b"),
        "extension": [
            {"url": "organization", "valueReference": {"reference": format!("Organization/{ORGANIZATION}")}},
            {"url": "organizationIdentifierSystem", "valueUri": NPI},
            {"url": "purposeOfUse", "valueCoding": {
                "system": "http://terminology.hl7.org/CodeSystem/v3-ActReason",
                "code": "HPAYMT",
            }},
        ],
    }])
}

fn set(document: &mut Value, member: &str, value: Value) {
    if let Some(members) = document.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
}

/// A part of a JWT.
pub(super) fn decoded(part: &str) -> Option<Value> {
    use base64::Engine as _;
    serde_json::from_slice(&base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// 192 random bits as text.
///
/// # Errors
/// When the system gives no randomness.
pub(super) fn random_text() -> Result<String> {
    let mut bytes = [0; 24];
    rand::fill(&mut bytes).context("the system gives no randomness")?;
    Ok(encoded(&bytes))
}

/// Seconds since 1970.
fn now_s() -> Result<u64> {
    #[expect(clippy::disallowed_methods, reason = "the bench is a client and owns its clock")]
    let now = std::time::SystemTime::now();
    Ok(now.duration_since(UNIX_EPOCH).context("the clock stands before 1970")?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &Value, claims: &Value) -> Value {
        let part = |value: &Value| encoded(value.to_string().as_bytes());
        json!({"access_token": format!("{}.{}.c2ln", part(header), part(claims))})
    }

    #[test]
    fn only_the_token_that_is_meant_is_measured() {
        let with = json!({"extensions": {"hl7-b2b": {"version": "1"}}});
        let (plain, es256, es384) = (json!({}), json!({"alg": "ES256"}), json!({"alg": "ES384"}));
        let partner = Partner::generate(Kind::Es384).unwrap();
        assert!(partner.check(&token(&es384, &with)).is_ok());
        assert!(partner.check(&token(&es384, &plain)).is_err());
        assert!(partner.check(&token(&es256, &with)).is_err());
        let partner = Partner::generate(Kind::Secret).unwrap();
        assert!(partner.check(&token(&es256, &plain)).is_ok());
        assert!(partner.check(&token(&es256, &with)).is_err());
        assert!(partner.check(&json!({"access_token": "opaque"})).is_err());
    }

    #[test]
    fn no_two_assertions_are_the_same_and_a_secret_is_sent_again() {
        let server = "127.0.0.1:1".parse().unwrap();
        for kind in [Kind::Es384, Kind::Secret] {
            let partner = Partner::generate(kind).unwrap();
            let same = partner.request(server).unwrap() == partner.request(server).unwrap();
            assert_eq!(same, !kind.asserts(), "{kind:?}");
        }
    }
}
