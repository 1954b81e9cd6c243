//! `/auth/token` and what comes of it.

use serde_json::json;

use crate::world::{Choice, NOW_S, Partner, SECRET, World, assertion_form, claims, on_every_engine};

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

async fn register_organization(world: &World) {
    let organization = json!({
        "resourceType": "Organization", "id": "payer", "name": "Good Payer",
        "identifier": [{"system": NPI, "value": "1245319599"}],
    });
    let answer = world.call("PUT", "/fhir/Organization/payer").by_root().fhir(&organization).send().await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[tokio::test]
async fn a_partner_gets_a_token_that_names_its_organization() {
    on_every_engine(async |world| {
        let partner = Partner::new();
        register_organization(world).await;
        world.put("/Client/partner", &partner.client("Organization/payer")).await;

        let assertion = partner.assertion("partner", "jti-1", NOW_S);
        let answer = world.post("/auth/token").form(&assertion_form(&assertion)).send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("pragma"), "no-cache");
        assert_eq!(answer.body["token_type"], "Bearer");
        assert_eq!(answer.body["expires_in"], 300);
        assert_eq!(answer.body["scope"], "system/*.read");
        assert_eq!(answer.body.get("b2b"), None);

        let claims = claims(answer.body["access_token"].as_str().unwrap());
        assert_eq!(claims["sub"], "partner");
        let expected = json!({
            "version": "1",
            "organization_id": format!("{NPI}#1245319599"),
            "organization_name": "Good Payer",
            "purpose_of_use": ["http://terminology.hl7.org/CodeSystem/v3-ActReason#HPAYMT"],
        });
        assert_eq!(claims["extensions"]["hl7-b2b"], expected);

        let again = world.post("/auth/token").form(&assertion_form(&assertion)).send().await;
        assert_eq!(again.oauth_error(), (400, "invalid_client"));
    })
    .await;
}

#[tokio::test]
async fn a_client_written_through_fhir_loses_its_claim_while_the_setting_is_on() {
    for (correct_format, carries_claim) in [(true, false), (false, true)] {
        let world = World::with(Choice { correct_format, ..Choice::default() }).await;
        let partner = Partner::new();
        register_organization(&world).await;
        let mut client = partner.client("Organization/payer");
        client["id"] = json!("partner");
        let written = world.call("PUT", "/fhir/Client/partner").by_root().fhir(&client).send().await;
        assert_eq!(written.status, 201, "{written:?}");

        let assertion = partner.assertion("partner", "jti-1", NOW_S);
        let answer = world.post("/auth/token").form(&assertion_form(&assertion)).send().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let claims = claims(answer.body["access_token"].as_str().unwrap());
        assert_eq!(claims.pointer("/extensions/hl7-b2b").is_some(), carries_claim, "{claims}");

        let diagnosis = world.get("/Client/partner/$b2b-claim").by_root().send().await;
        assert_eq!(diagnosis.status, 200);
        assert_eq!(diagnosis.body["embedded"], carries_claim, "{diagnosis:?}");

        let read = world.get("/fhir/Client/partner").by_root().send().await.body;
        assert_eq!(read["extension"], client["extension"], "what was written in FHIR is read in FHIR");
        let native = world.get("/Client/partner").by_root().send().await.body;
        assert_eq!(native["extension"] == client["extension"], carries_claim, "{native}");
        world.end().await;
    }
}

#[tokio::test]
async fn a_diagnosis_is_for_whoever_may_read_the_client() {
    let world = World::new().await;
    assert_eq!(world.get("/Client/x/$b2b-claim").send().await.outcome(), (401, "login"));
    assert_eq!(world.get("/Client/x/$b2b-claim").by_root().send().await.outcome(), (404, "not-found"));
    world.end().await;
}

#[tokio::test]
async fn a_secret_is_taken_from_the_form_and_from_the_header() {
    let world = World::new().await;
    let client = json!({"grant_types": ["client_credentials"], "secret": SECRET});
    world.put("/Client/service", &client).await;
    let grant = ("grant_type", "client_credentials");
    let form = [grant, ("client_id", "service"), ("client_secret", SECRET)];
    let answer = world.post("/auth/token").form(&form).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["need_patient_banner"], true);
    let answer = world.post("/auth/token").basic("service", SECRET).form(&[grant]).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    world.end().await;
}

#[tokio::test]
async fn unknown_client_wrong_secret_and_inactive_client_are_told_nothing_apart() {
    let world = World::new().await;
    let client = json!({"grant_types": ["client_credentials"], "secret": SECRET});
    world.put("/Client/service", &client).await;
    let inactive = json!({"grant_types": ["client_credentials"], "secret": SECRET, "active": false});
    world.put("/Client/inactive", &inactive).await;
    let mut bodies = Vec::new();
    for (id, secret) in [("nobody", SECRET), ("service", "wrong"), ("inactive", SECRET)] {
        let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
        let answer = world.post("/auth/token").form(&form).send().await;
        assert_eq!(answer.oauth_error(), (400, "invalid_client"), "{id}");
        assert_eq!(answer.header("www-authenticate"), "", "{id}: nobody tried the header");
        bodies.push(answer.body);
    }
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(bodies[0], bodies[2]);
    world.end().await;
}

#[tokio::test]
async fn invalid_client_in_the_header_is_challenged_and_still_400() {
    let world = World::new().await;
    let answer =
        world.post("/auth/token").basic("nobody", "x").form(&[("grant_type", "client_credentials")]).send().await;
    assert_eq!(answer.oauth_error(), (400, "invalid_client"));
    assert!(answer.header("www-authenticate").starts_with("Basic realm="), "{answer:?}");
    world.end().await;
}

#[tokio::test]
async fn every_error_of_the_token_endpoint_has_its_code() {
    let world = World::new().await;
    let client = json!({"grant_types": ["client_credentials"], "secret": SECRET, "scope": ["system/Patient.rs"]});
    world.put("/Client/service", &client).await;
    let basic_only = json!({"grant_types": ["basic"], "secret": SECRET});
    world.put("/Client/basic-only", &basic_only).await;
    let who = [("client_id", "service"), ("client_secret", SECRET)];
    let cc = ("grant_type", "client_credentials");
    let cases: [(&[(&str, &str)], &str); 10] = [
        (&[], "invalid_request"),
        (&[("grant_type", "")], "invalid_request"),
        (&[cc, cc, who[0], who[1]], "invalid_request"),
        (&[("grant_type", "not_a_grant_type"), who[0], who[1]], "unsupported_grant_type"),
        (&[cc, ("client_id", "basic-only"), who[1]], "unauthorized_client"),
        (&[cc, who[0], who[1], ("scope", "system/Observation.rs")], "invalid_scope"),
        (&[cc, who[0], who[1], ("scope", "patient/Patient.rs")], "invalid_scope"),
        (&[cc, who[0], who[1], ("scope", "system/Patient.xyz")], "invalid_scope"),
        (&[cc, ("client_assertion", "x"), ("client_assertion_type", "not_an_assertion_type")], "invalid_request"),
        (&[cc], "invalid_client"),
    ];
    for (form, error) in cases {
        let answer = world.post("/auth/token").form(form).send().await;
        assert_eq!(answer.oauth_error(), (400, error), "{form:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn the_token_endpoint_takes_forms_only() {
    let world = World::new().await;
    for call in [
        world.post("/auth/token").json(&json!({"grant_type": "client_credentials"})),
        world.post("/auth/token").text("text/plain", "grant_type=client_credentials"),
        world.post("/auth/token"),
    ] {
        assert_eq!(call.send().await.oauth_error(), (400, "invalid_request"));
    }
    world.end().await;
}

#[tokio::test]
async fn the_token_endpoint_takes_post_only() {
    let world = World::new().await;
    for method in ["GET", "PUT", "DELETE"] {
        let answer = world.call(method, "/auth/token").send().await;
        assert_eq!(answer.oauth_error().0, 405, "{method}");
        assert_eq!(answer.header("allow"), "POST", "{method}");
    }
    world.end().await;
}

#[tokio::test]
async fn an_unknown_auth_address_is_404_in_the_oauth_form() {
    let world = World::new().await;
    for path in ["/auth", "/auth/nowhere", "/auth/token/more", "/auth/a/b/c"] {
        assert_eq!(world.get(path).send().await.oauth_error().0, 404, "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_client_deactivated_a_moment_ago_gets_no_token() {
    let world = World::new().await;
    let mut client = json!({"grant_types": ["client_credentials"], "secret": SECRET});
    world.put("/Client/service", &client).await;
    let form = [("grant_type", "client_credentials"), ("client_id", "service"), ("client_secret", SECRET)];
    assert_eq!(world.post("/auth/token").form(&form).send().await.status, 200);
    client["active"] = json!(false);
    world.put("/Client/service", &client).await;
    let answer = world.post("/auth/token").form(&form).send().await;
    assert_eq!(answer.oauth_error(), (400, "invalid_client"));
    world.end().await;
}
