//! The EHR launch.

use oauth_core::authorization_endpoint::{AuthorizationRedirectError, ConsentDecision};
use oauth_core::launch::{EhrLaunchRequester, LaunchContextError, LaunchUriError, LaunchUriResponse};
use serde_json::{Value, json};

use crate::people::{app, clinic, consent, leave, refusal, sign_in_page, user};
use crate::world::{NOW_S, World};

const SCOPE: &str = "launch openid fhirUser patient/*.rs";

fn params() -> Value {
    json!({
        "client": "app", "user": "ada", "iss": "https://payer.example/fhir",
        "ctx": {"patient": "p-ada", "encounter": "e-1", "intent": "reconcile", "need_patient_banner": false},
    })
}

async fn launch(world: &World, params: &Value) -> Result<LaunchUriResponse, LaunchUriError> {
    world.server.launches.get_launch_uri(&world.env(), EhrLaunchRequester::default(), params).await
}

#[tokio::test]
async fn a_launch_address_names_the_server_and_the_context() {
    let world = clinic().await;
    let made = launch(&world, &params()).await.unwrap();
    let expected = format!("https://app.example/launch?iss=https%3A%2F%2Fpayer.example%2Ffhir&launch={}", made.launch);
    assert_eq!(made.uri, expected);
    assert_eq!(made.launch_uri, "https://app.example/launch");
    let written = serde_json::to_value(&made).unwrap();
    let keys: Vec<_> = written.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["uri", "launch", "iss", "launch-uri"]);
    let claims = made.launch.split('.').nth(1).and_then(oauth_core::jose::decode_base64url).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(
        (&claims["client"], &claims["user"], &claims["exp"]),
        (&json!("app"), &json!("ada"), &json!(NOW_S + 300))
    );
    assert_eq!(claims["ctx"], params()["ctx"]);
}

#[tokio::test]
async fn a_launch_that_would_fail_is_refused_at_once() {
    let world = clinic().await;
    user(&world, "gone", json!({"active": false}));
    let mut plain = app();
    plain["smart"] = json!({});
    world.memory.put_resource("Client", "plain", plain);
    let mut asleep = app();
    asleep["active"] = json!(false);
    world.memory.put_resource("Client", "asleep", asleep);
    for (member, value, said) in [
        ("client", json!("nobody"), "client"),
        ("client", json!("asleep"), "client"),
        ("client", json!(null), "client"),
        ("client", json!("plain"), "smart.launch_uri"),
        ("user", json!("nobody"), "user"),
        ("user", json!("gone"), "user"),
        ("iss", json!("https://other.example/fhir"), "iss"),
        ("iss", json!(5), "iss"),
        ("ctx", json!("p-ada"), "ctx"),
        ("ctx", json!({"patient": "nobody"}), "ctx.patient"),
        ("ctx", json!({"patient": ["p-ada"]}), "ctx.patient"),
        ("ctx", json!({"patient": "p-ada", "x": "x".repeat(5_000)}), "ctx"),
        ("ctx", json!({"tenant": ""}), "ctx.tenant"),
        ("ctx", json!({"tenant": 5}), "ctx.tenant"),
        ("ctx", json!({"smart_style_url": "javascript:alert(1)"}), "ctx.smart_style_url"),
        ("ctx", json!({"need_patient_banner": "false"}), "ctx.need_patient_banner"),
    ] {
        let mut params = params();
        params[member] = value.clone();
        let fault = launch(&world, &params).await.unwrap_err();
        assert!(fault.to_string().contains(said), "{member} {value}: {fault}");
    }
}

#[tokio::test]
async fn a_further_context_is_taken_only_as_it_is_described() {
    let world = clinic().await;
    let with = |entry: Value| {
        let mut params = params();
        params["ctx"]["fhirContext"] = json!([{"reference": "ImagingStudy/1"}, entry]);
        params
    };
    for good in [
        json!({"reference": "ImagingStudy/1", "type": "ImagingStudy", "role": "launch"}),
        json!({"canonical": "http://hl7.org/fhir/Questionnaire/1|2"}),
        json!({"identifier": {"system": "urn:x", "value": "1"}, "of": "ours"}),
        json!({"reference": "Patient/p-bob", "role": "https://payer.example/roles/twin"}),
    ] {
        assert!(launch(&world, &with(good.clone())).await.is_ok(), "{good}");
    }
    for bad in [
        json!("ImagingStudy/1"),
        json!({}),
        json!({"role": "launch"}),
        json!({"reference": "https://other.example/fhir/ImagingStudy/1"}),
        json!({"reference": "ImagingStudy"}),
        json!({"reference": 7}),
        json!({"canonical": "Questionnaire/1"}),
        json!({"identifier": "1"}),
        json!({"reference": "ImagingStudy/1", "role": ""}),
        json!({"reference": "ImagingStudy/1", "type": 5}),
        json!({"reference": "Patient/p-ada"}),
        json!({"reference": "Encounter/e-1", "role": "launch"}),
    ] {
        let fault = launch(&world, &with(bad.clone())).await.unwrap_err();
        assert!(fault.to_string().contains("ctx.fhirContext"), "{bad}: {fault}");
    }
    let mut no_list = params();
    no_list["ctx"]["fhirContext"] = json!({"reference": "ImagingStudy/1"});
    assert!(launch(&world, &no_list).await.is_err());
}

#[tokio::test]
async fn a_launch_gives_its_context_to_its_user_and_once() {
    let world = clinic().await;
    let made = launch(&world, &params()).await.unwrap();
    let changes = [("scope", SCOPE), ("launch", made.launch.as_str())];
    let page = sign_in_page(world.begin(&changes, None).await);
    assert_eq!(page.login_hint, None, "whoever has the address does not learn whose launch it is");
    let cookie = world.cookie_of("ada").await;
    let page = consent(world.resume(&page.transaction, Some(&cookie)).await);
    let departure = world.allow(&page, &["patient/*.rs"], &cookie).await;
    let context = json!({"patient": "p-ada", "encounter": "e-1", "need_patient_banner": false, "intent": "reconcile"});
    assert_eq!(world.authorization(&departure)["context"], context);
    let allow = ConsentDecision::Allow { scopes: vec!["patient/*.rs".to_owned()] };
    let (error, cause) = refusal(world.decide(&page.transaction, allow, &cookie).await);
    assert_eq!((error.as_str(), world.codes()), ("invalid_request", 1));
    assert!(matches!(cause, AuthorizationRedirectError::Launch(LaunchContextError::Used)));
    // The session of the user is honoured: no page at all for the next launch.
    let again = launch(&world, &params()).await.unwrap();
    leave(world.begin(&[("scope", SCOPE), ("launch", &again.launch)], Some(&cookie)).await);
}

#[tokio::test]
async fn a_launch_is_good_for_its_time_its_client_and_this_server() {
    let mut world = clinic().await;
    world.memory.put_resource("Client", "other", app());
    let made = launch(&world, &params()).await.unwrap();
    let begin = |client: &'static str, jwt: String| {
        let world = &world;
        async move { world.begin(&[("client_id", client), ("scope", SCOPE), ("launch", jwt.as_str())], None).await }
    };
    let damaged = format!("{}x", made.launch);
    let token = world
        .server
        .issuer
        .sign_jwt(&world.env(), oauth_core::jose::SigningAlg::ES256, &json!({"sub": "ada"}))
        .unwrap();
    for (client, jwt) in [("other", made.launch.clone()), ("app", damaged), ("app", token), ("app", "p-ada".to_owned())]
    {
        assert_eq!(refusal(begin(client, jwt).await).0, "invalid_request");
    }
    world.now_s += 299;
    let page = sign_in_page(world.begin(&[("scope", SCOPE), ("launch", &made.launch)], None).await);
    world.now_s += 1;
    let (error, cause) = refusal(world.begin(&[("scope", SCOPE), ("launch", &made.launch)], None).await);
    assert_eq!(error, "invalid_request");
    assert!(matches!(cause, AuthorizationRedirectError::Launch(LaunchContextError::Expired)));
    // Who came in time may take its time to sign in.
    let cookie = world.cookie_of("ada").await;
    consent(world.resume(&page.transaction, Some(&cookie)).await);
}

#[tokio::test]
async fn a_launch_is_not_for_whoever_else_is_signed_in() {
    let world = clinic().await;
    user(&world, "bob", json!({"fhirUser": {"reference": "Patient/p-bob"}}));
    let made = launch(&world, &params()).await.unwrap();
    let bob = world.cookie_of("bob").await;
    let page = sign_in_page(world.begin(&[("scope", SCOPE), ("launch", &made.launch)], Some(&bob)).await);
    sign_in_page(world.resume(&page.transaction, Some(&bob)).await);
    let bob_again = world.cookie_of("bob").await;
    let (error, cause) = refusal(world.resume(&page.transaction, Some(&bob_again)).await);
    assert_eq!(error, "access_denied");
    assert!(matches!(cause, AuthorizationRedirectError::OtherUser));
}

#[tokio::test]
async fn a_launch_opens_to_a_member_no_record_but_the_own_and_to_staff_the_one_in_context() {
    let world = clinic().await;
    let mut stranger = params();
    stranger["ctx"] = json!({"patient": "p-eve"});
    let made = launch(&world, &stranger).await.unwrap();
    let cookie = world.cookie_of("ada").await;
    let (error, cause) = refusal(world.begin(&[("scope", SCOPE), ("launch", &made.launch)], Some(&cookie)).await);
    assert_eq!(error, "access_denied");
    assert!(matches!(cause, AuthorizationRedirectError::NoPatient));
    user(&world, "nurse", json!({"fhirUser": {"reference": "Practitioner/n"}}));
    stranger["user"] = json!("nurse");
    let made = launch(&world, &stranger).await.unwrap();
    let cookie = world.cookie_of("nurse").await;
    let page = consent(world.begin(&[("scope", SCOPE), ("launch", &made.launch)], Some(&cookie)).await);
    assert_eq!(page.patient.unwrap().id, "p-eve");
}
