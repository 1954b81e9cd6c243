//! What a person is asked, and what follows from the answer.

use oauth_core::authorization_endpoint::{ConsentCheckbox, ConsentCheckboxGroup, ConsentDecision, ConsentPage};
use oauth_core::ports::ConsentGrantStore as _;
use serde_json::json;

use crate::people::{app, clinic, consent, leave, refusal};
use crate::world::World;

const LABORATORY: &str = "category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory";

async fn asked(world: &World, scope: &str, cookie: &str) -> ConsentPage {
    consent(world.begin(&[("scope", scope)], Some(cookie)).await)
}

fn ticks(page: &ConsentPage) -> Vec<&str> {
    page.items.iter().map(|item| item.scope.as_str()).collect()
}

fn find<'a>(page: &'a ConsentPage, scope: &str) -> &'a ConsentCheckbox {
    page.items.iter().find(|item| item.scope == scope).unwrap()
}

/// What the app gets of `scope` when everything is ticked but what `without` names.
async fn granted(world: &World, scope: &str, without: &[&str]) -> String {
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.begin(&[("scope", scope), ("prompt", "consent")], Some(&cookie)).await);
    let kept: Vec<_> =
        ticks(&page).into_iter().filter(|tick| !without.iter().any(|left| tick.contains(left))).collect();
    let departure = world.allow(&page, &kept, &cookie).await;
    world.authorization(&departure)["scope"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_requested_scope_comes_back_as_it_was_asked_when_nothing_is_unticked() {
    let world = clinic().await;
    for scope in [
        "openid fhirUser patient/*.rs",
        "patient/*.read openid",
        "launch/patient patient/*.* offline_access",
        "patient/Condition.rs patient/Observation.rs patient/Patient.rs",
        "patient/Observation.read user/Patient.read",
        &format!("patient/Observation.rs?{LABORATORY} openid profile email"),
        "patient/Basic.rs patient/Patient.cud",
        "launch/patient",
        "launch/patient offline_access",
    ] {
        assert_eq!(granted(&world, scope, &[]).await, scope);
    }
}

#[tokio::test]
async fn a_data_type_that_is_unticked_is_not_granted() {
    let world = clinic().await;
    let scope = "openid patient/Patient.rs patient/Immunization.read patient/Coverage.rs offline_access";
    assert_eq!(
        granted(&world, scope, &["Immunization", "offline"]).await,
        "openid patient/Patient.rs patient/Coverage.rs"
    );
}

#[tokio::test]
async fn a_wildcard_is_granted_type_by_type_when_one_is_unticked() {
    let world = clinic().await;
    let given = granted(&world, "patient/*.read openid", &["Immunization"]).await;
    assert!(given.starts_with("patient/Patient.read ") && given.ends_with(" openid"), "{given}");
    assert!(given.contains(" patient/Observation.read ") && !given.contains('*') && !given.contains("Immunization"));
}

#[tokio::test]
async fn plain_scopes_on_conditions_and_observations_are_granted_by_category_when_one_is_unticked() {
    let world = clinic().await;
    let scope = "patient/Condition.rs patient/Observation.rs patient/Patient.rs";
    let given = granted(&world, scope, &["vital-signs", "health-concern"]).await;
    let given: Vec<_> = given.split(' ').collect();
    let of = |kind: &str| given.iter().filter(|scope| scope.contains(kind)).count();
    assert_eq!((of("patient/Condition.rs?category="), of("patient/Observation.rs?category=")), (2, 4));
    assert!(!given.contains(&"patient/Condition.rs") && !given.contains(&"patient/Observation.rs"));
    assert!(given.contains(&"patient/Patient.rs"));
}

#[tokio::test]
async fn what_has_no_line_of_its_own_is_shown_as_the_rest_and_shared_only_with_all_the_others() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, "patient/*.rs patient/Observation.rs", &cookie).await;
    for (scope, title) in [
        ("patient/*.rs", "Everything else"),
        ("patient/Observation.rs", "Other results and measurements"),
        ("patient/Condition.rs", "Other health problems"),
    ] {
        let line = find(&page, scope);
        assert_eq!((line.title.as_str(), line.ticked, line.required), (title, true, false));
        assert!(line.detail.as_deref().unwrap().contains("only together"));
    }
    let without_the_rest = {
        let kept: Vec<_> = ticks(&page).into_iter().filter(|tick| *tick != "patient/*.rs").collect();
        let departure = world.allow(&page, &kept, &cookie).await;
        world.authorization(&departure)["scope"].as_str().unwrap().to_owned()
    };
    assert!(without_the_rest.contains("patient/Goal.rs") && !without_the_rest.contains('*'), "{without_the_rest}");
    let other_results = granted(&world, "patient/Observation.rs", &["laboratory"]).await;
    assert!(!other_results.split(' ').any(|scope| scope == "patient/Observation.rs"), "{other_results}");
    let only_the_rest = world.begin(&[("scope", "patient/*.rs"), ("prompt", "consent")], Some(&cookie)).await;
    let page = consent(only_the_rest);
    let decision = ConsentDecision::Allow { scopes: vec!["patient/*.rs".to_owned()] };
    let refused = refusal(world.decide(&page.transaction, decision, &cookie).await);
    assert_eq!(refused.0, "access_denied", "a line for the rest alone shares nothing");
}

#[tokio::test]
async fn the_page_speaks_in_plain_words() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let scope = format!(
        "offline_access openid patient/ExplanationOfBenefit.rs patient/Goal.cruds patient/Basic.rs launch/patient \
         patient/Observation.rs?status=final patient/Observation.rs?{LABORATORY} patient/Organization.rs"
    );
    let page = asked(&world, &scope, &cookie).await;
    let said = |scope: &str| {
        let item = find(&page, scope);
        (item.title.as_str(), item.detail.as_deref().unwrap_or_default(), item.group, item.required)
    };
    let costs = "What was charged, what the insurance paid and what is left to pay. It also names diagnoses, \
                 treatments and medicines.";
    assert_eq!(
        said("patient/ExplanationOfBenefit.rs"),
        ("Costs, diagnoses, treatments and medicines", costs, ConsentCheckboxGroup::Record, false)
    );
    let goal = "What the care is meant to achieve. The app may see, add, change and delete entries.";
    assert_eq!(said("patient/Goal.cruds"), ("Goals", goal, ConsentCheckboxGroup::Record, false));
    assert_eq!(said("patient/Basic.rs"), ("Entries of the kind Basic", "", ConsentCheckboxGroup::Record, false));
    assert_eq!(said(&format!("patient/Observation.rs?{LABORATORY}")).0, "Laboratory results");
    let limited = "Test results and measurements, only where status is final";
    assert_eq!(said("patient/Observation.rs?status=final").0, limited);
    assert_eq!(said("patient/Organization.rs").2, ConsentCheckboxGroup::Directory);
    let (title, detail, group, _) = said("offline_access");
    assert_eq!((title, group), ("Keep access when you are away", ConsentCheckboxGroup::Duration));
    assert!(detail.starts_with("Until it is not used for 90 days, and for 365 days at most."), "{detail}");
    assert!(said("openid").3 && said("launch/patient").3);
    let groups: Vec<_> = page.items.iter().map(|item| item.group).collect();
    assert!(groups.is_sorted() && page.items.iter().all(|item| item.ticked));
}

#[tokio::test]
async fn what_was_not_offered_cannot_be_ticked() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, "openid patient/Patient.rs", &cookie).await;
    let ticks = ["patient/Patient.rs", "patient/*.cruds", "user/*.rs", "system/*.rs", "offline_access", "x y"];
    let departure = world.allow(&page, &ticks, &cookie).await;
    assert_eq!(world.authorization(&departure)["scope"], "openid patient/Patient.rs");
}

#[tokio::test]
async fn allowing_nothing_is_denying() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, "patient/Patient.rs launch/patient offline_access", &cookie).await;
    for scopes in [vec![], vec!["offline_access".to_owned()]] {
        let step = world.decide(&page.transaction, ConsentDecision::Allow { scopes }, &cookie).await;
        assert_eq!((refusal(step).0.as_str(), world.codes()), ("access_denied", 0));
    }
}

#[tokio::test]
async fn an_app_that_asks_for_the_context_alone_gets_it_and_one_that_loses_all_else_does_not() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, "launch/patient", &cookie).await;
    assert!(page.items.iter().all(|item| item.scope == "launch/patient"), "{:?}", page.items);
    let left = world.allow(&page, &[], &cookie).await;
    assert_eq!(world.authorization(&left)["scope"], "launch/patient");
    for scope in ["launch/patient system/*.read", "launch/encounter", "offline_access"] {
        assert_eq!(refusal(world.begin(&[("scope", scope)], Some(&cookie)).await).0, "invalid_scope", "{scope}");
    }
}

#[tokio::test]
async fn the_registration_limits_what_a_person_is_asked() {
    let world = clinic().await;
    let mut client = app();
    client["scope"] = json!(["openid", "patient/Patient.read", "patient/Observation.cruds", "custom"]);
    client["auth"]["authorization_code"]["refresh_token"] = json!(false);
    world.memory.put_resource("Client", "app", client);
    let scope = "launch/patient openid fhirUser patient/*.read system/*.read custom other offline_access";
    let expected = "launch/patient openid patient/Patient.read patient/Observation.read custom";
    assert_eq!(granted(&world, scope, &[]).await, expected);
    let cookie = world.cookie_of("ada").await;
    let outside = [("scope", "launch/patient patient/Claim.rs fhirUser")];
    assert_eq!(refusal(world.begin(&outside, Some(&cookie)).await).0, "invalid_scope");
}

#[tokio::test]
async fn nobody_is_asked_twice_for_what_was_decided() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let scope = "openid patient/*.rs offline_access";
    let page = asked(&world, scope, &cookie).await;
    let kept: Vec<_> =
        ticks(&page).into_iter().filter(|tick| !tick.contains("Goal") && *tick != "offline_access").collect();
    let first = world.allow(&page, &kept, &cookie).await;
    let given = world.authorization(&first)["scope"].clone();
    assert!(!given.as_str().unwrap().contains("Goal"));
    // The same again, a part of it, and a part of a part: no page, and never more than was allowed.
    let again = leave(world.begin(&[("scope", scope)], Some(&cookie)).await);
    assert_eq!(world.authorization(&again)["scope"], given);
    let part = leave(world.begin(&[("scope", "openid patient/Patient.rs patient/Goal.rs")], Some(&cookie)).await);
    assert_eq!(world.authorization(&part)["scope"], "openid patient/Patient.rs");
    // More than was asked, another spelling of more, or the wish to be asked: the page.
    for (scope, prompt) in
        [("openid patient/*.rs user/Patient.rs", ""), ("patient/Patient.cruds", ""), (scope, "consent")]
    {
        consent(world.begin(&[("scope", scope), ("prompt", prompt)], Some(&cookie)).await);
    }
    assert_eq!(world.memory.lock_rows().grants.len(), 1);
}

#[tokio::test]
async fn a_later_decision_keeps_what_it_is_not_about_and_replaces_what_it_is() {
    let world = clinic().await;
    granted(&world, "openid patient/Patient.rs patient/Goal.rs", &[]).await;
    granted(&world, "openid patient/Goal.rs patient/Coverage.rs", &["Goal"]).await;
    let members = world.memory.lock_rows();
    let [grant] = members.grants.as_slice() else { panic!("one grant") };
    assert_eq!(grant.granted, "openid patient/Coverage.rs patient/Patient.rs");
    assert_eq!(grant.requested, "openid patient/Goal.rs patient/Coverage.rs patient/Patient.rs");
}

/// The lines of the page that are ticked, and those it says were refused before.
fn stands(page: &ConsentPage) -> (Vec<&str>, Vec<&str>) {
    let lines = |of: fn(&ConsentCheckbox) -> bool| {
        page.items.iter().filter(|item| of(item)).map(|item| item.scope.as_str()).collect::<Vec<_>>()
    };
    (lines(|item| item.ticked && !item.required), lines(|item| item.declined))
}

async fn asked_again(world: &World, scope: &str, cookie: &str) -> ConsentPage {
    consent(world.begin(&[("scope", scope), ("prompt", "consent")], Some(cookie)).await)
}

const FOUR: &str = "openid patient/Patient.rs patient/Goal.rs patient/Coverage.rs offline_access";

#[tokio::test]
async fn what_was_refused_stays_unticked_whenever_the_page_comes_again() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, FOUR, &cookie).await;
    assert_eq!(stands(&page).1, [""; 0], "nothing was refused before the first visit");
    world.allow(&page, &["patient/Patient.rs", "offline_access"], &cookie).await;

    let again = asked_again(&world, FOUR, &cookie).await;
    let refused = vec!["patient/Goal.rs", "patient/Coverage.rs"];
    assert_eq!(stands(&again), (vec!["patient/Patient.rs", "offline_access"], refused.clone()));
    // A further scope stands as on a first visit.
    let more = asked(&world, &format!("{FOUR} patient/Claim.rs"), &cookie).await;
    assert_eq!(stands(&more), (vec!["patient/Patient.rs", "patient/Claim.rs", "offline_access"], refused.clone()));
    // So it is after a decision that was not about them.
    let other = asked(&world, "patient/Claim.rs", &cookie).await;
    world.allow(&other, &["patient/Claim.rs"], &cookie).await;
    assert_eq!(stands(&asked_again(&world, FOUR, &cookie).await).1, refused);
    // And one that is ticked after all is not refused any more.
    world.allow(&again, &["patient/Patient.rs", "patient/Goal.rs"], &cookie).await;
    let last = asked_again(&world, FOUR, &cookie).await;
    assert_eq!(
        stands(&last),
        (vec!["patient/Patient.rs", "patient/Goal.rs"], vec!["patient/Coverage.rs", "offline_access"])
    );
}

#[tokio::test]
async fn a_program_that_could_be_the_app_finds_no_more_ticked_than_the_member_allowed() {
    let world = clinic().await;
    let mut client = app();
    client["auth"]["authorization_code"]["redirect_uri"] = json!("http://127.0.0.1:4000/callback");
    world.memory.put_resource("Client", "app", client);
    let cookie = world.cookie_of("ada").await;
    let ask = || world.begin(&[("scope", FOUR), ("redirect_uri", "http://127.0.0.1:4000/callback")], Some(&cookie));
    let page = consent(ask().await);
    world.allow(&page, &["patient/Patient.rs"], &cookie).await;
    let again = consent(ask().await);
    assert_eq!(stands(&again).0, ["patient/Patient.rs"]);
}

#[tokio::test]
async fn who_denied_everything_finds_nothing_ticked_and_lets_nothing_in() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let nothing = [ConsentDecision::Deny, ConsentDecision::Allow { scopes: Vec::new() }];
    for (decision, scope) in nothing.into_iter().zip([FOUR, "patient/Claim.rs patient/*.read launch/patient"]) {
        let page = asked(&world, scope, &cookie).await;
        assert_eq!(refusal(world.decide(&page.transaction, decision, &cookie).await).0, "access_denied");
        let again = asked(&world, scope, &cookie).await;
        assert_eq!(stands(&again).0, [""; 0], "{scope}");
        assert!(again.items.iter().all(|item| item.required || item.declined), "{again:?}");
    }
    // A row that only keeps refusals lets no app in, also where nothing has to be allowed.
    for scope in ["launch/patient", "openid"] {
        consent(world.begin(&[("scope", scope)], Some(&cookie)).await);
        let quiet = world.begin(&[("scope", scope), ("prompt", "none")], Some(&cookie)).await;
        assert_eq!(refusal(quiet).0, "consent_required", "{scope}");
    }
    assert_eq!(world.codes(), 0);
}

#[tokio::test]
async fn a_denial_leaves_what_was_allowed_and_refuses_what_is_new() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, "openid patient/Patient.rs", &cookie).await;
    world.allow(&page, &["patient/Patient.rs"], &cookie).await;
    let more = asked(&world, FOUR, &cookie).await;
    assert_eq!(refusal(world.decide(&more.transaction, ConsentDecision::Deny, &cookie).await).0, "access_denied");
    let again = asked(&world, FOUR, &cookie).await;
    let new = vec!["patient/Goal.rs", "patient/Coverage.rs", "offline_access"];
    assert_eq!(stands(&again), (vec!["patient/Patient.rs"], new));
    leave(world.begin(&[("scope", "openid patient/Patient.rs")], Some(&cookie)).await);
}

#[tokio::test]
async fn who_unticks_everything_takes_it_back() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, "patient/Patient.rs patient/Goal.rs", &cookie).await;
    world.allow(&page, &["patient/Patient.rs", "patient/Goal.rs"], &cookie).await;
    let page = asked_again(&world, "patient/Patient.rs patient/Goal.rs", &cookie).await;
    let nothing = world.decide(&page.transaction, ConsentDecision::Allow { scopes: Vec::new() }, &cookie).await;
    assert_eq!(refusal(nothing).0, "access_denied");
    let page = asked(&world, "patient/Patient.rs patient/Goal.rs", &cookie).await;
    assert_eq!(stands(&page), (vec![], vec!["patient/Patient.rs", "patient/Goal.rs"]));
    let audit = world.memory.lock_rows().audit.clone();
    let ends = audit.iter().filter(|record| record.action == oauth_core::ports::AuditAction::Revocation);
    assert_eq!(ends.count(), 1, "the grant ended");
}

#[tokio::test]
async fn what_was_refused_is_refused_after_the_app_was_removed() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = asked(&world, FOUR, &cookie).await;
    world.allow(&page, &["patient/Patient.rs", "patient/Goal.rs", "offline_access"], &cookie).await;
    let grant_id = world.memory.lock_rows().grants[0].id.clone();
    assert!(world.memory.revoke_grant("ada", &grant_id, "rest").await.unwrap());
    let again = asked(&world, FOUR, &cookie).await;
    assert_eq!(stands(&again).1, ["patient/Coverage.rs"]);
    assert_eq!(stands(&again).0.len(), 3, "the rest is as on a first visit");
}

#[tokio::test]
async fn one_type_that_was_refused_of_a_wildcard_is_unticked_wherever_it_comes_again() {
    let world = clinic().await;
    granted(&world, "patient/*.rs", &["Goal"]).await;
    let cookie = world.cookie_of("ada").await;
    // A decision about a part of it used to make the server forget what else had been asked for.
    granted(&world, "patient/Patient.rs patient/Claim.rs", &["Claim"]).await;
    let again = asked_again(&world, "patient/*.rs", &cookie).await;
    let (ticked, declined) = stands(&again);
    assert!(declined.contains(&"patient/Goal.rs") && declined.contains(&"patient/Claim.rs"), "{declined:?}");
    assert!(ticked.contains(&"patient/Coverage.rs") && !ticked.contains(&"patient/*.rs"), "{ticked:?}");
    let other = asked(&world, "patient/Goal.cruds user/Goal.rs", &cookie).await;
    assert_eq!(stands(&other), (vec!["user/Goal.rs"], vec!["patient/Goal.cruds"]));
}
