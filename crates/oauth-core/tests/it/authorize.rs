//! An app asks: the check of the request in its order, signing in on the way, and the code.

use oauth_core::authorization_endpoint::limits::{
    LAUNCH_MAX_BYTES, LOGIN_HINT_MAX_BYTES, NONCE_MAX_BYTES, STATE_MAX_BYTES,
};
use oauth_core::authorization_endpoint::{
    AuthorizationPageError, AuthorizationRedirectError, AuthorizationRequestError, BrowserSessionContext,
    ConsentDecision, NextPageOrRedirect, PatientSearchQuery, PatientSelectionPage,
};
use oauth_core::ports::PatientSummary;
use serde_json::json;

use crate::people::{
    CALLBACK, CHALLENGE, app, clinic, consent, leave, page_fault, parameter, patient_page, refusal, request,
    sign_in_page, user,
};
use crate::world::{BASE, NOW_S};

#[tokio::test]
async fn a_request_that_is_not_surely_the_apps_is_never_redirected() {
    let world = clinic().await;
    world.memory.put_resource("Client", "asleep", json!({"active": false, "auth": app()["auth"]}));
    for (changes, fault) in [
        (vec![("client_id", "")], AuthorizationPageError::UnknownApp),
        (vec![("client_id", "nobody")], AuthorizationPageError::UnknownApp),
        (vec![("client_id", "asleep")], AuthorizationPageError::InactiveApp),
        (vec![("redirect_uri", "")], AuthorizationPageError::RedirectUri),
        (vec![("redirect_uri", "https://app.example/callback/")], AuthorizationPageError::RedirectUri),
        (vec![("redirect_uri", "https://APP.example/callback")], AuthorizationPageError::RedirectUri),
        (vec![("redirect_uri", "https://app.example/callback#x")], AuthorizationPageError::RedirectUri),
        (vec![("redirect_uri", "https://evil.example/callback")], AuthorizationPageError::RedirectUri),
    ] {
        assert_eq!(page_fault(world.begin(&changes, None).await), fault, "{changes:?}");
    }
    for twice in [("client_id", "app"), ("redirect_uri", CALLBACK)] {
        let mut pairs = request(&[]);
        pairs.push((twice.0.to_owned(), twice.1.to_owned()));
        page_fault(world.begin_with(pairs, None).await);
    }
    assert_eq!(world.codes(), 0);
}

/// The table of the rules, from its fourth row on: what a request has wrong, the `error` and a word of the text.
const TABLE: [(&str, &str, &str, &str); 12] = [
    ("nonce", "twice", "invalid_request", "nonce is given more than once"),
    ("response_type", "", "invalid_request", "response_type is missing"),
    ("response_type", "id_token", "unsupported_response_type", "response_type"),
    ("client_id", "unlisted", "unauthorized_client", "not registered for this response_type"),
    ("state", "", "invalid_request", "state is missing"),
    ("aud", "https://other.example/fhir", "invalid_request", "aud must be"),
    ("code_challenge", "", "invalid_request", "code_challenge is missing"),
    ("scope", "", "invalid_request", "scope is missing"),
    ("scope", "launch patient/Patient.x", "invalid_scope", "scope"),
    ("scope", "launch openid", "invalid_request", "needs the parameter launch"),
    ("launch", "garbage", "invalid_request", "not a launch context"),
    ("prompt", "none", "login_required", "nobody is signed in"),
];

#[tokio::test]
async fn of_many_faults_the_first_of_the_table_is_told() {
    let world = clinic().await;
    let mut unlisted = app();
    unlisted["grant_types"] = json!(["client_credentials"]);
    world.memory.put_resource("Client", "unlisted", unlisted);
    for (index, (name, _, error, words)) in TABLE.iter().enumerate() {
        let pairs = with_faults(&TABLE[index..]);
        let (told, cause) = refusal(world.begin_with(pairs, None).await);
        assert_eq!(told, *error, "{name}: {cause}");
        assert!(cause.to_string().contains(words), "{name}: {cause}");
    }
    // Before the target is trusted nothing is told to anybody but the person.
    for (name, value, fault) in [
        ("client_id", "nobody", AuthorizationPageError::UnknownApp),
        ("client_id", "asleep", AuthorizationPageError::InactiveApp),
        ("redirect_uri", "https://evil.example/", AuthorizationPageError::RedirectUri),
    ] {
        world.memory.put_resource("Client", "asleep", json!({"active": false, "auth": app()["auth"]}));
        let mut pairs = with_faults(&TABLE);
        pairs.retain(|(held, _)| held != name);
        pairs.push((name.to_owned(), value.to_owned()));
        assert_eq!(page_fault(world.begin_with(pairs, None).await), fault);
    }
    assert_eq!(world.codes(), 0);
}

/// A request with these faults; of two in one parameter, the first.
fn with_faults(faults: &[(&str, &str, &str, &str)]) -> Vec<(String, String)> {
    let mut changes: Vec<(&str, &str)> = Vec::new();
    for (name, value, ..) in faults {
        if changes.iter().all(|(held, _)| held != name) {
            changes.push((name, value));
        }
    }
    // A launch without its scope, or a scope without its launch, is another fault than the one that is meant.
    match changes.iter().find(|(name, _)| *name == "scope") {
        Some((_, "launch openid")) => changes.retain(|(name, _)| *name != "launch"),
        None if changes.iter().any(|(name, _)| *name == "launch") => changes.push(("scope", "launch openid")),
        _ => {}
    }
    let mut pairs = request(&changes);
    pairs.extend(
        changes
            .iter()
            .find(|(name, _)| *name == "nonce")
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    pairs
}

#[tokio::test]
async fn a_redirect_address_that_was_never_checked_is_none() {
    let world = clinic().await;
    let script = "javascript:alert(1)";
    let mut client = app();
    client["auth"]["authorization_code"]["redirect_uri"] = json!(script);
    world.memory.put_resource("Client", "app", client);
    assert_eq!(page_fault(world.begin(&[("redirect_uri", script)], None).await), AuthorizationPageError::RedirectUri);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_in_order() {
    let world = clinic().await;
    let long = "x".repeat(4097);
    // Each request has its own fault and every later one.
    let later = [
        ("response_type", "id_token", "unsupported_response_type"),
        ("state", "", "invalid_request"),
        ("aud", "https://other.example/fhir", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("scope", "patient/Patient.x", "invalid_scope"),
    ];
    for (index, (name, _, error)) in later.iter().enumerate() {
        let changes: Vec<_> = later[index..].iter().map(|(name, value, _)| (*name, *value)).collect();
        let (told, cause) = refusal(world.begin(&changes, None).await);
        assert_eq!(told, *error, "{name}: {cause}");
        let named = name.trim_end_matches("_method");
        assert!(cause.to_string().contains(named), "{name}: {cause}");
    }
    for (changes, error, word) in [
        (vec![("response_type", "")], "invalid_request", "response_type"),
        (vec![("response_mode", "form_post")], "invalid_request", "response_mode"),
        (vec![("state", long.as_str())], "invalid_request", "state"),
        (vec![("aud", "")], "invalid_request", "aud"),
        (vec![("aud", "https://payer.example")], "invalid_request", "aud"),
        (vec![("aud", "https://payer.example/fhir//")], "invalid_request", "aud"),
        (vec![("code_challenge", "")], "invalid_request", "code_challenge"),
        (vec![("code_challenge_method", "")], "invalid_request", "code_challenge_method"),
        (vec![("code_challenge", &CHALLENGE[1..])], "invalid_request", "code_challenge"),
        (vec![("code_challenge", "not base64url, but forty-three characters!!")], "invalid_request", "code_challenge"),
        (vec![("scope", "")], "invalid_request", "scope"),
        (vec![("scope", " ")], "invalid_request", "scope"),
        (vec![("scope", "system/*.rs")], "invalid_scope", "scope"),
        (vec![("scope", "launch openid")], "invalid_request", "launch"),
        (vec![("prompt", "none login")], "invalid_request", "prompt"),
        (vec![("max_age", "-1")], "invalid_request", "max_age"),
    ] {
        let (told, cause) = refusal(world.begin(&changes, None).await);
        assert_eq!(told, error, "{changes:?}: {cause}");
        assert!(cause.to_string().contains(word), "{changes:?}: {cause}");
    }
    assert_eq!(world.codes(), 0);
}

#[tokio::test]
async fn a_repeated_parameter_is_a_fault_of_the_request() {
    let world = clinic().await;
    for name in ["scope", "state", "aud", "code_challenge", "nonce", "unheard-of"] {
        let mut pairs = request(&[("nonce", "n"), ("unheard-of", "x")]);
        pairs.push((name.to_owned(), "again".to_owned()));
        let (told, cause) = refusal(world.begin_with(pairs, None).await);
        assert_eq!((told.as_str(), cause.to_string().contains(name)), ("invalid_request", true));
    }
}

#[tokio::test]
async fn a_request_that_is_written_elsewhere_is_told_to_be_unsupported() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    for (name, value, error) in [
        ("request", "eyJhbGciOiJub25lIn0.e30.", "request_not_supported"),
        ("request_uri", "https://app.example/request", "request_uri_not_supported"),
        ("request_uri", "urn:ietf:params:oauth:request_uri:x", "request_uri_not_supported"),
    ] {
        assert_eq!(refusal(world.begin(&[(name, value)], Some(&cookie)).await).0, error);
        // Whatever else the request lacks because it is in there.
        assert_eq!(refusal(world.begin(&[(name, value), ("scope", ""), ("state", "")], None).await).0, error);
    }
    assert_eq!(world.codes(), 0);
}

#[tokio::test]
async fn what_is_longer_than_its_limit_is_refused_or_left_out() {
    let world = clinic().await;
    let text = |bytes| "x".repeat(bytes);
    for (name, limit) in [("nonce", NONCE_MAX_BYTES), ("state", STATE_MAX_BYTES)] {
        sign_in_page(world.begin(&[(name, &text(limit))], None).await);
        let (error, cause) = refusal(world.begin(&[(name, &text(limit + 1))], None).await);
        assert_eq!((error.as_str(), cause.to_string().contains(name)), ("invalid_request", true));
    }
    let launch = |bytes| {
        let world = &world;
        async move { refusal(world.begin(&[("scope", "launch openid"), ("launch", &text(bytes))], None).await).1 }
    };
    assert!(
        matches!(launch(LAUNCH_MAX_BYTES).await, AuthorizationRedirectError::Launch(_)),
        "it is read, and none of ours"
    );
    assert!(matches!(launch(LAUNCH_MAX_BYTES + 1).await, AuthorizationRedirectError::Malformed("launch")));
    let hint = |bytes| {
        let world = &world;
        async move { sign_in_page(world.begin(&[("login_hint", &text(bytes))], None).await).login_hint }
    };
    assert_eq!(hint(LOGIN_HINT_MAX_BYTES).await.map(|hint| hint.len()), Some(LOGIN_HINT_MAX_BYTES));
    assert_eq!(hint(LOGIN_HINT_MAX_BYTES + 1).await, None, "a hint is no condition");
}

#[tokio::test]
async fn a_record_is_the_persons_own_by_its_id_and_not_by_its_name() {
    let world = clinic().await;
    let own = world.cookie_of("ada").await;
    assert!(consent(world.begin(&[], Some(&own)).await).is_own);
    user(&world, "carer", json!({"fhirUser": {"reference": "Person/c"}, "name": {"formatted": "Ada Lovelace"}}));
    related(&world, &["p-ada"]);
    let carer = world.cookie_of("carer").await;
    let page = consent(world.begin(&[], Some(&carer)).await);
    assert_eq!((page.person.as_str(), page.patient.unwrap().name.as_str()), ("Ada Lovelace", "Ada Lovelace"));
    assert!(!page.is_own);
}

#[tokio::test]
async fn a_client_without_the_grant_is_told_so() {
    let world = clinic().await;
    let mut client = app();
    client["grant_types"] = json!(["client_credentials"]);
    world.memory.put_resource("Client", "app", client);
    assert_eq!(refusal(world.begin(&[], None).await).0, "unauthorized_client");
}

#[tokio::test]
async fn a_refusal_carries_the_state_and_the_issuer() {
    let world = clinic().await;
    let Err(AuthorizationRequestError::Redirect { departure, .. }) = world.begin(&[("scope", "")], None).await else {
        panic!("the app should be refused");
    };
    assert_eq!(parameter(&departure.location, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(&departure.location, "iss").as_deref(), Some(BASE));
    assert!(parameter(&departure.location, "error_description").is_some());
    let Err(AuthorizationRequestError::Redirect { departure, .. }) = world.begin(&[("state", "")], None).await else {
        panic!("the app should be refused");
    };
    assert_eq!(parameter(&departure.location, "state"), None);
}

#[tokio::test]
async fn a_confidential_app_may_leave_the_challenge_out_unless_it_is_registered_to_send_one() {
    let world = clinic().await;
    let without = [("code_challenge", ""), ("code_challenge_method", "")];
    for (pkce, secret_required, is_needed) in [(false, true, false), (true, true, true), (false, false, true)] {
        let mut client = app();
        client["auth"]["authorization_code"]["pkce"] = json!(pkce);
        client["auth"]["authorization_code"]["secret_required"] = json!(secret_required);
        world.memory.put_resource("Client", "app", client);
        let step = world.begin(&without, None).await;
        if is_needed {
            assert_eq!(refusal(step).0, "invalid_request");
        } else {
            sign_in_page(step);
        }
        // What is sent is held to the rules all the same.
        assert_eq!(refusal(world.begin(&[("code_challenge_method", "plain")], None).await).0, "invalid_request");
    }
}

#[tokio::test]
async fn a_member_signs_in_allows_and_the_app_gets_a_code() {
    let world = clinic().await;
    let page = sign_in_page(world.begin(&[("login_hint", "ada"), ("nonce", "n-1")], None).await);
    assert_eq!((page.app_name.as_str(), page.login_hint.as_deref()), ("Heart Diary", Some("ada")));
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.resume(&page.transaction, Some(&cookie)).await);
    assert_eq!((page.person.as_str(), page.patient.as_ref().unwrap().id.as_str()), ("Ada Lovelace", "p-ada"));
    let ticks: Vec<_> = page.items.iter().map(|item| item.scope.as_str()).collect();
    let departure = world.allow(&page, &ticks, &cookie).await;
    assert_eq!(parameter(&departure.location, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(&departure.location, "iss").as_deref(), Some(BASE));
    let stored = world.authorization(&departure);
    let expected = json!({
        "grant": "authorization_code", "client_id": "app", "user_id": "ada",
        "credential": stored["credential"], "redirect_uri": CALLBACK, "code_challenge": CHALLENGE,
        "scope": crate::people::SCOPE, "nonce": "n-1", "auth_time_s": NOW_S, "fhir_user": "Patient/p-ada",
        "context": {"patient": "p-ada", "need_patient_banner": true},
    });
    assert_eq!(stored, expected);
    let members = world.memory.lock_rows();
    assert_eq!(members.grants[0].granted, crate::people::SCOPE);
    assert_eq!(members.codes.values().next().unwrap().code.expires_s, NOW_S + 60);
}

#[tokio::test]
async fn aud_may_end_in_one_slash() {
    let world = clinic().await;
    sign_in_page(world.begin(&[("aud", "https://payer.example/fhir/")], None).await);
}

#[tokio::test]
async fn a_denial_is_told_to_the_app_and_gives_it_nothing() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.begin(&[], Some(&cookie)).await);
    let (error, _) = refusal(world.decide(&page.transaction, ConsentDecision::Deny, &cookie).await);
    assert_eq!((error.as_str(), world.codes()), ("access_denied", 0));
    let grants = std::mem::take(&mut world.memory.lock_rows().grants);
    assert!(grants.iter().all(|grant| !grant.grants_anything() && !grant.refused.is_empty()), "{grants:?}");
    let audit = world.memory.lock_rows().audit.clone();
    assert!(audit.iter().any(|record| record.refused.as_deref() == Some("denied")));
}

#[tokio::test]
async fn prompt_none_never_shows_a_page() {
    let world = clinic().await;
    let none = [("prompt", "none")];
    assert_eq!(refusal(world.begin(&none, None).await).0, "login_required");
    let cookie = world.cookie_of("ada").await;
    assert_eq!(refusal(world.begin(&none, Some(&cookie)).await).0, "consent_required");
    let page = consent(world.begin(&[], Some(&cookie)).await);
    world.allow(&page, &[crate::people::SCOPE.split(' ').nth(3).unwrap()], &cookie).await;
    leave(world.begin(&none, Some(&cookie)).await);
    user(&world, "nurse", json!({"fhirUser": {"reference": "Practitioner/n"}}));
    let cookie = world.cookie_of("nurse").await;
    assert_eq!(refusal(world.begin(&none, Some(&cookie)).await).0, "interaction_required");
}

#[tokio::test]
async fn prompt_login_asks_for_the_password_again_and_once() {
    let mut world = clinic().await;
    let before = world.cookie_of("ada").await;
    // Even in the same second.
    for (changes, later_s) in [([("prompt", "login")], 0), ([("max_age", "0")], 1)] {
        world.now_s += later_s;
        let page = sign_in_page(world.begin(&changes, Some(&before)).await);
        sign_in_page(world.resume(&page.transaction, Some(&before)).await);
        let fresh = world.cookie_of("ada").await;
        consent(world.resume(&page.transaction, Some(&fresh)).await);
    }
}

#[tokio::test]
async fn max_age_honours_a_session_that_is_young_enough() {
    let mut world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    world.now_s += 100;
    consent(world.begin(&[("max_age", "100")], Some(&cookie)).await);
    sign_in_page(world.begin(&[("max_age", "99")], Some(&cookie)).await);
}

#[tokio::test]
async fn a_session_ends_with_its_time_its_user_and_its_password() {
    let mut world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    world.now_s += 431_999;
    consent(world.begin(&[], Some(&cookie)).await);
    world.now_s += 1;
    sign_in_page(world.begin(&[], Some(&cookie)).await);
    let cookie = world.cookie_of("ada").await;
    consent(world.begin(&[], Some(&cookie)).await);
    user(&world, "ada", json!({"fhirUser": {"reference": "Patient/p-ada"}}));
    sign_in_page(world.begin(&[], Some(&cookie)).await);
    let cookie = world.cookie_of("ada").await;
    consent(world.begin(&[], Some(&cookie)).await);
    let mut resource = world.memory.get_resource("User", "ada").unwrap().resource;
    resource["active"] = json!(false);
    world.memory.put_resource("User", "ada", resource);
    sign_in_page(world.begin(&[], Some(&cookie)).await);
}

#[tokio::test]
async fn a_request_that_waits_is_judged_by_the_registration_of_the_moment() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.begin(&[], Some(&cookie)).await);
    let mut client = app();
    client["active"] = json!(false);
    world.memory.put_resource("Client", "app", client);
    let allow = ConsentDecision::Allow { scopes: vec!["patient/*.rs".to_owned()] };
    let step = world.decide(&page.transaction, allow.clone(), &cookie).await;
    assert_eq!((page_fault(step), world.codes()), (AuthorizationPageError::InactiveApp, 0));
    let mut client = app();
    client["scope"] = json!(["openid", "patient/Patient.rs"]);
    world.memory.put_resource("Client", "app", client);
    let departure = leave(world.decide(&page.transaction, allow, &cookie).await);
    assert_eq!(world.authorization(&departure)["scope"], "launch/patient openid");
}

#[tokio::test]
async fn a_transaction_is_good_for_a_quarter_of_an_hour_and_for_nobody_who_changed_it() {
    let mut world = clinic().await;
    let page = sign_in_page(world.begin(&[], None).await);
    assert_eq!(page_fault(world.resume("AAAA", None).await), AuthorizationPageError::Transaction);
    assert_eq!(page_fault(world.resume("", None).await), AuthorizationPageError::Transaction);
    world.now_s += 899;
    sign_in_page(world.resume(&page.transaction, None).await);
    world.now_s += 1;
    assert_eq!(page_fault(world.resume(&page.transaction, None).await), AuthorizationPageError::TransactionExpired);
}

/// The Person `c`, which links these patients.
fn related(world: &crate::world::World, patients: &[&str]) {
    let links = patients.iter().map(|id| json!({"target": {"reference": format!("Patient/{id}")}}));
    world.memory.put_resource("Person", "c", json!({"link": links.collect::<Vec<_>>()}));
}

#[tokio::test]
async fn whoever_acts_for_several_chooses_one_of_them() {
    let world = clinic().await;
    user(&world, "carer", json!({"fhirUser": {"reference": "Person/c"}}));
    related(&world, &["p-ada", "p-bob", "p-gone"]);
    let cookie = world.cookie_of("carer").await;
    let page = patient_page(world.begin(&[], Some(&cookie)).await);
    let names: Vec<_> = page.candidates.iter().map(|patient| patient.id.as_str()).collect();
    assert_eq!((names, page.search), (vec!["p-ada", "p-bob"], None));
    for stranger in ["p-eve", "p-gone", ""] {
        assert_eq!(page_fault(world.pick(&page.transaction, stranger, &cookie).await), AuthorizationPageError::Patient);
    }
    let asked = consent(world.pick(&page.transaction, "p-bob", &cookie).await);
    assert_eq!(asked.patient.as_ref().unwrap().id, "p-bob");
    // Who may not act for the patient any more does not get through with an old page.
    related(&world, &["p-ada"]);
    let allow = ConsentDecision::Allow { scopes: vec!["patient/*.rs".to_owned()] };
    assert_eq!(refusal(world.decide(&asked.transaction, allow.clone(), &cookie).await).0, "access_denied");
    related(&world, &["p-bob"]);
    let departure = leave(world.decide(&asked.transaction, allow, &cookie).await);
    assert_eq!(world.authorization(&departure)["context"]["patient"], "p-bob");
    related(&world, &[]);
    assert_eq!(refusal(world.begin(&[], Some(&cookie)).await).0, "access_denied");
}

#[tokio::test]
async fn whoever_acts_for_one_does_not_choose() {
    let world = clinic().await;
    user(&world, "carer", json!({"fhirUser": {"reference": "Person/c"}}));
    related(&world, &["p-gone", "p-bob"]);
    let cookie = world.cookie_of("carer").await;
    assert_eq!(consent(world.begin(&[], Some(&cookie)).await).patient.unwrap().name, "Bob Lovelace");
    // The own record, even when it is not here yet.
    user(&world, "new", json!({"fhirUser": {"reference": "Patient/p-new"}}));
    let cookie = world.cookie_of("new").await;
    assert_eq!(consent(world.begin(&[], Some(&cookie)).await).patient.unwrap().id, "p-new");
}

#[tokio::test]
async fn staff_pages_through_all_patients_that_a_text_finds() {
    let world = clinic().await;
    user(&world, "nurse", json!({"fhirUser": {"reference": "Practitioner/n"}}));
    for number in 0..45 {
        let (id, name) = (format!("s-{number:02}"), "Sam Smith".to_owned());
        let patient = PatientSummary { id, name, ..PatientSummary::default() };
        world.memory.lock_rows().patients.push(patient);
    }
    let matcho = json!({"request-method": "get", "params": {"resource/id": "#^s-"}});
    world
        .memory
        .put_policy("ward", json!({"engine": "matcho", "link": [{"reference": "User/nurse"}], "matcho": matcho}));
    let cookie = world.cookie_of("nurse").await;
    let page = patient_page(world.begin(&[], Some(&cookie)).await);
    for (asked, shown, first, last) in
        [(0, 1, "s-00", "s-19"), (1, 1, "s-00", "s-19"), (2, 2, "s-20", "s-39"), (99, 3, "s-40", "s-44")]
    {
        let browser = BrowserSessionContext { session: Some(&cookie), address: None };
        let search = Some(PatientSearchQuery { text: "smith", page: asked });
        let found = world.server.authorize.search_patients(&world.env(), &page.transaction, search, browser).await;
        let found = patient_page(found);
        let search = found.search.unwrap();
        assert_eq!((search.total, search.is_cut, search.page, search.pages), (45, false, shown, 3));
        assert_eq!((search.first, &*found.candidates[0].id), ((shown - 1) * 20, first));
        assert_eq!(found.candidates.last().unwrap().id, last);
    }
}

#[tokio::test]
async fn staff_finds_the_patients_a_policy_lets_them_read() {
    let world = clinic().await;
    user(&world, "nurse", json!({"fhirUser": {"reference": "Practitioner/n"}}));
    world.memory.put_policy(
        "ward",
        json!({"engine": "matcho", "link": [{"reference": "User/nurse"}], "matcho": {
            "request-method": "get", "params": {"resource/id": {"$enum": ["p-ada"]}},
        }}),
    );
    let cookie = world.cookie_of("nurse").await;
    let page = patient_page(world.begin(&[], Some(&cookie)).await);
    let text = |page: &PatientSelectionPage| page.search.as_ref().map(|search| (search.text.clone(), search.total));
    assert_eq!((page.candidates.len(), text(&page)), (0, Some((String::new(), 0))));
    let browser = BrowserSessionContext { session: Some(&cookie), address: None };
    let search = Some(PatientSearchQuery { text: "love", page: 1 });
    let found = world.server.authorize.search_patients(&world.env(), &page.transaction, search, browser).await;
    let found = patient_page(found);
    let ids: Vec<_> = found.candidates.iter().map(|patient| patient.id.as_str()).collect();
    assert_eq!((ids, text(&found)), (vec!["p-ada"], Some(("love".to_owned(), 1))));
    assert_eq!(page_fault(world.pick(&page.transaction, "p-bob", &cookie).await), AuthorizationPageError::Patient);
    let asked = consent(world.pick(&page.transaction, "p-ada", &cookie).await);
    assert_eq!(asked.patient.unwrap().id, "p-ada");
}

#[tokio::test]
async fn an_app_that_needs_no_patient_gets_none() {
    let world = clinic().await;
    user(&world, "nurse", json!({"fhirUser": {"reference": "Practitioner/n"}}));
    let cookie = world.cookie_of("nurse").await;
    let page = consent(world.begin(&[("scope", "openid fhirUser user/Patient.rs")], Some(&cookie)).await);
    assert_eq!(page.patient, None);
    let departure = world.allow(&page, &["user/Patient.rs"], &cookie).await;
    let stored = world.authorization(&departure);
    assert_eq!((&stored["scope"], &stored["context"]), (&json!("openid user/Patient.rs"), &json!({})));
}

#[tokio::test]
async fn an_app_of_the_payer_itself_is_let_in_without_a_page() {
    let world = clinic().await;
    let mut client = app();
    client["first_party"] = json!(true);
    world.memory.put_resource("Client", "app", client);
    let cookie = world.cookie_of("ada").await;
    let Ok(NextPageOrRedirect::Leave(departure)) = world.begin(&[("prompt", "none")], Some(&cookie)).await else {
        panic!("nobody is asked");
    };
    assert_eq!(world.authorization(&departure)["scope"], crate::people::SCOPE);
    assert_eq!(world.memory.lock_rows().grants.len(), 1);
}

/// Gives `app` an implicit grant with an address of its own.
fn with_implicit(world: &crate::world::World) {
    let mut client = app();
    client["grant_types"] = json!(["code", "implicit"]);
    client["auth"]["implicit"] = json!({"redirect_uri": IMPLICIT, "token_format": "jwt"});
    world.memory.put_resource("Client", "app", client);
}

const IMPLICIT: &str = "https://app.example/implicit";
const TOKEN: [(&str, &str); 3] = [("response_type", "token"), ("redirect_uri", IMPLICIT), ("code_challenge", "")];

/// The parameters in the fragment of an address.
fn fragment(location: &str) -> String {
    location.replacen(&format!("{IMPLICIT}#"), "https://fragment.example/?", 1)
}

#[tokio::test]
async fn a_token_goes_into_the_fragment_of_a_client_that_is_registered_for_it() {
    let world = clinic().await;
    with_implicit(&world);
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.begin(&TOKEN, Some(&cookie)).await);
    assert!(page.items.iter().all(|item| item.scope != "offline_access"), "no refresh token comes this way");
    let ticks: Vec<_> = page.items.iter().map(|item| item.scope.as_str()).collect();
    let departure = world.allow(&page, &ticks, &cookie).await;
    let answer = fragment(&departure.location);
    let told = |name| parameter(&answer, name);
    assert_eq!(told("scope").as_deref(), Some("launch/patient openid fhirUser patient/*.rs"));
    assert_eq!((told("token_type").as_deref(), told("expires_in").as_deref()), (Some("Bearer"), Some("3600")));
    assert_eq!((told("state").as_deref(), told("patient").as_deref()), (Some("st&te"), Some("p-ada")));
    assert_eq!((told("code"), told("refresh_token"), told("id_token")), (None, None, None));
    let claims = world.claims(&told("access_token").unwrap());
    assert_eq!((&claims["sub"], &claims["context"]["patient"]), (&json!("ada"), &json!("p-ada")));
    let members = world.memory.lock_rows();
    let family = &members.families[claims["sid"].as_str().unwrap()].family;
    assert_eq!(family.grant_id.as_ref(), Some(&members.grants[0].id));
    assert!(members.codes.values().all(|row| row.code.expires_s <= NOW_S), "the code is nobody's");
}

#[tokio::test]
async fn a_refusal_of_a_token_goes_into_the_fragment_too() {
    let world = clinic().await;
    with_implicit(&world);
    let mut changes = TOKEN.to_vec();
    changes.push(("scope", ""));
    let Err(AuthorizationRequestError::Redirect { departure, .. }) = world.begin(&changes, None).await else {
        panic!("the app should be refused");
    };
    assert_eq!(parameter(&fragment(&departure.location), "error").as_deref(), Some("invalid_request"));
    // The address of codes is not that of tokens.
    let codes = [("response_type", "token"), ("redirect_uri", CALLBACK)];
    assert_eq!(page_fault(world.begin(&codes, None).await), AuthorizationPageError::RedirectUri);
}

#[tokio::test]
async fn a_client_that_does_not_list_implicit_gets_no_token() {
    let world = clinic().await;
    let Err(AuthorizationRequestError::Redirect { departure, cause }) =
        world.begin(&[("response_type", "token")], None).await
    else {
        panic!("the app should be refused");
    };
    assert_eq!(cause.error_code(), "unauthorized_client");
    assert!(departure.location.starts_with(&format!("{CALLBACK}#error=unauthorized_client&")));
}
