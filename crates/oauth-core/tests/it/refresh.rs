//! The `refresh_token` grant: rotation, narrowing, and its many ends.

use std::collections::HashSet;

use oauth_core::granted_authorization::GrantedAuthorization;
use oauth_core::jose::sha256;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::json;

use crate::app::{SCOPE, ada, authorization, but, issue, public_app, redemption, refresh, rows, tokens, with_app};
use crate::world::{GENERATED, NOW_US, World, basic};

const DAY_S: i64 = 86_400;

async fn first(world: &World) -> String {
    tokens(world).await.refresh_token.unwrap()
}

async fn next(world: &World, token: &str) -> String {
    refresh(world, token).await.unwrap().refresh_token.unwrap()
}

/// Asks and is refused; nothing may be stored by that.
async fn refused(world: &World, authorization: Option<&str>, form: &[(&str, &str)]) -> &'static str {
    let before = rows(world);
    let error = world.token_with(authorization, form).await.unwrap_err();
    assert_eq!(rows(world), before, "{form:?}");
    error.error_code()
}

fn form(token: &str) -> Vec<(&'static str, &str)> {
    vec![("grant_type", "refresh_token"), ("client_id", "app"), ("refresh_token", token)]
}

/// Whether the token would be good for a new one, without using it.
fn is_alive(world: &World, token: &str) -> bool {
    let rows = world.memory.lock_rows();
    let held = rows.refresh_tokens.get(&sha256(token.as_bytes())).filter(|held| held.used_s.is_none());
    held.and_then(|held| rows.families.get(&held.token.family_id)).is_some_and(|row| !row.revoked)
}

#[tokio::test]
async fn a_refresh_gives_what_the_first_answer_gave_and_a_successor() {
    let world = with_app().await;
    let token = first(&world).await;
    let response = refresh(&world, &token).await.unwrap();
    let answer = json!(response);
    assert_eq!((&answer["scope"], &answer["expires_in"]), (&json!(SCOPE), &json!(3600)));
    assert_eq!((&answer["patient"], &answer["need_patient_banner"]), (&json!("p-1"), &json!(true)));
    assert_eq!(answer.get("id_token"), None);
    let successor = response.refresh_token.unwrap();
    assert_ne!(successor, token);
    assert!(!is_alive(&world, &token) && is_alive(&world, &successor));
    assert_eq!(world.claims(&response.access_token)["context"]["patient"], "p-1");
}

#[tokio::test]
async fn a_request_repeated_within_thirty_seconds_has_the_same_successor() {
    let mut world = with_app().await;
    let token = first(&world).await;
    let successor = next(&world, &token).await;
    world.now_s += 30;
    let repeated = refresh(&world, &token).await.unwrap();
    assert_eq!(repeated.refresh_token.as_deref(), Some(successor.as_str()));
    assert_eq!(rows(&world).1, 2);
    assert!(refresh(&world, &successor).await.is_ok());
}

#[tokio::test]
async fn a_token_used_again_after_that_ends_the_family() {
    let mut world = with_app().await;
    let token = first(&world).await;
    let answer = refresh(&world, &token).await.unwrap();
    let successor = answer.refresh_token.unwrap();
    world.now_s += 31;
    assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
    assert_eq!(refused(&world, None, &form(&successor)).await, "invalid_grant");
    let bearer = format!("Bearer {}", answer.access_token);
    let caller = world.server.callers.authenticate_without_address(&world.env(), Some(&bearer)).await;
    assert!(caller.is_err(), "its access tokens end too");
}

#[tokio::test]
async fn a_token_two_generations_old_ends_the_family_although_thirty_seconds_have_not_passed() {
    let world = with_app().await;
    let token = first(&world).await;
    let successor = next(&world, &token).await;
    let newest = next(&world, &successor).await;
    assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
    assert_eq!(refused(&world, None, &form(&newest)).await, "invalid_grant");
}

#[tokio::test]
async fn a_narrower_scope_narrows_the_access_token_alone() {
    let world = with_app().await;
    let token = first(&world).await;
    let mut narrow = form(&token);
    narrow.push(("scope", "patient/Observation.rs"));
    let response = world.token(&narrow).await.unwrap();
    assert_eq!(response.scope.as_deref(), Some("patient/Observation.rs"));
    assert_eq!(world.claims(&response.access_token)["scope"], "patient/Observation.rs");
    let again = refresh(&world, response.refresh_token.as_deref().unwrap()).await.unwrap();
    assert_eq!(again.scope.as_deref(), Some(SCOPE));
}

#[tokio::test]
async fn a_scope_beyond_the_grant_is_an_invalid_scope() {
    let world = with_app().await;
    let token = first(&world).await;
    for scope in ["patient/*.cruds", "user/*.rs", "system/*.rs", "profile", "openid email", "patient/.rs", "a\"b"] {
        let mut wide = form(&token);
        wide.push(("scope", scope));
        assert_eq!(refused(&world, None, &wide).await, "invalid_scope", "{scope}");
    }
    let mut same = form(&token);
    same.push(("scope", SCOPE));
    assert!(world.token(&same).await.is_ok());
}

#[tokio::test]
async fn a_refresh_token_is_bound_to_its_app() {
    let world = with_app().await;
    world.memory.put_resource("Client", "other", public_app());
    let token = first(&world).await;
    assert_eq!(refused(&world, None, &but(&form(&token), "client_id", "other")).await, "invalid_grant");
    assert_eq!(refused(&world, None, &but(&form(&token), "client_id", "nobody")).await, "invalid_client");
    assert_eq!(refused(&world, None, &but(&form(&token), "refresh_token", "")).await, "invalid_request");
    assert_eq!(refused(&world, None, &but(&form(&token), "refresh_token", "unknown")).await, "invalid_grant");
    assert!(refresh(&world, &token).await.is_ok());
}

#[tokio::test]
async fn a_public_app_may_leave_out_its_id_because_the_token_says_whose_it_is() {
    let world = with_app().await;
    let token = first(&world).await;
    assert!(world.token(&but(&form(&token), "client_id", "")).await.is_ok());
    let unknown = but(&form("unknown"), "client_id", "");
    assert_eq!(refused(&world, None, &unknown).await, "invalid_grant");
}

#[tokio::test]
async fn a_confidential_app_authenticates_at_every_refresh() {
    let world = with_app().await;
    let mut app = public_app();
    app["secret"] = json!(world.sealed_secret(GENERATED));
    world.memory.put_resource("Client", "app", app);
    let header = basic("app", GENERATED);
    let code = crate::app::code(&world).await;
    let redeem = but(&redemption(&code), "client_id", "");
    let token = world.token_with(Some(&header), &redeem).await.unwrap().refresh_token.unwrap();
    assert_eq!(refused(&world, None, &form(&token)).await, "invalid_client");
    assert_eq!(refused(&world, None, &but(&form(&token), "client_id", "")).await, "invalid_client");
    assert!(world.token_with(Some(&header), &but(&form(&token), "client_id", "")).await.is_ok());
}

#[tokio::test]
async fn a_token_ends_when_nobody_uses_it_and_every_token_in_the_end() {
    let mut world = with_app().await;
    let idle = first(&world).await;
    world.now_s += 90 * DAY_S;
    assert_eq!(refused(&world, None, &form(&idle)).await, "invalid_grant");

    let mut world = with_app().await;
    let mut token = first(&world).await;
    for _ in 0..7 {
        world.now_s += 52 * DAY_S;
        token = next(&world, &token).await;
    }
    let last = refresh(&world, &token).await.unwrap();
    world.now_s += DAY_S;
    assert_eq!(refused(&world, None, &form(last.refresh_token.as_deref().unwrap())).await, "invalid_grant");
}

#[tokio::test]
async fn a_client_sets_both_lifetimes_and_no_access_token_outlives_the_second() {
    let mut world = with_app().await;
    let mut app = public_app();
    app["auth"]["authorization_code"]["refresh_token_expiration"] = json!(3000);
    app["auth"]["authorization_code"]["refresh_token_lifetime"] = json!(5000);
    world.memory.put_resource("Client", "app", app);
    let token = first(&world).await;
    world.now_s += 2999;
    let response = refresh(&world, &token).await.unwrap();
    assert_eq!(response.expires_in, 2001);
    world.now_s += 2001;
    assert_eq!(refused(&world, None, &form(response.refresh_token.as_deref().unwrap())).await, "invalid_grant");
}

#[tokio::test]
async fn nobody_who_left_is_refreshed() {
    let mut inactive = ada();
    inactive["inactive"] = json!(true);
    let world = with_app().await;
    let token = first(&world).await;
    world.memory.put_resource("User", "ada", inactive);
    assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
    world.memory.put_resource("User", "ada", ada());
    assert!(refresh(&world, &token).await.is_ok(), "who only slept goes on");
    let world = with_app().await;
    let token = first(&world).await;
    world.memory.delete_resource("User", "ada", NOW_US);
    assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
}

#[tokio::test]
async fn who_is_not_the_person_any_more_is_never_refreshed_again() {
    let mut changed = ada();
    changed["password"] = json!("$argon2id$second");
    let mut other = ada();
    other["fhirUser"] = json!({"reference": "Patient/p-2"});
    let mut nobody = ada();
    nobody["fhirUser"] = json!({"reference": "https://other.example/fhir/Patient/p-1"});
    for user in [changed, other, nobody] {
        let world = with_app().await;
        let token = first(&world).await;
        world.memory.put_resource("User", "ada", user);
        assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
        assert!(!is_alive(&world, &token));
        world.memory.put_resource("User", "ada", ada());
        assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant", "what ended stays so");
    }
}

/// The first refresh token of a person who is `own` and acts for `p-1`.
async fn first_of(world: &World, own: &str, vouched: bool) -> String {
    let mut user = ada();
    user["fhirUser"] = json!({"reference": own});
    world.memory.put_resource("User", "ada", user);
    let fhir_user = Some(own.to_owned());
    let code = issue(world, &GrantedAuthorization { fhir_user, vouched, ..authorization(world) }).await;
    world.token(&redemption(&code)).await.unwrap().refresh_token.unwrap()
}

#[tokio::test]
async fn a_relative_is_refreshed_only_while_the_relation_lasts() {
    let relation = |changed: &str, value: serde_json::Value| {
        let mut relation = json!({"patient": {"reference": "Patient/p-1"}, "period": {"start": "2025", "end": "2026"}});
        relation[changed] = value;
        relation
    };
    let good = relation("active", json!(true));
    for over in [
        Some(relation("active", json!(false))),
        Some(relation("period", json!({"end": "2025-12-31"}))),
        Some(relation("patient", json!({"reference": "Patient/p-2"}))),
        None,
    ] {
        let world = with_app().await;
        world.memory.put_resource("RelatedPerson", "r", good.clone());
        let token = first_of(&world, "RelatedPerson/r", false).await;
        let token = next(&world, &token).await;
        match &over {
            Some(over) => world.memory.put_resource("RelatedPerson", "r", over.clone()),
            None => world.memory.delete_resource("RelatedPerson", "r", NOW_US),
        }
        assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant", "{over:?}");
        assert!(!is_alive(&world, &token), "{over:?}");
        world.memory.put_resource("RelatedPerson", "r", good.clone());
        assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant", "what ended stays so");
    }
    let mut world = with_app().await;
    world.memory.put_resource("RelatedPerson", "r", good);
    let mut token = first_of(&world, "RelatedPerson/r", false).await;
    for _ in 0..7 {
        world.now_s += 52 * DAY_S;
        token = next(&world, &token).await;
    }
    // The last day of 2026 is over a year after it began.
    world.now_s += DAY_S;
    assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
}

#[tokio::test]
async fn a_relation_through_a_person_is_asked_again_too() {
    let world = with_app().await;
    world.memory.put_resource("RelatedPerson", "r", json!({"patient": {"reference": "Patient/p-1"}}));
    world.memory.put_resource("Person", "c", json!({"link": [{"target": {"reference": "RelatedPerson/r"}}]}));
    let token = first_of(&world, "Person/c", false).await;
    let token = next(&world, &token).await;
    world.memory.put_resource("RelatedPerson", "r", json!({"patient": {"reference": "Patient/p-1"}, "active": false}));
    assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
}

#[tokio::test]
async fn staff_is_refreshed_only_while_a_policy_lets_them_read_the_patient() {
    let policy = |patient: &str| json!({"engine": "matcho", "link": [{"reference": "User/ada"}], "matcho": {"params": {"resource/id": patient}}});
    for vouched in [false, true] {
        let world = with_app().await;
        world.memory.put_policy("ward", policy("p-1"));
        let token = first_of(&world, "Practitioner/n", vouched).await;
        let token = next(&world, &token).await;
        world.memory.put_policy("ward", policy("p-2"));
        if vouched {
            assert!(refresh(&world, &token).await.is_ok(), "the EHR vouched for the patient");
            continue;
        }
        assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant");
        assert!(!is_alive(&world, &token));
    }
}

fn registered(scopes: serde_json::Value) -> serde_json::Value {
    let mut app = public_app();
    app["scope"] = scopes;
    app
}

#[tokio::test]
async fn a_scope_taken_out_of_the_registration_is_not_refreshed() {
    let world = with_app().await;
    let token = first(&world).await;
    let less = json!(["openid", "fhirUser", "offline_access", "patient/Patient.rs"]);
    world.memory.put_resource("Client", "app", registered(less));
    let response = refresh(&world, &token).await.unwrap();
    let left = "launch/patient openid fhirUser offline_access patient/Patient.rs";
    assert_eq!(response.scope.as_deref(), Some(left));
    assert_eq!(world.claims(&response.access_token)["scope"], left);
    let token = response.refresh_token.unwrap();
    let asking = |scope| form(&token).into_iter().chain([("scope", scope)]).collect::<Vec<_>>();
    let narrow = world.token(&asking("patient/*.rs")).await.unwrap();
    assert_eq!(narrow.scope.as_deref(), Some("patient/Patient.rs"));
    let token = narrow.refresh_token.unwrap();
    let asking = |scope| form(&token).into_iter().chain([("scope", scope)]).collect::<Vec<_>>();
    assert_eq!(refused(&world, None, &asking("patient/Goal.rs")).await, "invalid_scope");
    // What is put in again was granted once.
    world.memory.put_resource("Client", "app", public_app());
    assert_eq!(refresh(&world, &token).await.unwrap().scope.as_deref(), Some(SCOPE));
}

#[tokio::test]
async fn an_app_registered_for_nothing_of_what_was_granted_is_not_refreshed() {
    let world = with_app().await;
    let token = first(&world).await;
    for left in [json!(["system/*.rs"]), json!([]), json!(["offline_access", "launch/patient"])] {
        world.memory.put_resource("Client", "app", registered(left.clone()));
        assert_eq!(refused(&world, None, &form(&token)).await, "invalid_grant", "{left}");
    }
    world.memory.put_resource("Client", "app", public_app());
    assert!(refresh(&world, &token).await.is_ok(), "a registration may be put right");
}

#[tokio::test]
async fn a_code_gives_nothing_that_was_taken_out_of_the_registration_meanwhile() {
    let world = with_app().await;
    let code = crate::app::code(&world).await;
    world.memory.put_resource("Client", "app", registered(json!(["openid", "patient/Patient.rs"])));
    let response = world.token(&redemption(&code)).await.unwrap();
    assert_eq!(response.scope.as_deref(), Some("launch/patient openid patient/Patient.rs"));
    assert_eq!(response.refresh_token, None);
    let code = crate::app::code(&world).await;
    world.memory.put_resource("Client", "app", registered(json!(["system/*.rs"])));
    assert_eq!(world.token(&redemption(&code)).await.unwrap_err().error_code(), "invalid_grant");
}

#[tokio::test]
async fn an_app_that_is_inactive_or_no_longer_registered_is_not_refreshed() {
    let world = with_app().await;
    let token = first(&world).await;
    let mut inactive = public_app();
    inactive["active"] = json!(false);
    let mut without_grant = public_app();
    without_grant["grant_types"] = json!(["password"]);
    let mut without_refresh = public_app();
    without_refresh["auth"]["authorization_code"]["refresh_token"] = json!(false);
    for (app, error) in
        [(inactive, "invalid_client"), (without_grant, "unauthorized_client"), (without_refresh, "unauthorized_client")]
    {
        world.memory.put_resource("Client", "app", app);
        assert_eq!(refused(&world, None, &form(&token)).await, error);
    }
}

#[tokio::test]
async fn two_nodes_of_one_deployment_derive_the_same_successor() {
    let world = with_app().await;
    let token = first(&world).await;
    let other = World::over(world.memory.clone(), world.host.clone()).await;
    assert_eq!(next(&world, &token).await, next(&other, &token).await);
}

/// What happens to a chain: a use of one of the tokens known so far, after some seconds.
fn uses() -> impl Strategy<Value = Vec<(usize, i64)>> {
    prop::collection::vec((0..6_usize, prop_oneof![Just(0_i64), 1..29_i64, 31..100_i64]), 1..24)
}

proptest! {
    #![proptest_config(Config {
        cases: 96,
        rng_seed: RngSeed::Fixed(0x7265_6672),
        failure_persistence: None,
        ..Config::default()
    })]

    /// However an app repeats itself, one token at most is good for the next, and each that was given out
    /// follows from the one before it.
    #[test]
    fn a_chain_never_has_two_living_ends(uses in uses()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let alive = runtime.block_on(chain(&uses));
        prop_assert!(alive.iter().all(|alive| *alive <= 1), "{alive:?}");
    }
}

/// How many tokens are alive after each use.
async fn chain(uses: &[(usize, i64)]) -> Vec<usize> {
    let mut world = with_app().await;
    let scope = "openid offline_access".to_owned();
    let code = issue(&world, &GrantedAuthorization { scope, ..authorization(&world) }).await;
    let mut known = vec![world.token(&redemption(&code)).await.unwrap().refresh_token.unwrap()];
    let mut alive = Vec::new();
    for (back, after_s) in uses {
        world.now_s += after_s;
        let presented = known[known.len().saturating_sub(1 + back)].clone();
        if let Ok(response) = refresh(&world, &presented).await {
            let given = response.refresh_token.unwrap();
            if !known.contains(&given) {
                known.push(given);
            }
        }
        let living: HashSet<_> = known.iter().filter(|token| is_alive(&world, token)).collect();
        alive.push(living.len());
    }
    alive
}
