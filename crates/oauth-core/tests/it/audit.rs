//! What an auditor is told, and what nobody is.

use oauth_core::authorization_endpoint::{BrowserSessionContext, ConsentDecision};
use oauth_core::form_fields::FormFields;
use oauth_core::launch::EhrLaunchRequester;
use oauth_core::ports::{AuditAction, AuditRecord};
use oauth_core::token_endpoint::TokenRequest;
use serde_json::json;

use crate::app::{VERIFIER, but, refresh};
use crate::people::{CALLBACK, PASSWORD, SCOPE, app, clinic, consent, leave, page_fault, parameter, refusal};
use crate::world::{GENERATED, World, basic};

/// What was recorded since the last look.
fn news(world: &World) -> Vec<AuditRecord> {
    std::mem::take(&mut world.memory.lock_rows().audit)
}

fn one(world: &World) -> AuditRecord {
    let mut records = news(world);
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}

fn redemption(code: &str) -> [(&str, &str); 5] {
    [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ]
}

/// Lets the app in on the page; its code.
async fn let_in(world: &World, cookie: &str) -> String {
    let page = consent(world.begin(&[], Some(cookie)).await);
    let scopes: Vec<&str> = SCOPE.split(' ').collect();
    let departure = world.allow(&page, &scopes, cookie).await;
    parameter(&departure.location, "code").unwrap()
}

#[tokio::test]
async fn a_visit_is_on_record_from_sign_in_to_sign_out_without_its_secrets() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let signed_in = one(&world);
    assert_eq!((signed_in.action, signed_in.user_id.as_deref()), (AuditAction::SignIn, Some("ada")));

    let code = let_in(&world, &cookie).await;
    let said = one(&world);
    assert_eq!((said.action, &said.refused), (AuditAction::Consent, &None));
    assert_eq!((said.client_id.as_deref(), said.user_id.as_deref()), (Some("app"), Some("ada")));
    assert_eq!((said.patient_id.as_deref(), said.address.as_deref()), (Some("p-ada"), Some("192.0.2.7")));
    let grant = said.grant_id.clone().unwrap();

    let tokens = world.token_from("192.0.2.9", None, &redemption(&code)).await.unwrap();
    let issued = one(&world);
    assert_eq!((issued.action, &issued.refused), (AuditAction::Token, &None));
    assert_eq!((issued.grant_id.as_ref(), issued.address.as_deref()), (Some(&grant), Some("192.0.2.9")));
    assert_eq!(issued.scope, tokens.scope);

    let token = tokens.refresh_token.clone().unwrap();
    let again = refresh(&world, &token).await.unwrap();
    let renewed = one(&world);
    assert_eq!((renewed.user_id.as_deref(), renewed.grant_id.as_ref()), (Some("ada"), Some(&grant)));

    let browser = BrowserSessionContext { session: Some(&cookie), address: Some("192.0.2.7") };
    for _ in 0..2 {
        world.server.sessions.end_browser_session(&world.env(), browser).await.unwrap();
    }
    let signed_out = one(&world);
    assert_eq!((signed_out.action, signed_out.user_id.as_deref()), (AuditAction::SignOut, Some("ada")));
    assert_eq!(signed_out.address.as_deref(), Some("192.0.2.7"));

    let told = format!("{:?}", [signed_in, said, issued, renewed, signed_out]);
    let secrets =
        [&cookie, &code, &tokens.access_token, &token, &again.access_token, again.refresh_token.as_ref().unwrap()];
    for secret in secrets.into_iter().map(String::as_str).chain([PASSWORD, VERIFIER]) {
        assert!(!told.contains(secret), "{told}");
    }
}

#[tokio::test]
async fn a_code_that_a_grant_gave_without_a_page_is_on_record_as_that() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let_in(&world, &cookie).await;
    let grant = news(&world).pop().unwrap().grant_id;
    leave(world.begin(&[], Some(&cookie)).await);
    let record = one(&world);
    assert_eq!((record.action, record.refused, record.grant_id), (AuditAction::Authorization, None, grant));
    assert_eq!((record.user_id.as_deref(), record.patient_id.as_deref()), (Some("ada"), Some("p-ada")));

    let mut own = app();
    own["first_party"] = json!(true);
    world.memory.put_resource("Client", "app", own);
    leave(world.begin(&[("prompt", "consent")], Some(&cookie)).await);
    assert_eq!(one(&world).action, AuditAction::Authorization);
}

#[tokio::test]
async fn a_refused_authorization_says_whose_app_it_was_and_who_was_signed_in() {
    let world = clinic().await;
    page_fault(world.begin(&[("client_id", "nobody")], None).await);
    let stranger = one(&world);
    assert_eq!((stranger.action, stranger.client_id), (AuditAction::Authorization, None));
    assert_eq!((stranger.claimed_id.as_deref(), stranger.address.as_deref()), (Some("nobody"), Some("192.0.2.7")));
    assert_eq!(stranger.refused.as_deref(), Some("the app is not known here"));

    page_fault(world.begin(&[("redirect_uri", "https://evil.example/")], None).await);
    assert_eq!(one(&world).client_id.as_deref(), Some("app"));

    let odd = "patient/secret.x";
    refusal(world.begin(&[("scope", odd)], None).await);
    let malformed = one(&world);
    assert_eq!((malformed.refused.as_deref(), malformed.scope), (Some("invalid_scope"), None));

    let cookie = world.cookie_of("ada").await;
    news(&world);
    refusal(world.begin(&[("prompt", "none")], Some(&cookie)).await);
    let silent = one(&world);
    assert_eq!(silent.user_id.as_deref(), Some("ada"));
    assert!(silent.refused.as_deref().unwrap().starts_with("consent_required: "));
    assert!(silent.is_refusal_anyone_can_cause());

    page_fault(world.resume("garbage", None).await);
    let garbage = one(&world);
    assert_eq!((garbage.client_id, garbage.claimed_id), (None, None));
}

#[tokio::test]
async fn a_denial_is_one_record_and_the_persons_own() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.begin(&[], Some(&cookie)).await);
    news(&world);
    refusal(world.decide(&page.transaction, ConsentDecision::Deny, &cookie).await);
    let denied = one(&world);
    assert_eq!((denied.action, denied.refused.as_deref()), (AuditAction::Consent, Some("denied")));
    assert_eq!(denied.user_id.as_deref(), Some("ada"));
    assert!(!denied.is_refusal_anyone_can_cause(), "what a person said is not summed up");
}

/// An `Authorization` header, a form, and the reason on record.
type Case<'a> = (Option<&'a str>, Vec<(&'a str, &'a str)>, &'a str);

#[tokio::test]
async fn what_strangers_send_is_in_no_reason() {
    let world = clinic().await;
    let mut confidential = app();
    confidential["secret"] = json!(world.sealed_secret(GENERATED));
    confidential["grant_types"] = json!(["code", "password"]);
    confidential["auth"]["password"] = json!({"token_format": "jwt"});
    world.memory.put_resource("Client", "sealed", confidential);
    let secret = basic("sealed", GENERATED);
    let cases: [Case<'_>; 6] = [
        (None, but(&redemption("x"), "client_id", "invented"), "invalid_client: there is no such client"),
        (None, redemption("the-code").to_vec(), "invalid_grant: the authorization code is unknown"),
        (
            Some(&basic("sealed", "guess")),
            vec![("grant_type", "refresh_token"), ("refresh_token", "x")],
            "invalid_client: the secret is wrong",
        ),
        (
            None,
            vec![("grant_type", "refresh_token"), ("refresh_token", "the-token"), ("client_id", "app")],
            "invalid_grant: the refresh token is unknown",
        ),
        (
            Some(&secret),
            vec![
                ("grant_type", "password"),
                ("username", "ada"),
                ("password", PASSWORD),
                ("scope", "patient/the-scope.x"),
            ],
            "invalid_scope",
        ),
        (
            Some(&secret),
            vec![("grant_type", "password"), ("username", "ada"), ("password", "the-guess")],
            "invalid_grant: the name or the password is wrong",
        ),
    ];
    for (authorization, form, reason) in cases {
        world.token_with(authorization, &form).await.unwrap_err();
        let records = news(&world);
        let refused = records.iter().find(|record| record.action == AuditAction::Token).unwrap();
        assert_eq!(refused.refused.as_deref(), Some(reason));
        assert!(records.iter().all(AuditRecord::is_refusal_anyone_can_cause));
        let told = format!("{records:?}");
        assert!(!["the-", "guess", PASSWORD, GENERATED].iter().any(|sent| told.contains(sent)), "{told}");
    }
    world
        .token_with(Some(&secret), &[("grant_type", "password"), ("username", "ada"), ("password", "no")])
        .await
        .unwrap_err();
    let records = news(&world);
    let attempt = records.iter().find(|record| record.action == AuditAction::SignIn).unwrap();
    assert_eq!(attempt.user_id.as_deref(), Some("ada"), "whose account was tried");
}

#[tokio::test]
async fn a_launch_is_on_record_and_its_use_names_it() {
    let world = clinic().await;
    let ehr = EhrLaunchRequester { id: Some("ehr"), address: Some("192.0.2.1") };
    let params = json!({
        "client": "app", "user": "ada", "iss": "https://payer.example/fhir", "ctx": {"patient": "p-ada"},
    });
    let launch = world.server.launches.get_launch_uri(&world.env(), ehr, &params).await.unwrap().launch;
    let asked = one(&world);
    assert_eq!((asked.action, asked.asked_by.as_deref()), (AuditAction::Launch, Some("ehr")));
    assert_eq!((asked.user_id.as_deref(), asked.patient_id.as_deref()), (Some("ada"), Some("p-ada")));
    assert_eq!(asked.address.as_deref(), Some("192.0.2.1"));

    let cookie = world.cookie_of("ada").await;
    let page =
        consent(world.begin(&[("scope", "launch patient/Patient.rs"), ("launch", &launch)], Some(&cookie)).await);
    world.allow(&page, &["patient/Patient.rs"], &cookie).await;
    let used = news(&world).pop().unwrap();
    assert_eq!((used.action, &used.launch_id), (AuditAction::Consent, &asked.launch_id));
    assert!(used.launch_id.is_some());

    let wrong = json!({"client": "app", "user": "nobody", "iss": "https://payer.example/fhir"});
    world.server.launches.get_launch_uri(&world.env(), ehr, &wrong).await.unwrap_err();
    let refused = one(&world);
    assert_eq!((refused.client_id.as_deref(), refused.user_id), (Some("app"), None));
    assert_eq!(refused.refused.as_deref(), Some("params.user is no active user"));
}

#[tokio::test]
async fn whoever_takes_tokens_back_is_on_record() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let tokens = world.token(&redemption(&let_in(&world, &cookie).await)).await.unwrap();
    let grant = news(&world).pop().unwrap().grant_id;
    let root = basic("root", "bootstrap");
    let form = FormFields::new([("token".to_owned(), tokens.refresh_token.unwrap())]).unwrap();
    let request = TokenRequest { authorization: Some(&root), form: &form, address: Some("192.0.2.3") };
    world.server.introspection.revoke_token(&world.env(), &request).await.unwrap();
    let revoked = one(&world);
    assert_eq!((revoked.action, revoked.asked_by.as_deref()), (AuditAction::Revocation, Some("root")));
    assert_eq!((revoked.user_id.as_deref(), revoked.grant_id), (Some("ada"), grant));
    assert_eq!(revoked.address.as_deref(), Some("192.0.2.3"));
}

#[tokio::test]
async fn a_family_that_a_second_use_of_its_code_ends_is_on_record_once() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let code = let_in(&world, &cookie).await;
    world.token(&redemption(&code)).await.unwrap();
    let grant = news(&world).pop().unwrap().grant_id;
    for expected in [vec![AuditAction::Revocation, AuditAction::Token], vec![AuditAction::Token]] {
        world.token(&redemption(&code)).await.unwrap_err();
        let records = news(&world);
        assert_eq!(records.iter().map(|record| record.action).collect::<Vec<_>>(), expected);
        if let [revoked, _] = records.as_slice() {
            assert_eq!((revoked.user_id.as_deref(), revoked.client_id.as_deref()), (Some("ada"), Some("app")));
            assert_eq!((&revoked.grant_id, &revoked.refused), (&grant, &None));
        }
    }
}

#[tokio::test]
async fn a_grant_that_a_narrower_consent_replaces_is_on_record() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let_in(&world, &cookie).await;
    let first = news(&world).pop().unwrap();
    let page = consent(world.begin(&[("prompt", "consent")], Some(&cookie)).await);
    world.allow(&page, &["launch/patient", "patient/Patient.rs"], &cookie).await;
    let records = news(&world);
    let actions: Vec<_> = records.iter().map(|record| record.action).collect();
    assert_eq!(actions, [AuditAction::Revocation, AuditAction::Consent]);
    let ended = &records[0];
    assert_eq!((&ended.grant_id, ended.user_id.as_deref()), (&first.grant_id, Some("ada")));
    assert_eq!((ended.client_id.as_deref(), ended.patient_id.as_deref()), (Some("app"), Some("p-ada")));
    assert_eq!((&ended.refused, ended.address.as_deref()), (&None, Some("192.0.2.7")));
    assert_ne!(records[1].grant_id, first.grant_id);

    let page = consent(world.begin(&[("prompt", "consent")], Some(&cookie)).await);
    world.allow(&page, &["launch/patient", "patient/Patient.rs", "offline_access"], &cookie).await;
    assert_eq!(one(&world).action, AuditAction::Consent, "whoever allows more ends nothing");
}

#[tokio::test]
async fn a_family_that_ends_at_its_refresh_is_on_record_once() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let token = world.token(&redemption(&let_in(&world, &cookie).await)).await.unwrap().refresh_token.unwrap();
    let grant = news(&world).pop().unwrap().grant_id;
    let mut other = world.memory.get_resource("User", "ada").unwrap().resource;
    other["fhirUser"] = json!({"reference": "Patient/somebody-else"});
    world.memory.put_resource("User", "ada", other);
    for expected in [vec![AuditAction::Revocation, AuditAction::Token], vec![AuditAction::Token]] {
        refresh(&world, &token).await.unwrap_err();
        let records = news(&world);
        assert_eq!(records.iter().map(|record| record.action).collect::<Vec<_>>(), expected);
        if let [revoked, _] = records.as_slice() {
            assert_eq!((revoked.user_id.as_deref(), &revoked.grant_id), (Some("ada"), &grant));
        }
    }
}

#[tokio::test]
async fn a_family_that_a_reused_token_ends_is_on_record() {
    let mut world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let first = world.token(&redemption(&let_in(&world, &cookie).await)).await.unwrap().refresh_token.unwrap();
    refresh(&world, &first).await.unwrap();
    world.now_s += 3600;
    news(&world);
    refresh(&world, &first).await.unwrap_err();
    let records = news(&world);
    let actions: Vec<_> = records.iter().map(|record| (record.action, record.refused.is_some())).collect();
    assert_eq!(actions, [(AuditAction::Revocation, false), (AuditAction::Token, true)]);
    assert_eq!(records[0].user_id.as_deref(), Some("ada"));
}
