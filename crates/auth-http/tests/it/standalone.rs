//! From the link in an app to the member's record, and back to nothing.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::members::{CALLBACK, VERIFIER, request, request_with};
use crate::world::{Answer, BASE, SECRET, World, claims, on_every_engine};

const SCOPE: &str = "launch/patient openid fhirUser patient/Patient.rs patient/AllergyIntolerance.rs patient/Immunization.rs offline_access";

/// What a public app does with a code.
async fn redeem(world: &World, code: &str) -> Answer {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("client_id", "diary"),
        ("code_verifier", VERIFIER),
    ];
    world.post("/auth/token").header("origin", "https://diary.example").form(&form).send().await
}

async fn refresh(world: &World, token: &Value) -> Answer {
    let token = token.as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", "diary")];
    world.post("/auth/token").form(&form).send().await
}

async fn read(world: &World, path: &str, tokens: &Answer) -> Answer {
    world.get(path).bearer(tokens.body["access_token"].as_str().unwrap()).send().await
}

/// A member with an allergy, another member, and the app.
async fn prepare(world: &World) {
    world.member("amy", ("Amy", "Shaw")).await;
    world.member("bob", ("Bob", "Ross")).await;
    world.put("/AllergyIntolerance/nuts", &json!({"patient": {"reference": "Patient/amy"}})).await;
    world.public_app("diary").await;
    let policy = json!({"engine": "allow", "link": [{"reference": "Client/diary"}]});
    world.put("/AccessPolicy/diary", &policy).await;
}

#[tokio::test]
async fn an_app_that_was_let_in_reads_that_record_until_the_member_takes_it_back() {
    on_every_engine(async |world| {
        prepare(world).await;
        let browser = Browser::new(world);
        let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
        let code = browser.allow(&consent).await.told("code").unwrap();
        let tokens = redeem(world, &code).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
        assert_eq!(tokens.header("access-control-allow-origin"), "https://diary.example");
        assert_eq!(tokens.body["patient"], "amy");
        assert_eq!(tokens.body["scope"], SCOPE);
        assert_eq!(claims(tokens.body["access_token"].as_str().unwrap())["context"]["patient"], "amy");
        assert_eq!(claims(tokens.body["id_token"].as_str().unwrap())["fhirUser"], format!("{BASE}/fhir/Patient/amy"));

        assert_eq!(read(world, "/fhir/Patient/amy", &tokens).await.status, 200);
        assert_eq!(read(world, "/fhir/AllergyIntolerance/nuts", &tokens).await.status, 200);
        assert_eq!(read(world, "/fhir/Patient/bob", &tokens).await.status, 404);
        let renewed = refresh(world, &tokens.body["refresh_token"]).await;
        assert_eq!(renewed.status, 200, "{renewed:?}");

        let apps = browser.open("/auth/apps").await;
        assert!(!apps.html().contains("<dd>never</dd>"), "it was used");
        browser.submit(&apps.form("/auth/apps/revoke")).await;
        for access in [&tokens, &renewed] {
            let refused = read(world, "/fhir/Patient/amy", access).await;
            assert_eq!(refused.status, 401);
            assert!(refused.header("www-authenticate").contains("invalid_token"));
        }
        for token in [&tokens.body["refresh_token"], &renewed.body["refresh_token"]] {
            assert_eq!(refresh(world, token).await.oauth_error(), (400, "invalid_grant"));
        }
    })
    .await;
}

#[tokio::test]
async fn what_the_member_unticked_is_neither_in_the_scope_nor_readable() {
    let world = World::new().await;
    prepare(&world).await;
    let browser = Browser::new(&world);
    let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
    let form = consent.form("/auth/grant").tick_only("scope", &["fhirUser", "patient/Patient.rs"]);
    let code = browser.submit(&form.choose("decision", "allow")).await.told("code").unwrap();
    let tokens = redeem(&world, &code).await;
    assert_eq!(tokens.body["scope"], "launch/patient openid fhirUser patient/Patient.rs");
    assert_eq!(tokens.body.get("refresh_token"), None);
    assert_eq!(read(&world, "/fhir/Patient/amy", &tokens).await.status, 200);
    let refused = read(&world, "/fhir/AllergyIntolerance/nuts", &tokens).await;
    assert_eq!(refused.outcome(), (403, "forbidden"));
    assert!(refused.header("www-authenticate").contains("insufficient_scope"));
    world.end().await;
}

#[tokio::test]
async fn a_confidential_app_redeems_its_code_with_its_secret() {
    let world = World::new().await;
    prepare(&world).await;
    let auth =
        json!({"authorization_code": {"redirect_uri": CALLBACK, "secret_required": true, "token_format": "jwt"}});
    world.public_app_with("diary", &json!({"secret": SECRET, "auth": auth})).await;
    let browser = Browser::new(&world);
    let plain = [("code_challenge", ""), ("code_challenge_method", "")];
    let consent = browser.open_as("amy", &request_with("diary", SCOPE, &plain)).await;
    let code = browser.allow(&consent).await.told("code").unwrap();
    let form = [("grant_type", "authorization_code"), ("code", &code), ("redirect_uri", CALLBACK)];
    let wrong = world.post("/auth/token").basic("diary", "wrong").form(&form).send().await;
    assert_eq!(wrong.oauth_error(), (400, "invalid_client"));
    let tokens = world.post("/auth/token").basic("diary", SECRET).form(&form).send().await;
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert_eq!(read(&world, "/fhir/Patient/amy", &tokens).await.status, 200);
    world.end().await;
}
