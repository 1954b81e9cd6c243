//! Letting an app in.

use std::collections::HashSet;

use serde_json::json;

use crate::browser::Browser;
use crate::members::{CALLBACK, STATE, request, request_with};
use crate::world::{BASE, World, on_every_engine};

const SCOPE: &str = "launch/patient openid fhirUser patient/Patient.rs patient/AllergyIntolerance.rs offline_access";

#[tokio::test]
async fn a_member_allows_and_the_browser_leaves_with_a_code() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        world.public_app("diary").await;
        let browser = Browser::new(world);
        let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
        assert_eq!((consent.answer.status.as_u16(), consent.path()), (200, "/auth/grant"));
        assert_eq!(consent.title(), "Allow Health Diary?");
        for shown in ["Health Diary", "Keeps it all in one place.", "Amy Shaw", "12 May 1987", "Allergies"] {
            assert!(consent.html().contains(shown), "{shown}");
        }
        let form = consent.form("/auth/grant");
        assert_eq!(form.offered("decision"), ["allow", "deny"]);
        for scope in ["patient/AllergyIntolerance.rs", "offline_access"] {
            assert!(form.offered("scope").contains(&scope), "{form:?}");
        }
        let left = browser.allow(&consent).await;
        assert!(left.told("code").is_some_and(|code| code.len() >= 43));
        assert_eq!(left.told("state").as_deref(), Some(STATE));
        assert_eq!(left.told("iss").as_deref(), Some(BASE));
        assert_eq!(left.answer.header("referrer-policy"), "no-referrer");
    })
    .await;
}

#[tokio::test]
async fn what_was_allowed_once_is_not_asked_again_unless_the_app_wants_it_asked() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
    let first = browser.allow(&consent).await.told("code");
    let again = browser.open(&request("diary", SCOPE)).await;
    assert!(again.told("code").is_some() && again.told("code") != first);
    let asked = browser.open(&request_with("diary", SCOPE, &[("prompt", "consent")])).await;
    assert_eq!(asked.path(), "/auth/grant");
    let more = browser.open(&request("diary", &format!("{SCOPE} patient/Condition.rs"))).await;
    assert_eq!(more.path(), "/auth/grant", "more than was allowed");
    world.end().await;
}

#[tokio::test]
async fn what_a_member_refused_is_unticked_and_named_when_the_page_comes_again() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        world.public_app("diary").await;
        let browser = Browser::new(world);
        let allergies = "patient/AllergyIntolerance.rs";
        let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
        assert!(!consent.html().contains("has asked you before"));
        let form = consent.form("/auth/grant");
        assert!(form.ticked("scope").contains(&allergies), "{form:?}");
        let less: Vec<_> = form.ticked("scope").into_iter().filter(|scope| *scope != allergies).collect();
        browser.submit(&form.clone().tick_only("scope", &less).choose("decision", "allow")).await;
        let again = browser.open(&request_with("diary", SCOPE, &[("prompt", "consent")])).await;
        let form = again.form("/auth/grant");
        assert!(!form.ticked("scope").contains(&allergies), "{form:?}");
        assert!(form.ticked("scope").contains(&"offline_access"), "{form:?}");
        assert!(again.html().contains("What you did not allow then has no tick now."));
        assert_eq!(again.html().matches("You did not allow this before.").count(), 1);
        // One click gives no more than was allowed before.
        let left = browser.submit(&form.choose("decision", "allow")).await;
        assert!(left.told("code").is_some());
        let apps = browser.open("/auth/apps").await;
        assert!(apps.html().contains("Health Diary") && !apps.html().contains("Allergies"));
    })
    .await;
}

#[tokio::test]
async fn what_was_refused_stays_unticked_when_an_app_that_anyone_could_be_asks_for_more() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        // An app of a private scheme, and one on the member's own machine: the page comes every time.
        for (app, address) in [("phone", "com.diary.app:/callback"), ("desk", "http://127.0.0.1:4010/callback")] {
            let code = json!({"redirect_uri": address, "pkce": true, "refresh_token": true, "token_format": "jwt"});
            world.public_app_with(app, &json!({"auth": {"authorization_code": code}})).await;
            let browser = Browser::new(world);
            let open = [("redirect_uri", address)];
            let consent = browser.open_as("amy", &request_with(app, SCOPE, &open)).await;
            let refused = "patient/AllergyIntolerance.rs";
            let form = consent.form("/auth/grant");
            let less: Vec<_> = form.ticked("scope").into_iter().filter(|scope| *scope != refused).collect();
            assert!(less.len() < form.ticked("scope").len(), "{app}");
            browser.submit(&form.clone().tick_only("scope", &less).choose("decision", "allow")).await;
            let more = format!("{SCOPE} patient/Condition.rs");
            for scope in [SCOPE, &more] {
                let again = browser.open(&request_with(app, scope, &open)).await;
                assert_eq!(again.path(), "/auth/grant", "{app}");
                assert!(!again.form("/auth/grant").ticked("scope").contains(&refused), "{app}: {scope}");
                assert_eq!(again.html().matches("You did not allow this before.").count(), 1, "{app}: {scope}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn who_denied_finds_nothing_ticked_when_the_app_asks_again() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        world.public_app("diary").await;
        let browser = Browser::new(world);
        let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
        let left = browser.submit(&consent.form("/auth/grant").choose("decision", "deny")).await;
        assert_eq!(left.told("error").as_deref(), Some("access_denied"));
        let again = browser.open(&request("diary", SCOPE)).await;
        assert_eq!(again.form("/auth/grant").ticked("scope"), [""; 0]);
        assert!(again.html().contains("This app has asked you before, and you did not allow it."));
        assert!(browser.open("/auth/apps").await.html().contains("No app has access."));
    })
    .await;
}

#[tokio::test]
async fn thirty_two_visits_at_once_with_a_stored_grant_give_thirty_two_codes() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        world.public_app("diary").await;
        let browser = Browser::new(world);
        let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
        browser.allow(&consent).await;
        let ask = || Box::pin(async { browser.open(&request("diary", SCOPE)).await.told("code") });
        let four = async || <[_; 4]>::from(tokio::join!(ask(), ask(), ask(), ask()));
        let sixteen = async || <[_; 4]>::from(tokio::join!(four(), four(), four(), four())).concat();
        let (some, others) = tokio::join!(sixteen(), sixteen());
        let codes: HashSet<_> = [some, others].concat().into_iter().flatten().collect();
        assert_eq!(codes.len(), 32);
    })
    .await;
}

#[tokio::test]
async fn a_denial_is_told_to_the_app_and_gives_nothing() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
    let left = browser.submit(&consent.form("/auth/grant").choose("decision", "deny")).await;
    assert_eq!(left.told("error").as_deref(), Some("access_denied"));
    assert_eq!((left.told("state").as_deref(), left.told("code")), (Some(STATE), None));
    assert!(browser.open("/auth/apps").await.html().contains("No app has access."));
    world.end().await;
}

#[tokio::test]
async fn an_app_of_the_payer_s_own_is_let_in_without_a_question() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app_with("portal", &json!({"first_party": true})).await;
    let browser = Browser::new(&world);
    assert!(browser.open_as("amy", &request("portal", SCOPE)).await.told("code").is_some());
    world.end().await;
}

#[tokio::test]
async fn where_the_address_of_the_app_is_not_its_own_nothing_goes_there() {
    let world = World::new().await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    for (name, value) in [
        ("redirect_uri", "https://evil.example/callback"),
        ("redirect_uri", &format!("{CALLBACK}/") as &str),
        ("redirect_uri", ""),
        ("client_id", "nobody"),
        ("client_id", ""),
    ] {
        let page = browser.open(&request_with("diary", SCOPE, &[(name, value)])).await;
        assert!(!page.left, "{name}={value}");
        assert_eq!((page.answer.status.as_u16(), page.title().as_str()), (400, "This app cannot be connected"));
        assert_eq!(page.answer.header("location"), "");
    }
    let refused = browser.open(&request_with("diary", SCOPE, &[("aud", "https://elsewhere.example/fhir")])).await;
    assert_eq!(refused.told("error").as_deref(), Some("invalid_request"));
    world.end().await;
}

#[tokio::test]
async fn a_decision_that_another_site_makes_is_refused_and_changes_nothing() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.member("bob", ("Bob", "Ross")).await;
    world.public_app("diary").await;
    let (amy, bob) = (Browser::new(&world), Browser::new(&world));
    let consent = amy.open_as("amy", &request("diary", SCOPE)).await.form("/auth/grant").choose("decision", "allow");
    let foreign = bob.open_as("bob", &request("diary", SCOPE)).await.form("/auth/grant").value("csrf").to_owned();
    for forged in [consent.clone().without("csrf"), consent.clone().with("csrf", &foreign)] {
        let page = amy.submit(&forged).await;
        assert!(!page.left);
        assert_eq!((page.answer.status.as_u16(), page.title().as_str()), (403, "This page is out of date"));
    }
    for browser in [&amy, &bob] {
        assert!(browser.open("/auth/apps").await.html().contains("No app has access."));
    }
    assert!(amy.submit(&consent).await.told("code").is_some(), "the page itself still works");
    world.end().await;
}

#[tokio::test]
async fn a_request_that_was_left_lying_too_long_has_to_be_made_again() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
    world.wait_s(901);
    let page = browser.allow(&consent).await;
    assert!(!page.left);
    assert_eq!((page.answer.status.as_u16(), page.title().as_str()), (400, "This took too long"));
    for transaction in ["", "nonsense", "AAAA"] {
        let page = browser.open(&format!("/auth/grant?transaction={transaction}")).await;
        assert_eq!((page.answer.status.as_u16(), page.title().as_str()), (400, "This page cannot be opened"));
        assert!(!page.html().contains("too long"), "{transaction}");
    }
    world.end().await;
}

#[tokio::test]
async fn who_acts_for_several_chooses_and_nobody_else_can_be_chosen() {
    let world = World::new().await;
    world.member("leo", ("Leo", "Shaw")).await;
    world.member("zoe", ("Zoe", "Shaw")).await;
    world.member("eve", ("Eve", "Other")).await;
    let links = json!({"link": [{"target": {"reference": "Patient/leo"}}, {"target": {"reference": "Patient/zoe"}}]});
    world.put("/Person/amy", &links).await;
    world.user("amy", ("Amy", "Shaw"), Some("Person/amy")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let picker = browser.open_as("amy", &request("diary", SCOPE)).await;
    assert_eq!((picker.path(), picker.title().as_str()), ("/auth/patient", "Choose a record"));
    let form = picker.form("/auth/patient");
    assert_eq!(form.offered("patient"), ["leo", "zoe"]);

    let nothing = browser.submit(&form).await;
    assert_eq!((nothing.answer.status.as_u16(), nothing.path()), (400, "/auth/patient"));
    assert!(nothing.html().contains("No record is chosen"));
    let forged = browser.submit(&form.clone().with("patient", "eve").choose("patient", "eve")).await;
    assert_eq!((forged.answer.status.as_u16(), forged.title().as_str()), (400, "This record cannot be chosen"));

    let consent = browser.submit(&form.choose("patient", "zoe")).await;
    assert_eq!(consent.path(), "/auth/grant");
    assert!(consent.html().contains("Zoe Shaw’s"));
    assert!(browser.allow(&consent).await.told("code").is_some());
    let apps = browser.open("/auth/apps").await;
    assert!(apps.html().contains("Zoe Shaw") && !apps.html().contains("Leo Shaw"));
    world.end().await;
}

#[tokio::test]
async fn who_cares_for_many_searches_and_finds_whom_a_policy_lets_read() {
    let world = World::new().await;
    world.member("leo", ("Leo", "Shaw")).await;
    world.put("/Practitioner/ines", &json!({})).await;
    world.user("ines", ("Ines", "Roth"), Some("Practitioner/ines")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let picker = browser.open_as("ines", &request("diary", SCOPE)).await;
    assert_eq!(picker.path(), "/auth/patient");
    let search = format!("{}&search=sha", picker.at);
    assert!(browser.open(&search).await.html().contains("No patient found for “sha”"), "no policy lets her");
    let policy = json!({"engine": "allow", "link": [{"reference": "User/ines"}]});
    world.put("/AccessPolicy/ines", &policy).await;
    let found = browser.open(&search).await;
    let consent = browser.submit(&found.form("/auth/patient").choose("patient", "leo")).await;
    assert!(consent.html().contains("Leo Shaw’s"));
    world.end().await;
}

#[tokio::test]
async fn staff_sees_how_many_patients_there_are_pages_through_them_and_tells_them_apart() {
    let world = World::new().await;
    for number in 0..30 {
        let patient = json!({
            "name": [{"given": ["Sam"], "family": "Shaw"}], "birthDate": "1980-05-04", "gender": "female",
            "identifier": [{"type": {"coding": [{"code": "MB"}]}, "value": format!("M{number:03}")}],
            "address": [{"line": [format!("{number} Main St")], "city": "Springfield"}],
        });
        world.put(&format!("/Patient/s{number:02}"), &patient).await;
    }
    world.put("/Patient/bare", &json!({"name": [{"text": "Zed Shaw"}]})).await;
    world.put("/Practitioner/ines", &json!({})).await;
    world.user("ines", ("Ines", "Roth"), Some("Practitioner/ines")).await;
    world.put("/AccessPolicy/ines", &json!({"engine": "allow", "link": [{"reference": "User/ines"}]})).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let picker = browser.open_as("ines", &request("diary", SCOPE)).await;
    let first = browser.open(&format!("{}&search=shaw", picker.at)).await;
    assert!(first.html().contains("31 patients found. Showing 1 to 20."), "{}", first.html());
    let row = "Born 4 May 1980</span> · <span class=\"part\">Female</span> · <span class=\"part\">Member number M007\
               </span> · <span class=\"part\">7 Main St, Springfield";
    assert!(first.html().contains(row), "{}", first.html());
    assert!(!first.html().contains("Previous patients"));
    let second = browser.open(&format!("{}&search=shaw&page=2", picker.at)).await;
    assert!(second.html().contains("Showing 21 to 31."));
    assert!(second.html().contains("Record id bare"), "{}", second.html());
    assert!(second.html().contains("Previous patients") && !second.html().contains("More patients"));
    let consent = browser.submit(&second.form("/auth/patient").choose("patient", "s25")).await;
    assert_eq!(consent.path(), "/auth/grant");
    let one = browser.open(&format!("{}&search=M011", picker.at)).await;
    assert!(one.html().contains("1 patient found.") && !one.html().contains("Showing"));
    world.end().await;
}

#[tokio::test]
async fn a_long_request_sent_as_a_form_is_led_on_like_one_sent_by_a_link() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let link = request("diary", SCOPE);
    let query = link.split_once('?').unwrap().1;
    let call =
        world.post("/auth/authorize").header("origin", "https://diary.example").header("sec-fetch-site", "cross-site");
    let answer = browser.send(call.text("application/x-www-form-urlencoded", query.to_owned())).await;
    let consent = browser.open_as("amy", answer.header("location")).await;
    assert_eq!(consent.path(), "/auth/grant");
    world.end().await;
}
