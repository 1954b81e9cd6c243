//! What a decision is bound to: to the person, to the patient, to the grant it was made from, and to the app.

use oauth_core::authorization_endpoint::{ClientRedirect, ConsentDecision};
use oauth_core::token_endpoint::TokenResponse;
use serde_json::{Value, json};

use crate::people::{CALLBACK, app, clinic, consent, leave, parameter, patient_page, refusal, sign_in_page, user};
use crate::world::{GENERATED, World};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// What the code of a departure gives.
async fn tokens(world: &World, departure: &ClientRedirect) -> TokenResponse {
    let code = parameter(&departure.location, "code").unwrap();
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code.as_str()),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    world.token(&form).await.unwrap()
}

async fn refreshes(world: &World, tokens: &TokenResponse) -> bool {
    let token = tokens.refresh_token.as_deref().unwrap();
    crate::app::refresh(world, token).await.is_ok()
}

async fn is_accepted(world: &World, tokens: &TokenResponse) -> bool {
    let bearer = format!("Bearer {}", tokens.access_token);
    world.server.callers.authenticate_without_address(&world.env(), Some(&bearer)).await.is_ok()
}

/// Asks for all that the app asks for, with the page, and allows these.
async fn allow(world: &World, scopes: &[&str], cookie: &str) -> ClientRedirect {
    let page = consent(world.begin(&[("prompt", "consent")], Some(cookie)).await);
    world.allow(&page, scopes, cookie).await
}

/// What is on the page for `patient/*.rs`.
async fn everything(world: &World, cookie: &str) -> Vec<String> {
    let page = consent(world.begin(&[("prompt", "consent")], Some(cookie)).await);
    page.items.into_iter().map(|item| item.scope).collect()
}

fn grants(world: &World) -> Vec<(String, String)> {
    let members = world.memory.lock_rows();
    members.grants.iter().map(|grant| (grant.id.clone(), grant.granted.clone())).collect()
}

#[tokio::test]
async fn a_grant_taken_back_during_a_visit_is_asked_for_again_and_not_made_again() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.begin(&[], Some(&cookie)).await);
    world.allow(&page, &["patient/Goal.rs", "fhirUser"], &cookie).await;
    for prompt in ["", "none"] {
        let held = world.memory.lock_rows().grants.clone();
        leave(world.begin(&[("prompt", prompt)], Some(&cookie)).await);
        let codes = world.codes();
        world.memory.change_after_next_load(|members| members.grants.clear());
        let step = world.begin(&[("prompt", prompt)], Some(&cookie)).await;
        if prompt.is_empty() {
            consent(step);
        } else {
            assert_eq!(refusal(step).0, "consent_required");
        }
        assert_eq!((world.codes(), grants(&world)), (codes, vec![]));
        world.memory.lock_rows().grants = held;
    }
}

#[tokio::test]
async fn a_decision_brings_nothing_back_of_a_grant_that_was_taken_back_meanwhile() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    allow(&world, &["patient/Goal.rs"], &cookie).await;
    let page = consent(world.begin(&[("scope", "launch/patient openid email")], Some(&cookie)).await);
    world.memory.change_after_next_load(|members| members.grants.clear());
    let departure = world.allow(&page, &["email"], &cookie).await;
    assert_eq!(world.authorization(&departure)["scope"], "launch/patient openid email");
    let granted: Vec<_> = grants(&world).into_iter().map(|(_, granted)| granted).collect();
    assert_eq!(granted, ["launch/patient openid email"]);
}

#[tokio::test]
async fn a_visit_that_comes_second_goes_on_under_the_decision_of_the_first() {
    let world = clinic().await;
    let mut own = app();
    own["first_party"] = json!(true);
    world.memory.put_resource("Client", "app", own);
    let cookie = world.cookie_of("ada").await;
    leave(world.begin(&[], Some(&cookie)).await);
    // Another visit stored its decision first: this one finds it and goes on.
    let theirs = world.memory.lock_rows().grants.clone();
    world.memory.lock_rows().grants.clear();
    world.memory.change_after_next_load(move |members| members.grants = theirs);
    leave(world.begin(&[], Some(&cookie)).await);
    assert_eq!(grants(&world).len(), 1);
}

#[tokio::test]
async fn allowing_less_ends_at_once_what_the_app_got_before() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let all = everything(&world, &cookie).await;
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let before = tokens(&world, &allow(&world, &all, &cookie).await).await;
    let since_s = world.memory.lock_rows().grants[0].created_s;
    let waiting = allow(&world, &all, &cookie).await;
    assert!(is_accepted(&world, &before).await, "the same again changes nothing");

    let less = allow(&world, &["offline_access", "patient/Patient.rs"], &cookie).await;
    assert!(!is_accepted(&world, &before).await);
    assert!(!refreshes(&world, &before).await);
    let code = parameter(&waiting.location, "code").unwrap();
    let form = [("grant_type", "authorization_code"), ("client_id", "app"), ("redirect_uri", CALLBACK)];
    let form: Vec<_> = form.into_iter().chain([("code", code.as_str()), ("code_verifier", VERIFIER)]).collect();
    assert_eq!(
        world.token(&form).await.unwrap_err().error_code(),
        "invalid_grant",
        "a code that was out is worth nothing"
    );

    let after = tokens(&world, &less).await;
    assert_eq!(after.scope.as_deref(), Some("launch/patient openid patient/Patient.rs offline_access"));
    assert!(is_accepted(&world, &after).await && refreshes(&world, &after).await);
    let members = world.memory.lock_rows();
    assert_eq!((members.grants.len(), members.grants[0].created_s), (1, since_s));
}

#[tokio::test]
async fn allowing_more_or_something_else_keeps_what_the_app_got_before() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let before = tokens(&world, &allow(&world, &["offline_access", "patient/Patient.rs"], &cookie).await).await;
    let all = everything(&world, &cookie).await;
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    allow(&world, &all, &cookie).await;
    let page = consent(world.begin(&[("scope", "launch/patient openid email")], Some(&cookie)).await);
    world.allow(&page, &["email"], &cookie).await;
    assert!(is_accepted(&world, &before).await && refreshes(&world, &before).await);
    assert_eq!(grants(&world).len(), 1);
}

/// Two people who may each act for the same two patients, and the cookie of either.
async fn two_carers(world: &World) -> [String; 2] {
    let links = json!([{"target": {"reference": "Patient/p-ada"}}, {"target": {"reference": "Patient/p-bob"}}]);
    for id in ["one", "two"] {
        world.memory.put_resource("Person", if id == "one" { "p1" } else { "p2" }, json!({"link": links}));
        let own = if id == "one" { "Person/p1" } else { "Person/p2" };
        user(world, id, json!({"fhirUser": {"reference": own}}));
    }
    [world.cookie_of("one").await, world.cookie_of("two").await]
}

#[tokio::test]
async fn a_patient_whom_one_person_chose_is_not_the_choice_of_another() {
    let world = clinic().await;
    let [one, two] = two_carers(&world).await;
    let page = patient_page(world.begin(&[], Some(&one)).await);
    let asked = consent(world.pick(&page.transaction, "p-bob", &one).await);
    // Who chose comes back to the choice; who signs in midway chooses anew.
    assert_eq!(consent(world.resume(&asked.transaction, Some(&one)).await).patient.unwrap().id, "p-bob");
    patient_page(world.resume(&asked.transaction, Some(&two)).await);
    // Neither a choice nor a decision counts on a page the person has not seen.
    patient_page(world.pick(&page.transaction, "p-bob", &two).await);
    let allow = ConsentDecision::Allow { scopes: vec!["patient/*.rs".to_owned()] };
    patient_page(world.decide(&asked.transaction, allow.clone(), &two).await);
    assert_eq!((world.codes(), grants(&world)), (0, vec![]));
    // Through the sign-in page it is the same.
    let signed_out = sign_in_page(world.resume(&asked.transaction, None).await);
    patient_page(world.resume(&signed_out.transaction, Some(&two)).await);
    assert_eq!(consent(world.resume(&signed_out.transaction, Some(&one)).await).patient.unwrap().id, "p-bob");
    let departure = leave(world.decide(&asked.transaction, allow, &one).await);
    assert_eq!(world.authorization(&departure)["context"]["patient"], "p-bob");
}

#[tokio::test]
async fn a_decision_on_another_persons_page_about_no_patient_counts_for_nothing() {
    let world = clinic().await;
    let [one, two] = two_carers(&world).await;
    let asked = consent(world.begin(&[("scope", "openid email")], Some(&one)).await);
    let allow = ConsentDecision::Allow { scopes: vec!["email".to_owned()] };
    let shown = consent(world.decide(&asked.transaction, allow.clone(), &two).await);
    assert_eq!((world.codes(), shown.person.as_str()), (0, "two"));
    leave(world.decide(&shown.transaction, allow, &two).await);
}

#[tokio::test]
async fn a_relation_that_is_over_gives_no_patient_to_choose() {
    let world = clinic().await;
    user(&world, "carer", json!({"fhirUser": {"reference": "RelatedPerson/r"}}));
    let cookie = world.cookie_of("carer").await;
    for (period, is_good) in [
        (json!({"start": "2020", "end": "2026"}), true),
        (json!({"end": "2025-12-31"}), false),
        (json!({"start": "2026-01-02"}), false),
    ] {
        let related = json!({"patient": {"reference": "Patient/p-bob"}, "period": period});
        world.memory.put_resource("RelatedPerson", "r", related);
        let step = world.begin(&[], Some(&cookie)).await;
        if is_good {
            assert_eq!(consent(step).patient.unwrap().id, "p-bob");
        } else {
            assert_eq!(refusal(step).0, "access_denied", "{period}");
        }
    }
}

/// `app` with another address, and the same otherwise.
fn at(redirect_uri: &str) -> Value {
    let mut client = app();
    client["auth"]["authorization_code"]["redirect_uri"] = json!(redirect_uri);
    client
}

#[tokio::test]
async fn a_public_app_on_the_device_is_never_let_in_without_the_person() {
    for redirect_uri in ["http://127.0.0.1:4711/cb", "com.example.app:/cb"] {
        let world = clinic().await;
        let cookie = world.cookie_of("ada").await;
        let asks = [("redirect_uri", redirect_uri)];
        world.memory.put_resource("Client", "app", at(redirect_uri));
        let page = consent(world.begin(&asks, Some(&cookie)).await);
        world.allow(&page, &["patient/Goal.rs"], &cookie).await;
        consent(world.begin(&asks, Some(&cookie)).await);
        let silent = world.begin(&[asks[0], ("prompt", "none")], Some(&cookie)).await;
        assert!(format!("{silent:?}").contains("ConsentRequired"), "{silent:?}");
        assert_eq!(world.codes(), 1);
        // An app that proves who it is, and one of the payer's own, cannot be imitated so, or is trusted so.
        let mut confidential = at(redirect_uri);
        confidential["secret"] = json!(world.sealed_secret(GENERATED));
        let mut own = at(redirect_uri);
        own["first_party"] = json!(true);
        for client in [confidential, own] {
            world.memory.put_resource("Client", "app", client);
            leave(world.begin(&asks, Some(&cookie)).await);
        }
    }
}

#[tokio::test]
async fn a_public_app_with_a_host_of_its_own_is_let_in_as_before() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    allow(&world, &["patient/Goal.rs"], &cookie).await;
    let departure = leave(world.begin(&[], Some(&cookie)).await);
    assert_eq!(world.authorization(&departure)["scope"], "launch/patient openid patient/Goal.rs");
}
