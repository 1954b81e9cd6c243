//! The `authorization_code` grant (specification, POST /auth/token variants and Token response).

use oauth_core::granted_authorization::{GrantedAuthorization, LaunchContext};
use serde_json::{Value, json};

use crate::app::{
    CALLBACK, CHALLENGE, SCOPE, VERIFIER, ada, authorization, but, code, issue, public_app, redemption, refresh, rows,
    tokens, with_app,
};
use crate::world::{BASE, EXT, GENERATED, JWT_BEARER, NOW_S, NOW_US, Partner, World, basic};

/// The claims of an id token of `client`, its signature checked by an independent implementation.
fn id_claims(world: &World, token: &str, client: &str) -> Value {
    let header = jsonwebtoken::decode_header(token).unwrap();
    assert_eq!(header.alg, jsonwebtoken::Algorithm::RS256);
    let jwks: jsonwebtoken::jwk::JwkSet = serde_json::from_slice(&world.server.issuer.published_jwks().body).unwrap();
    let jwk = jwks.find(header.kid.as_deref().unwrap()).unwrap();
    let mut validation = jsonwebtoken::Validation::new(header.alg);
    validation.set_audience(&[client]);
    validation.set_issuer(&[BASE]);
    validation.validate_exp = false;
    jsonwebtoken::decode::<Value>(token, &jsonwebtoken::DecodingKey::from_jwk(jwk).unwrap(), &validation)
        .unwrap()
        .claims
}

/// Asks and is refused; nothing may be stored by that.
async fn refused(world: &World, authorization: Option<&str>, form: &[(&str, &str)]) -> (&'static str, String) {
    let before = rows(world);
    let error = world.token_with(authorization, form).await.unwrap_err();
    assert_eq!(rows(world), before, "{form:?}");
    (error.error_code(), error.to_string())
}

#[tokio::test]
async fn a_public_app_redeems_its_code_with_pkce() {
    let world = with_app().await;
    let response = tokens(&world).await;
    let answer = json!(response);
    assert_eq!(answer["token_type"], "Bearer");
    assert_eq!(answer["expires_in"], 3600);
    assert_eq!(answer["scope"], SCOPE);
    assert_eq!(answer["patient"], "p-1");
    assert_eq!(answer["need_patient_banner"], true);
    assert!(answer["smart_style_url"].as_str().unwrap().starts_with("https://payer.example/fhir/smart-style.json?v="));
    for absent in ["encounter", "intent", "fhirContext", "tenant", "issued_token_type", "b2b", "client_id", "user_id"] {
        assert!(answer.get(absent).is_none(), "{absent}");
    }
    let claims = world.claims(&response.access_token);
    assert_eq!(claims["sub"], "ada");
    assert_eq!(claims["client_id"], "app");
    assert_eq!(claims["context"], json!({"patient": "p-1", "need_patient_banner": true}));
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(NOW_S), &json!(NOW_S + 3600)));
    assert_eq!((&claims["scope"], &claims["atv"]), (&json!(SCOPE), &json!(2)));
}

#[tokio::test]
async fn the_id_token_says_who_signed_in_and_belongs_to_the_access_token() {
    let world = with_app().await;
    let response = tokens(&world).await;
    let claims = id_claims(&world, response.id_token.as_deref().unwrap(), "app");
    assert_eq!(claims["sub"], "ada");
    assert_eq!(claims["nonce"], "n-1");
    assert_eq!(claims["auth_time"], NOW_S - 5);
    assert_eq!(claims["fhirUser"], format!("{BASE}/fhir/Patient/p-1"));
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(NOW_S), &json!(NOW_S + 3600)));
    let half = oauth_core::jose::encode_base64url(&oauth_core::jose::sha256(response.access_token.as_bytes())[..16]);
    assert_eq!(claims["at_hash"], half);
    assert!(claims.get("email").is_none() && claims.get("name").is_none());
}

#[tokio::test]
async fn profile_and_email_are_told_only_where_they_were_granted() {
    let world = with_app().await;
    let scope = "openid profile email".to_owned();
    let code = issue(&world, &GrantedAuthorization { scope, ..authorization(&world) }).await;
    let response = world.token(&redemption(&code)).await.unwrap();
    let claims = id_claims(&world, response.id_token.as_deref().unwrap(), "app");
    assert_eq!((&claims["name"], &claims["email"]), (&json!("Ada Lovelace"), &json!("ada@example.org")));
    assert!(claims.get("fhirUser").is_none());
    assert_eq!(response.refresh_token, None);
}

#[tokio::test]
async fn without_openid_there_is_no_id_token() {
    let world = with_app().await;
    let scope = "launch/patient patient/*.rs fhirUser".to_owned();
    let code = issue(&world, &GrantedAuthorization { scope, ..authorization(&world) }).await;
    let response = world.token(&redemption(&code)).await.unwrap();
    assert_eq!((response.id_token, response.refresh_token), (None, None));
}

#[tokio::test]
async fn only_offline_access_and_the_registration_together_give_a_refresh_token() {
    let world = with_app().await;
    let mut app = public_app();
    app["auth"]["authorization_code"]["refresh_token"] = json!(false);
    world.memory.put_resource("Client", "app", app);
    assert_eq!(tokens(&world).await.refresh_token, None);
    world.memory.put_resource("Client", "app", public_app());
    for scope in ["openid patient/*.rs", "openid online_access patient/*.rs"] {
        let code = issue(&world, &GrantedAuthorization { scope: scope.to_owned(), ..authorization(&world) }).await;
        assert_eq!(world.token(&redemption(&code)).await.unwrap().refresh_token, None, "{scope}");
    }
    assert_eq!(tokens(&world).await.refresh_token.unwrap().len(), 43);
}

#[tokio::test]
async fn the_launch_context_reaches_the_app_under_the_names_of_smart() {
    let world = with_app().await;
    let context = LaunchContext {
        patient: Some("p-1".to_owned()),
        encounter: Some("e-1".to_owned()),
        need_patient_banner: Some(false),
        fhir_context: vec![json!({"reference": "ImagingStudy/1"})],
        intent: Some("reconcile-medications".to_owned()),
        tenant: Some("ward-7".to_owned()),
        smart_style_url: Some("https://ehr.example/style.json".to_owned()),
    };
    let code = issue(&world, &GrantedAuthorization { context, ..authorization(&world) }).await;
    let answer = json!(world.token(&redemption(&code)).await.unwrap());
    assert_eq!(answer["encounter"], "e-1");
    assert_eq!(answer["need_patient_banner"], false);
    assert_eq!(answer["fhirContext"], json!([{"reference": "ImagingStudy/1"}]));
    assert_eq!((&answer["intent"], &answer["tenant"]), (&json!("reconcile-medications"), &json!("ward-7")));
    assert_eq!(answer["smart_style_url"], "https://ehr.example/style.json");
}

#[tokio::test]
async fn a_code_is_redeemed_once_and_a_second_use_ends_what_the_first_gave() {
    let world = with_app().await;
    let code = code(&world).await;
    let first = world.token(&redemption(&code)).await.unwrap();
    let (error, text) = refused(&world, None, &redemption(&code)).await;
    assert_eq!(error, "invalid_grant");
    assert!(text.contains("used before"), "{text}");
    let error = refresh(&world, first.refresh_token.as_deref().unwrap()).await.unwrap_err();
    assert_eq!(error.error_code(), "invalid_grant");
}

#[tokio::test]
async fn what_is_missing_is_an_invalid_request() {
    let world = with_app().await;
    let code = code(&world).await;
    let form = redemption(&code);
    for name in ["code", "redirect_uri", "grant_type"] {
        assert_eq!(refused(&world, None, &but(&form, name, "")).await.0, "invalid_request", "{name}");
    }
}

#[tokio::test]
async fn a_verifier_that_is_missing_or_malformed_is_an_invalid_request_and_leaves_the_code_usable() {
    let world = with_app().await;
    let code = code(&world).await;
    let form = redemption(&code);
    let (short, long, foreign) = ("a".repeat(42), "a".repeat(129), "+".repeat(43));
    for verifier in ["", " ", "short", &short, &long, &foreign] {
        let (error, text) = refused(&world, None, &but(&form, "code_verifier", verifier)).await;
        assert_eq!(error, "invalid_request", "{verifier}: {text}");
        assert!(text.contains("code_verifier"), "{verifier}: {text}");
    }
    assert!(world.token(&form).await.is_ok());
}

#[tokio::test]
async fn what_does_not_fit_the_code_is_an_invalid_grant_and_leaves_it_usable() {
    let world = with_app().await;
    world.memory.put_resource("Client", "other", public_app());
    let code = code(&world).await;
    let form = redemption(&code);
    for (name, value) in [
        ("code", "unknown"),
        ("redirect_uri", "https://app.example/cb/"),
        ("redirect_uri", "https://app.example/CB"),
        ("client_id", "other"),
        ("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"),
        ("code_verifier", CHALLENGE),
    ] {
        let (error, _) = refused(&world, None, &but(&form, name, value)).await;
        assert_eq!(error, "invalid_grant", "{name}={value}");
    }
    assert!(world.token(&form).await.is_ok());
}

#[tokio::test]
async fn a_verifier_without_a_challenge_is_refused_and_a_public_app_needs_both() {
    let world = with_app().await;
    let plain = GrantedAuthorization { code_challenge: None, ..authorization(&world) };
    let code = issue(&world, &plain).await;
    let form = redemption(&code);
    assert_eq!(refused(&world, None, &form).await.0, "invalid_grant");
    assert_eq!(refused(&world, None, &but(&form, "code_verifier", "")).await.0, "invalid_grant");
}

#[tokio::test]
async fn a_code_lives_sixty_seconds() {
    let mut world = with_app().await;
    let code = code(&world).await;
    world.now_s += 60;
    assert_eq!(refused(&world, None, &redemption(&code)).await.0, "invalid_grant");
    world.now_s -= 1;
    assert!(world.token(&redemption(&code)).await.is_ok());
}

#[tokio::test]
async fn a_confidential_app_proves_itself_by_its_secret_and_never_by_its_id_alone() {
    let world = with_app().await;
    let mut app = public_app();
    app["secret"] = json!(world.sealed_secret(GENERATED));
    app["auth"]["authorization_code"] =
        json!({"redirect_uri": CALLBACK, "secret_required": true, "token_format": "jwt"});
    world.memory.put_resource("Client", "app", app.clone());
    let plain = GrantedAuthorization { code_challenge: None, ..authorization(&world) };
    let form = |code| but(&redemption(code), "code_verifier", "");
    let header = basic("app", GENERATED);

    let first = issue(&world, &plain).await;
    let alone = form(&first);
    assert_eq!(refused(&world, None, &alone).await.0, "invalid_client");
    let wrong = basic("app", "wrong");
    assert_eq!(refused(&world, Some(&wrong), &alone).await.0, "invalid_client");
    assert!(world.token_with(Some(&header), &but(&alone, "client_id", "")).await.is_ok());

    let second = issue(&world, &plain).await;
    let mut posted = form(&second);
    posted.push(("client_secret", GENERATED));
    assert!(world.token(&posted).await.is_ok());

    // Registered to need a secret it was never given: then nobody is let in by the id.
    app.as_object_mut().unwrap().remove("secret");
    world.memory.put_resource("Client", "app", app);
    let third = code(&world).await;
    assert_eq!(refused(&world, None, &redemption(&third)).await.0, "invalid_client");
}

#[tokio::test]
async fn an_app_with_keys_proves_itself_by_an_assertion_that_is_used_once() {
    let world = with_app().await;
    let partner = Partner::new();
    let mut app = public_app();
    app["jwks"] = json!([partner.ec_jwk]);
    app["auth"]["authorization_code"]["client_assertion_types"] = json!([JWT_BEARER]);
    world.memory.put_resource("Client", "app", app);
    let sign = |jti: &str| {
        let mut claims = crate::world::claims(jti);
        (claims["iss"], claims["sub"]) = (json!("app"), json!("app"));
        partner.sign(&Partner::header(jsonwebtoken::Algorithm::ES384), &claims)
    };
    let (first, assertion) = (code(&world).await, sign("j-1"));
    assert_eq!(refused(&world, None, &redemption(&first)).await.0, "invalid_client");
    let mut form = but(&redemption(&first), "client_id", "");
    form.extend([("client_assertion_type", JWT_BEARER), ("client_assertion", assertion.as_str())]);
    assert_eq!(refused(&world, None, &but(&form, "code_verifier", CHALLENGE)).await.0, "invalid_grant");
    assert!(world.token(&form).await.is_ok(), "a refusal burns no nonce");
    let second = code(&world).await;
    assert_eq!(refused(&world, None, &but(&form, "code", &second)).await.0, "invalid_client");
}

#[tokio::test]
async fn a_client_without_the_grant_is_unauthorized() {
    let world = with_app().await;
    let code = code(&world).await;
    let mut app = public_app();
    app["grant_types"] = json!(["implicit"]);
    world.memory.put_resource("Client", "app", app);
    assert_eq!(refused(&world, None, &redemption(&code)).await.0, "unauthorized_client");
}

#[tokio::test]
async fn nobody_who_left_is_given_tokens() {
    let mut inactive = ada();
    inactive["active"] = json!(false);
    let mut changed = ada();
    changed["password"] = json!("$argon2id$second");
    for (user, text) in [(inactive, "User is inactive"), (changed, "password was changed")] {
        let world = with_app().await;
        let code = code(&world).await;
        world.memory.put_resource("User", "ada", user);
        let (error, said) = refused(&world, None, &redemption(&code)).await;
        assert_eq!(error, "invalid_grant");
        assert!(said.contains(text), "{said}");
    }
    let world = with_app().await;
    let code = code(&world).await;
    world.memory.delete_resource("User", "ada", NOW_US);
    assert_eq!(refused(&world, None, &redemption(&code)).await.0, "invalid_grant");
}

#[tokio::test]
async fn a_grant_that_was_taken_back_gives_nothing() {
    let world = with_app().await;
    let code = code(&world).await;
    world.memory.lock_rows().grants.clear();
    assert_eq!(refused(&world, None, &redemption(&code)).await.0, "invalid_grant");
}

#[tokio::test]
async fn an_inactive_app_is_given_nothing_though_its_copy_was_active() {
    let world = with_app().await;
    tokens(&world).await;
    let mut app = public_app();
    app["active"] = json!(false);
    let code = code(&world).await;
    world.memory.put_resource("Client", "app", app);
    assert_eq!(refused(&world, None, &redemption(&code)).await.0, "invalid_client");
}

#[tokio::test]
async fn any_other_token_format_gives_an_opaque_token_with_the_same_meaning() {
    let world = with_app().await;
    let mut app = public_app();
    app["auth"]["authorization_code"]["token_format"] = json!("opaque");
    app["auth"]["authorization_code"]["access_token_expiration"] = json!(120);
    world.memory.put_resource("Client", "app", app);
    let response = tokens(&world).await;
    assert_eq!((response.access_token.len(), response.expires_in), (43, 120));
    let bearer = format!("Bearer {}", response.access_token);
    let caller = world.server.callers.authenticate_without_address(&world.env(), Some(&bearer)).await.unwrap();
    assert_eq!(caller.represented_end_user().unwrap().id, "ada");
}

#[tokio::test]
async fn the_b2b_claim_stands_in_a_member_token_when_its_conditions_hold() {
    let world = with_app().await;
    let mut app = public_app();
    app["extension"] = json!([{
        "url": format!("{EXT}/StructureDefinition/client-hl7B2b"),
        "extension": [
            {"url": "organization", "valueReference": {"reference": "Organization/payer"}},
            {"url": "organizationIdentifierSystem", "valueUri": "http://hl7.org/fhir/sid/us-npi"},
        ],
    }]);
    world.memory.put_resource("Client", "app", app.clone());
    let without = tokens(&world).await;
    assert_eq!(without.b2b.unwrap_err().metric_label(), "organization_absent");
    let npi = json!({"name": "Payer", "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "12"}]});
    world.memory.put_resource("Organization", "payer", npi);
    let with = tokens(&world).await;
    let claims = world.claims(&with.access_token);
    assert_eq!(claims["extensions"]["hl7-b2b"]["organization_id"], "http://hl7.org/fhir/sid/us-npi#12");
    app["auth"]["authorization_code"]["token_format"] = json!("opaque");
    world.memory.put_resource("Client", "app", app);
    assert_eq!(tokens(&world).await.b2b.unwrap_err().metric_label(), "not_jwt");
}

#[tokio::test]
async fn what_became_of_a_request_is_on_record_without_its_secrets() {
    let world = with_app().await;
    let code = code(&world).await;
    let form = redemption(&code);
    refused(&world, None, &but(&form, "code_verifier", CHALLENGE)).await;
    let response = world.token(&form).await.unwrap();
    let records = world.memory.lock_rows().audit.clone();
    assert_eq!(records.len(), 2);
    assert!(records[0].refused.as_deref().unwrap().starts_with("invalid_grant: "));
    assert_eq!((records[0].client_id.as_deref(), &records[0].user_id), (Some("app"), &None));
    assert_eq!(records[1].refused, None);
    assert_eq!((records[1].user_id.as_deref(), records[1].patient_id.as_deref()), (Some("ada"), Some("p-1")));
    let text = format!("{records:?}");
    for secret in [code.as_str(), VERIFIER, &response.access_token, response.refresh_token.as_deref().unwrap()] {
        assert!(!text.contains(secret));
    }
}
