//! What holds for every request, whatever it is.

use std::cell::Cell;

use oauth_core::authorization_endpoint::{AuthorizationRequestError, ConsentDecision, NextPageOrRedirect};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::json;
use smart_scopes::ScopeSet;

use crate::people::{CALLBACK, app, clinic, request};
use crate::world::World;

const IMPLICIT: &str = "https://app.example/implicit";

fn config() -> Config {
    Config { rng_seed: RngSeed::Fixed(0x666c_6f77), failure_persistence: None, cases: 300, ..Config::default() }
}

/// Values that come near to good ones.
fn value() -> impl Strategy<Value = String> {
    let near = prop::sample::select(vec![
        "code",
        "token",
        "app",
        "nobody",
        CALLBACK,
        IMPLICIT,
        "https://evil.example/",
        "https://app.example/callback?x=1",
        "https://app.example/callback#x",
        "https://app.example@evil.example/",
        "//evil.example",
        "none",
        "login",
        "S256",
        "https://payer.example/fhir",
        "launch openid",
        "patient/*.rs",
        "",
        "javascript:alert(1)",
    ]);
    prop_oneof![4 => near.prop_map(str::to_owned), 1 => "\\PC{0,40}"]
}

fn changes() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop::sample::select(vec![
        "client_id",
        "redirect_uri",
        "response_type",
        "response_mode",
        "state",
        "scope",
        "aud",
        "code_challenge",
        "code_challenge_method",
        "launch",
        "nonce",
        "prompt",
        "max_age",
        "login_hint",
        "other",
    ]);
    prop::collection::vec((name.prop_map(str::to_owned), value()), 0..6)
}

fn scopes() -> impl Strategy<Value = Vec<&'static str>> {
    let scope = prop::sample::select(vec![
        "openid",
        "fhirUser",
        "profile",
        "offline_access",
        "launch/patient",
        "patient/*.rs",
        "patient/*.read",
        "patient/*.cruds",
        "patient/Patient.rs",
        "patient/Observation.rs",
        "patient/Observation.r",
        "patient/Condition.rs",
        "patient/Condition.read",
        "patient/Observation.cruds",
        "patient/Goal.u",
        "user/*.rs",
        "user/Observation.rs",
        "system/*.rs",
        "custom",
        "patient/Observation.rs?status=final",
        "patient/Observation.rs?category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory",
    ]);
    prop::collection::vec(scope, 1..8)
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

async fn world() -> World {
    let world = clinic().await;
    let mut client = app();
    client["grant_types"] = json!(["code", "implicit"]);
    client["auth"]["implicit"] = json!({"redirect_uri": IMPLICIT, "token_format": "jwt"});
    world.memory.put_resource("Client", "app", client);
    world
}

fn is_the_apps(location: &str) -> bool {
    [CALLBACK, IMPLICIT].iter().any(|own| location.strip_prefix(own).is_some_and(|rest| rest.starts_with(['?', '#'])))
}

#[test]
fn no_request_leads_to_an_address_that_is_not_the_registered_one() {
    let (world, cookie) = run(async {
        let world = world().await;
        let cookie = world.cookie_of("ada").await;
        (world, cookie)
    });
    let left = Cell::new(0);
    proptest!(config(), |(changes in changes(), again in prop::bool::ANY, signed_in in prop::bool::ANY)| {
        let changed: Vec<_> = changes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut pairs = request(&changed);
        if again {
            pairs.extend(changes.iter().take(1).cloned());
        }
        let asked: Vec<String> = pairs.iter().filter(|(name, _)| name == "redirect_uri").map(|(_, value)| value.clone()).collect();
        match run(world.begin_with(pairs, signed_in.then_some(cookie.as_str()))) {
            Ok(NextPageOrRedirect::Leave(departure)) | Err(AuthorizationRequestError::Redirect { departure, .. }) => {
                left.set(left.get() + 1);
                prop_assert!(is_the_apps(&departure.location), "{}", departure.location);
                prop_assert!(asked.iter().all(|asked| departure.location.starts_with(asked.as_str())));
            }
            Ok(_) | Err(AuthorizationRequestError::Page(_)) => {}
            Err(AuthorizationRequestError::Store(error)) => prop_assert!(false, "{error}"),
        }
    });
    assert!(left.get() > 50, "the test meets redirects: {}", left.get());
}

#[test]
fn what_is_granted_was_requested_registered_and_ticked() {
    let (world, cookie) = run(async {
        let world = world().await;
        let cookie = world.cookie_of("ada").await;
        (world, cookie)
    });
    let met = Cell::new(0);
    proptest!(config(), |(asked in scopes(), registered in prop::option::of(scopes()), ticks in prop::collection::vec(prop::bool::ANY, 64))| {
        let mut client = app();
        if let Some(registered) = &registered {
            client["scope"] = json!(registered);
        }
        world.memory.put_resource("Client", "app", client);
        world.memory.lock_rows().grants.clear();
        let Ok(NextPageOrRedirect::Consent(page)) = run(world.begin(&[("scope", &asked.join(" "))], Some(&cookie))) else { return Ok(()) };
        let ticked: Vec<String> = page.items.iter().zip(ticks.iter().cycle()).filter(|(_, tick)| **tick).map(|(item, _)| item.scope.clone()).collect();
        let mut posted = ticked.clone();
        posted.push("user/*.cruds".to_owned());
        let Ok(NextPageOrRedirect::Leave(departure)) = run(world.decide(&page.transaction, ConsentDecision::Allow { scopes: posted }, &cookie)) else { return Ok(()) };
        met.set(met.get() + 1);
        let granted = ScopeSet::parse(world.authorization(&departure)["scope"].as_str().unwrap()).unwrap();
        let asked = ScopeSet::from_registered(&asked).unwrap();
        let registered = registered.map(|registered| ScopeSet::from_registered(&registered).unwrap());
        for scope in &granted {
            prop_assert!(asked.covers(scope), "{scope} was not requested");
            let is_context = scope.to_string().starts_with("launch");
            let is_registered = registered.as_ref().is_none_or(|registered| is_context || registered.covers(scope));
            prop_assert!(is_registered, "{scope} is not registered");
            prop_assert!(!scope.to_string().starts_with("system/"));
            // Every line of the page that the scope reaches was ticked. The same may be asked for twice, in other
            // letters or by another search, and then there are two lines for it.
            let letters = |text: &str| text.split('?').next().unwrap().rsplit_once('.').map(|(_, letters)| letters.to_owned());
            let unticked = page.items.iter().filter(|item| !item.required && !ticked.contains(&item.scope));
            for line in unticked.map(|item| item.scope.parse().unwrap()) {
                let is_whole = !scope.to_string().contains('?');
                let is_wider = is_whole && scope.covers(&line) && letters(&scope.to_string()) == letters(&line.to_string());
                prop_assert!(!is_wider, "{scope} was granted, and {line} was not ticked");
            }
        }
    });
    assert!(met.get() > 50, "the test meets grants: {}", met.get());
}
