//! Token exchange: a token of another issuer for one of ours.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use oauth_core::jose::{GeneratedSigningKey, SigningAlg, SigningKey};
use oauth_core::token_endpoint::TokenResponse;
use serde_json::{Value, json};

use crate::app::{ada, but, refresh, rows, with_app};
use crate::world::{BASE, GENERATED, NOW_S, NOW_US, Partner, World, basic};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const IDP: &str = "https://idp.example";
const SECRET: &str = "a secret of more than thirty-two bytes";
const KEYS_AT: &str = "https://idp.example/jwks";

fn app() -> Value {
    json!({
        "grant_types": [EXCHANGE], "scope": ["openid", "offline_access", "patient/*.rs", "system/*.rs"],
        "allowedIssuers": ["https://first.example", IDP],
        "auth": {"token_exchange": {"token_format": "jwt", "refresh_token": true, "access_token_expiration": 600}},
    })
}

fn by_secret() -> Value {
    json!({"type": "jwt", "jwt": {"iss": IDP, "secret": SECRET}})
}

fn by_keys(keys: &Value) -> Value {
    json!({"type": "jwt", "jwt": {"iss": IDP, "keys": keys}})
}

/// A deployment whose confidential app may exchange tokens of the identity provider.
async fn with_exchange() -> World {
    let world = with_app().await;
    let mut app = app();
    app["secret"] = json!(world.sealed_secret(GENERATED));
    world.memory.put_resource("Client", "app", app);
    world.memory.put_resource("TokenIntrospector", "idp", by_secret());
    world
}

fn claims() -> Value {
    json!({"iss": IDP, "sub": "ada", "exp": NOW_S + 300, "iat": NOW_S, "nbf": NOW_S})
}

fn shared(header: &Header, claims: &Value, secret: &[u8]) -> String {
    encode(header, claims, &EncodingKey::from_secret(secret)).unwrap()
}

/// A token as the identity provider signs it with its secret.
fn token(claims: &Value) -> String {
    shared(&Header::new(Algorithm::HS256), claims, SECRET.as_bytes())
}

fn without(claim: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(claim);
    claims
}

fn with(claim: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[claim] = value;
    claims
}

fn form(token: &str) -> [(&'static str, &str); 3] {
    [("grant_type", EXCHANGE), ("subject_token_type", JWT), ("subject_token", token)]
}

async fn exchanged(world: &World, form: &[(&str, &str)]) -> Result<TokenResponse, (&'static str, String)> {
    let before = rows(world);
    let outcome = world.token_with(Some(&basic("app", GENERATED)), form).await;
    outcome.map_err(|error| {
        assert_eq!(rows(world), before, "a refusal stores nothing: {form:?}");
        (error.error_code(), error.to_string())
    })
}

/// The token is refused as the standard says, and the text names the check.
async fn refused(world: &World, token: &str, named: &str) {
    let (code, text) = exchanged(world, &form(token)).await.unwrap_err();
    assert_eq!(code, "invalid_request", "{named}: {text}");
    assert!(text.starts_with("subject_token: ") && text.contains(named), "{named}: {text}");
}

/// A key pair, its public half in PEM.
fn key(alg: SigningAlg) -> (GeneratedSigningKey, String) {
    let key = SigningKey::generate(alg).unwrap();
    let public = public_pem(alg, &key);
    (key, public)
}

fn public_pem(alg: SigningAlg, key: &GeneratedSigningKey) -> String {
    use p384::pkcs8::{EncodePublicKey as _, LineEnding};
    use rsa::pkcs8::DecodePrivateKey as _;
    match alg {
        SigningAlg::RS256 | SigningAlg::RS384 => {
            let private = rsa::RsaPrivateKey::from_pkcs8_der(&key.pkcs8).unwrap();
            rsa::pkcs8::EncodePublicKey::to_public_key_pem(&private.to_public_key(), LineEnding::LF).unwrap()
        }
        _ => {
            let private = <p384::SecretKey as p384::pkcs8::DecodePrivateKey>::from_pkcs8_der(&key.pkcs8).unwrap();
            private.public_key().to_public_key_pem(LineEnding::LF).unwrap()
        }
    }
}

fn signed(alg: Algorithm, kid: Option<&str>, key: &GeneratedSigningKey) -> String {
    let mut header = Header::new(alg);
    header.kid = kid.map(str::to_owned);
    let key = match alg {
        Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_der(&key.pkcs8),
        // The library reads RSA keys as PEM of either form.
        _ => EncodingKey::from_rsa_pem(crate::world::pem("PRIVATE KEY", &key.pkcs8).as_bytes()).unwrap(),
    };
    encode(&header, &claims(), &key).unwrap()
}

#[tokio::test]
async fn a_token_made_for_another_application_is_refused_where_an_audience_is_expected() {
    for expected in [json!("https://payer.example"), json!(["other", "https://payer.example"])] {
        let world = with_exchange().await;
        let mut introspector = by_secret();
        introspector["jwt"]["audience"] = expected;
        world.memory.put_resource("TokenIntrospector", "idp", introspector);
        for aud in [json!("https://payer.example"), json!(["x", "https://payer.example"])] {
            assert!(exchanged(&world, &form(&token(&with("aud", aud)))).await.is_ok());
        }
        for aud in [json!("another application"), json!(["x", "y"]), json!([]), json!("https://payer.example/")] {
            refused(&world, &token(&with("aud", aud)), "the TokenIntrospector expects another audience").await;
        }
        refused(&world, &token(&without("aud")), "the claim aud").await;
        refused(&world, &token(&with("aud", json!(7))), "the claim aud").await;
    }
}

#[tokio::test]
async fn the_audiences_of_a_client_count_beside_those_of_the_issuer() {
    let world = with_exchange().await;
    let mut limited = app();
    limited["secret"] = json!(world.sealed_secret(GENERATED));
    limited["allowedAudiences"] = json!(["mine"]);
    world.memory.put_resource("Client", "app", limited.clone());
    assert!(exchanged(&world, &form(&token(&with("aud", json!("mine"))))).await.is_ok());
    refused(&world, &token(&with("aud", json!("yours"))), "the Client expects another audience").await;
    refused(&world, &token(&without("aud")), "the claim aud").await;
    let mut introspector = by_secret();
    introspector["jwt"]["audience"] = json!("theirs");
    world.memory.put_resource("TokenIntrospector", "idp", introspector);
    refused(&world, &token(&with("aud", json!("mine"))), "the TokenIntrospector expects").await;
    refused(&world, &token(&with("aud", json!("theirs"))), "the Client expects").await;
    assert!(exchanged(&world, &form(&token(&with("aud", json!(["mine", "theirs"]))))).await.is_ok());
    // What was stored past the checks of registration opens nothing.
    limited["allowedAudiences"] = json!("mine");
    world.memory.put_resource("Client", "app", limited);
    refused(&world, &token(&with("aud", json!(["mine", "theirs"]))), "the Client expects").await;
}

#[tokio::test]
async fn a_token_of_a_trusted_issuer_gives_one_of_ours_for_the_user_it_names() {
    let world = with_exchange().await;
    let response = exchanged(&world, &form(&token(&claims()))).await.unwrap();
    assert_eq!((response.token_type, response.expires_in), ("Bearer", 600));
    assert_eq!(response.issued_token_type, Some(ACCESS_TOKEN));
    assert_eq!(response.scope.as_deref(), Some("openid offline_access patient/*.rs"));
    assert_eq!((response.context.patient.as_deref(), response.id_token.as_deref()), (Some("p-1"), None));
    let issued = world.claims(&response.access_token);
    assert_eq!((&issued["sub"], &issued["client_id"]), (&json!("ada"), &json!("app")));
    let bearer = format!("Bearer {}", response.access_token);
    let caller = world.server.callers.authenticate_without_address(&world.env(), Some(&bearer)).await.unwrap();
    assert_eq!(caller.represented_end_user().unwrap().id, "ada");
}

#[tokio::test]
async fn a_refresh_token_comes_with_its_setting_and_offline_access_alone() {
    let world = with_exchange().await;
    let token = token(&claims());
    let response = exchanged(&world, &form(&token)).await.unwrap();
    let header = basic("app", GENERATED);
    let refresh_token = response.refresh_token.unwrap();
    let again = [("grant_type", "refresh_token"), ("refresh_token", &*refresh_token)];
    assert_eq!(world.token_with(Some(&header), &again).await.unwrap().scope, response.scope);
    assert_eq!(refresh(&world, &refresh_token).await.unwrap_err().error_code(), "invalid_client", "without its proof");
    let mut narrow = form(&token).to_vec();
    narrow.push(("scope", "patient/Observation.rs"));
    assert_eq!(exchanged(&world, &narrow).await.unwrap().refresh_token, None);
    let mut app = world.memory.get_resource("Client", "app").unwrap().resource;
    app["auth"]["token_exchange"]["refresh_token"] = json!(false);
    world.memory.put_resource("Client", "app", app);
    assert_eq!(exchanged(&world, &form(&token)).await.unwrap().refresh_token, None);
}

#[tokio::test]
async fn scopes_outside_the_registration_are_not_given() {
    let world = with_exchange().await;
    let token = token(&claims());
    for (asked, given) in [
        ("patient/Observation.rs system/*.rs email", Ok(Some("patient/Observation.rs".to_owned()))),
        ("system/*.rs", Err("invalid_scope")),
        ("patient/.rs", Err("invalid_scope")),
    ] {
        let mut form = form(&token).to_vec();
        form.push(("scope", asked));
        let outcome = exchanged(&world, &form).await;
        assert_eq!(outcome.map(|response| response.scope).map_err(|(code, _)| code), given, "{asked}");
    }
}

#[tokio::test]
async fn box_user_names_the_user_before_sub_does() {
    let world = with_exchange().await;
    let mut claims = with("sub", json!("0a1b"));
    refused(&world, &token(&claims), "names no active User").await;
    claims["box_user"] = json!("ada");
    let response = exchanged(&world, &form(&token(&claims))).await.unwrap();
    assert_eq!(world.claims(&response.access_token)["sub"], "ada");
    refused(&world, &token(&with("box_user", json!("nobody"))), "names no active User").await;
    refused(&world, &token(&with("box_user", json!(7))), "the claim box_user").await;
    refused(&world, &token(&with("box_user", json!(""))), "the claim box_user").await;
}

#[tokio::test]
async fn an_inactive_and_an_unknown_user_are_refused_in_one_text() {
    let world = with_exchange().await;
    let mut idle = ada();
    idle["active"] = json!(false);
    world.memory.put_resource("User", "idle", idle);
    let mut texts = Vec::new();
    for user in ["idle", "nobody"] {
        texts.push(exchanged(&world, &form(&token(&with("sub", json!(user))))).await.unwrap_err());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
}

#[tokio::test]
async fn only_who_is_said_is_taken_from_the_token() {
    let world = with_exchange().await;
    let mut claims = claims();
    for (name, value) in [
        ("scope", json!("system/*.cruds")),
        ("extensions", json!({"hl7-b2b": {"version": "1"}})),
        ("context", json!({"patient": "p-2"})),
        ("client_id", json!("root")),
    ] {
        claims[name] = value;
    }
    let response = exchanged(&world, &form(&token(&claims))).await.unwrap();
    let issued = world.claims(&response.access_token);
    assert_eq!((issued.get("extensions"), &issued["client_id"]), (None, &json!("app")));
    assert_eq!((&issued["iss"], &issued["context"]["patient"]), (&json!(BASE), &json!("p-1")));
    assert_eq!(issued["scope"], "openid offline_access patient/*.rs");
}

#[tokio::test]
async fn every_claim_is_checked() {
    let world = with_exchange().await;
    for claim in ["iss", "sub", "exp"] {
        refused(&world, &token(&without(claim)), &format!("the claim {claim}")).await;
        refused(&world, &token(&with(claim, json!([]))), &format!("the claim {claim}")).await;
    }
    for claim in ["nbf", "iat"] {
        assert!(exchanged(&world, &form(&token(&without(claim)))).await.is_ok(), "{claim} is optional");
        assert!(exchanged(&world, &form(&token(&with(claim, json!(NOW_S + 60))))).await.is_ok());
        refused(&world, &token(&with(claim, json!(NOW_S + 61))), "in the future").await;
        refused(&world, &token(&with(claim, json!("now"))), &format!("the claim {claim}")).await;
    }
    assert!(exchanged(&world, &form(&token(&with("exp", json!(NOW_S - 60))))).await.is_ok());
    refused(&world, &token(&with("exp", json!(NOW_S - 61))), "expired").await;
}

#[tokio::test]
async fn the_issuer_must_be_the_clients_and_have_one_introspector() {
    let world = with_exchange().await;
    refused(&world, &token(&with("iss", json!("https://evil.example"))), "may not exchange").await;
    refused(&world, &token(&with("iss", json!("https://idp.example/"))), "may not exchange").await;
    refused(&world, &token(&with("iss", json!("https://first.example"))), "no TokenIntrospector").await;
    world.memory.put_resource("TokenIntrospector", "second", by_secret());
    refused(&world, &token(&claims()), "several TokenIntrospectors").await;
    world.memory.delete_resource("TokenIntrospector", "second", NOW_US);
    assert!(exchanged(&world, &form(&token(&claims()))).await.is_ok());
    for broken in [
        json!({"type": "opaque", "jwt": {"iss": IDP, "secret": SECRET}}),
        json!({"type": "jwt", "jwt": {"iss": IDP, "secret": SECRET}, "jwks_uri": KEYS_AT}),
        json!({"type": "jwt", "jwt": {"iss": IDP, "secret": ""}}),
    ] {
        world.memory.put_resource("TokenIntrospector", "idp", broken);
        refused(&world, &token(&claims()), "cannot be used").await;
    }
    let mut app = world.memory.get_resource("Client", "app").unwrap().resource;
    app.as_object_mut().unwrap().remove("allowedIssuers");
    world.memory.put_resource("Client", "app", app);
    refused(&world, &token(&claims()), "may not exchange").await;
}

#[tokio::test]
async fn what_is_not_signed_by_the_issuer_is_refused() {
    let world = with_exchange().await;
    let good = token(&claims());
    let (front, _) = good.rsplit_once('.').unwrap();
    refused(&world, &format!("{front}."), "signature").await;
    refused(&world, &shared(&Header::new(Algorithm::HS256), &claims(), b"another secret"), "signature").await;
    refused(&world, &shared(&Header::new(Algorithm::HS512), &claims(), SECRET.as_bytes()), "alg is HS512").await;
    refused(&world, &unsigned(&json!({"alg": "none"})), "alg is none").await;
    refused(&world, &unsigned(&json!({"alg": "HS256", "crit": ["exp"]})), "critical").await;
    refused(&world, "text", "three parts").await;
    refused(&world, &"x".repeat(16 * 1024 + 1), "longer than").await;
    refused(&world, &unsigned(&json!({"alg": "ES256"})), "no key of the issuer fits").await;
}

fn unsigned(header: &Value) -> String {
    let part = |value: &Value| oauth_core::jose::encode_base64url(value.to_string().as_bytes());
    format!("{}.{}.", part(header), part(&claims()))
}

#[tokio::test]
async fn a_public_key_is_never_taken_for_a_shared_secret() {
    let world = with_exchange().await;
    let (pair, pem) = key(SigningAlg::RS256);
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----"));
    world.memory.put_resource(
        "TokenIntrospector",
        "idp",
        by_keys(&json!([{"kty": "RSA", "alg": "RS256", "pub": pem}])),
    );
    for secret in [pem.as_bytes(), pem.trim_end().as_bytes()] {
        let forged = shared(&Header::new(Algorithm::HS256), &claims(), secret);
        refused(&world, &forged, "no key of the issuer fits HS256").await;
    }
    assert!(exchanged(&world, &form(&signed(Algorithm::RS256, None, &pair))).await.is_ok());
    refused(&world, &signed(Algorithm::RS384, None, &pair), "no key of the issuer fits RS384").await;
    let mut at = json!({"type": "jwt", "jwt": {"iss": IDP}});
    at["jwks_uri"] = json!(KEYS_AT);
    world.memory.put_resource("TokenIntrospector", "idp", at);
    world.host.serve(&[serde_json::from_str(&pair.public_jwk).unwrap()], None);
    let forged = shared(&Header::new(Algorithm::HS256), &claims(), pair.public_jwk.as_bytes());
    refused(&world, &forged, "no key of the issuer fits HS256").await;
    assert_eq!(world.host.asked(), 0);
}

#[tokio::test]
async fn registered_keys_of_each_algorithm_verify_their_own_tokens() {
    let world = with_exchange().await;
    let (rsa, rsa_pem) = key(SigningAlg::RS384);
    let (ec, ec_pem) = key(SigningAlg::ES384);
    let (other, _) = key(SigningAlg::ES384);
    let keys = json!([
        {"kty": "OCT", "alg": "HS256", "k": SECRET, "format": "plain"},
        {"kty": "RSA", "alg": "RS384", "pub": rsa_pem, "format": "PEM"},
        {"kty": "EC", "alg": "ES384", "pub": ec_pem},
    ]);
    world.memory.put_resource("TokenIntrospector", "idp", by_keys(&keys));
    for good in [token(&claims()), signed(Algorithm::RS384, None, &rsa), signed(Algorithm::ES384, Some("any"), &ec)] {
        assert!(exchanged(&world, &form(&good)).await.is_ok());
    }
    refused(&world, &signed(Algorithm::ES384, None, &other), "signature").await;
    refused(&world, &signed(Algorithm::RS256, None, &rsa), "no key of the issuer fits RS256").await;
    // A key on one curve registered for the other.
    world.memory.put_resource(
        "TokenIntrospector",
        "idp",
        by_keys(&json!([{"kty": "EC", "alg": "ES256", "pub": ec_pem}])),
    );
    refused(&world, &signed(Algorithm::ES384, None, &ec), "cannot be used").await;
}

#[tokio::test]
async fn keys_at_an_address_are_fetched_once_and_named_by_kid() {
    let world = with_exchange().await;
    let introspector = json!({"type": "jwt", "jwt": {"iss": IDP}, "jwks_uri": KEYS_AT});
    world.memory.put_resource("TokenIntrospector", "idp", introspector);
    let pairs = [SigningAlg::ES256, SigningAlg::RS256].map(|alg| SigningKey::generate(alg).unwrap());
    let mut jwks = pairs.each_ref().map(|pair| serde_json::from_str::<Value>(&pair.public_jwk).unwrap());
    jwks[0]["kid"] = json!("ec");
    jwks[1]["kid"] = json!("rsa");
    refused(&world, &signed(Algorithm::ES256, None, &pairs[0]), "no kid").await;
    assert_eq!(world.host.asked(), 0);
    world.host.serve(&jwks, Some(300));
    for (alg, kid, pair) in [(Algorithm::ES256, "ec", &pairs[0]), (Algorithm::RS256, "rsa", &pairs[1])] {
        assert!(exchanged(&world, &form(&signed(alg, Some(kid), pair))).await.is_ok(), "{kid}");
    }
    assert_eq!(world.host.asked(), 1);
    refused(&world, &signed(Algorithm::ES256, Some("rsa"), &pairs[0]), "no key of the issuer fits ES256").await;
    let stranger = SigningKey::generate(SigningAlg::ES256).unwrap();
    refused(&world, &signed(Algorithm::ES256, Some("ec"), &stranger), "signature").await;
}

#[tokio::test]
async fn keys_that_cannot_be_fetched_or_told_apart_verify_nothing() {
    let world = with_exchange().await;
    let introspector = json!({"type": "jwt", "jwt": {"iss": IDP}, "jwks_uri": KEYS_AT});
    world.memory.put_resource("TokenIntrospector", "idp", introspector.clone());
    let pair = SigningKey::generate(SigningAlg::ES256).unwrap();
    let token = signed(Algorithm::ES256, Some("ec"), &pair);
    refused(&world, &token, "could not be fetched").await;
    let mut jwk: Value = serde_json::from_str(&pair.public_jwk).unwrap();
    jwk["kid"] = json!("ec");
    let mut twice = introspector;
    twice["jwks_uri"] = json!("https://idp.example/twice");
    world.memory.put_resource("TokenIntrospector", "idp", twice);
    world.host.serve(&[jwk.clone(), jwk], None);
    refused(&world, &token, "several keys").await;
}

#[tokio::test]
async fn keys_for_exchange_do_not_widen_what_assertions_may_be_signed_with() {
    let (world, partner) = crate::world::with_partner().await;
    let mut header = Partner::header(Algorithm::RS384);
    assert!(world.assert(&partner.sign(&header, &crate::world::claims("one"))).await.is_ok());
    header.alg = Algorithm::RS256;
    let error = world.assert(&partner.sign(&header, &crate::world::claims("two"))).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_client");
}

#[tokio::test]
async fn parameters_that_ask_for_something_else_are_refused() {
    let world = with_exchange().await;
    let token = token(&claims());
    let good = form(&token);
    for name in ["subject_token", "subject_token_type"] {
        assert_eq!(exchanged(&world, &but(&good, name, "")).await.unwrap_err().0, "invalid_request", "{name}");
    }
    let fhir = format!("{BASE}/fhir");
    let slash = format!("{fhir}/");
    for (name, value, refusal) in [
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token", Some("invalid_request")),
        ("requested_token_type", JWT, Some("invalid_request")),
        ("requested_token_type", ACCESS_TOKEN, None),
        ("actor_token", "x", Some("invalid_request")),
        ("actor_token_type", JWT, Some("invalid_request")),
        ("audience", "https://other.example", Some("invalid_target")),
        ("resource", BASE, Some("invalid_target")),
        ("audience", &fhir, None),
        ("resource", &slash, None),
    ] {
        let mut form: Vec<_> = good.iter().copied().filter(|(held, _)| *held != name).collect();
        form.push((name, value));
        let refused = exchanged(&world, &form).await.err().map(|(code, _)| code);
        assert_eq!(refused, refusal, "{name}={value}");
    }
}

#[tokio::test]
async fn only_a_client_that_lists_the_grant_and_proves_itself_may_exchange() {
    let world = with_exchange().await;
    let token = token(&claims());
    let form = form(&token);
    let error = world.token_with(Some(&basic("app", "wrong")), &form).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_client");
    let mut public = form.to_vec();
    public.push(("client_id", "app"));
    assert_eq!(world.token(&public).await.unwrap_err().error_code(), "invalid_client");
    world.memory.put_resource("Client", "app", app());
    assert_eq!(world.token(&public).await.unwrap_err().error_code(), "invalid_client", "an app without a secret");
    let mut other = app();
    other["secret"] = json!(world.sealed_secret(GENERATED));
    other["grant_types"] = json!(["password", "code"]);
    world.memory.put_resource("Client", "app", other);
    assert_eq!(exchanged(&world, &form).await.unwrap_err().0, "unauthorized_client");
}
