//! A service that accepts the tokens of auth-server: it verifies them, asks their scopes, and reads the B2B claim.
//!
//! `resource-server ISSUER LISTEN`, for example `resource-server http://127.0.0.1:8080 127.0.0.1:8081`. Then
//! `GET /coverage/7` with a token that has `system/Coverage.r` answers who asked.

use std::sync::{Arc, RwLock};

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Json;
use axum::routing::get;
use b2b_claim::B2bClaim;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Value, json};
use smart_scopes::{Context, Interaction, Permission, ScopeSet};

/// The claims that this service looks at.
#[derive(Deserialize)]
struct Token {
    sub: String,
    #[serde(default)]
    scope: ScopeSet,
    extensions: Option<Extensions>,
}

#[derive(Deserialize)]
struct Extensions {
    #[serde(rename = "hl7-b2b")]
    b2b: B2bClaim,
}

/// Whom this service trusts, and with which keys.
struct Issuer {
    url: String,
    keys: RwLock<JwkSet>,
}

impl Issuer {
    fn fetch_keys(&self) -> Result<()> {
        let url = format!("{}/.well-known/jwks.json", self.url);
        let keys = ureq::get(&url).call()?.body_mut().read_json().context("not a key set")?;
        *self.keys.write().expect("no thread panics with the lock") = keys;
        Ok(())
    }

    fn key(&self, kid: &str) -> Option<Jwk> {
        self.keys.read().expect("no thread panics with the lock").find(kid).cloned()
    }

    /// The claims of a token of this issuer for this audience whose signature and times are right.
    fn verify(&self, token: &str) -> Result<Token> {
        let header = decode_header(token)?;
        if !matches!(header.alg, Algorithm::ES256 | Algorithm::ES384 | Algorithm::RS256 | Algorithm::RS384) {
            bail!("not an algorithm of the issuer");
        }
        let kid = header.kid.context("no kid")?;
        if self.key(&kid).is_none() {
            self.fetch_keys()?; // A rotated key: production code limits how often it does this.
        }
        let key = DecodingKey::from_jwk(&self.key(&kid).context("an unknown key")?)?;
        let mut rules = Validation::new(header.alg);
        rules.set_issuer(&[&self.url]);
        rules.set_audience(&[format!("{}/fhir", self.url)]);
        rules.set_required_spec_claims(&["iss", "aud", "exp", "sub"]);
        Ok(decode::<Token>(token, &key, &rules)?.claims)
    }
}

async fn coverage(
    State(issuer): State<Arc<Issuer>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusCode> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = given.and_then(|value| value.strip_prefix("Bearer ")).ok_or(StatusCode::UNAUTHORIZED)?.to_owned();
    let verified = tokio::task::spawn_blocking(move || issuer.verify(&token)).await;
    let token = verified.ok().and_then(Result::ok).ok_or(StatusCode::UNAUTHORIZED)?;
    if token.scope.permits(Context::System, "Coverage", Interaction::Read) != Permission::Allowed {
        return Err(StatusCode::FORBIDDEN);
    }
    let organization = token.extensions.map(|extensions| extensions.b2b.organization_id.to_string());
    Ok(Json(json!({"coverage": id, "client": token.sub, "organization": organization})))
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (url, listen) = (arguments.next().context("ISSUER")?, arguments.next().context("LISTEN")?);
    let issuer = Arc::new(Issuer { url, keys: RwLock::new(JwkSet { keys: Vec::new() }) });
    let router = Router::new().route("/coverage/{id}", get(coverage)).with_state(issuer);
    let listener = tokio::net::TcpListener::bind(listen).await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}
