//! Scopes that are limited by a search: any parameter of R4, on whatever touches a resource.

use serde_json::{Value, json};

use crate::world::{World, on_every_engine};

fn observation(code: &str, status: &str, patient: &str) -> Value {
    json!({
        "resourceType": "Observation",
        "status": status,
        "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
        "subject": {"reference": format!("Patient/{patient}")},
    })
}

async fn populate(world: &World) {
    world.app().await;
    for (id, code, status, patient) in [
        ("mine", "718-7", "final", "me"),
        ("draft", "718-7", "preliminary", "me"),
        ("other-code", "2345-7", "final", "me"),
        ("yours", "718-7", "final", "you"),
    ] {
        world.put(&format!("/Observation/{id}"), &observation(code, status, patient)).await;
    }
}

async fn readable(world: &World, token: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for id in ["mine", "draft", "other-code", "yours"] {
        let answer = world.get(&format!("/fhir/Observation/{id}")).bearer(token).send().await;
        let history = world.get(&format!("/fhir/Observation/{id}/_history")).bearer(token).send().await;
        assert_eq!(answer.status, history.status, "{id}");
        match answer.status.as_u16() {
            200 => found.push(id),
            _ => assert_eq!(answer.outcome(), (404, "not-found"), "{id}"),
        }
    }
    found
}

#[tokio::test]
async fn a_scope_is_limited_by_any_search_and_several_are_a_union() {
    on_every_engine(async |world| {
        populate(world).await;
        for (scope, expected) in [
            ("patient/Observation.rs?code=http://loinc.org|718-7", vec!["mine", "draft"]),
            ("patient/Observation.rs?code=718-7&status=final", vec!["mine"]),
            (
                "patient/Observation.rs?code=2345-7 patient/Observation.rs?status=preliminary",
                vec!["draft", "other-code"],
            ),
            ("patient/Observation.rs?status:not=final", vec!["draft"]),
            ("user/Observation.rs?code=718-7&status=final", vec!["mine", "yours"]),
            ("patient/Observation.rs?status=final patient/Observation.r", vec!["mine", "draft", "other-code"]),
        ] {
            let token = world.mint(Some("ada"), Some("me"), scope);
            assert_eq!(readable(world, &token).await, expected, "{scope}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_scope_whose_search_cannot_be_decided_opens_nothing() {
    let world = World::new().await;
    populate(&world).await;
    for query in
        ["subject:Patient.name=x", "code:in=http://example.org/vs", "_lastUpdated=ge2020", "no-such=x", "date=soon"]
    {
        let token = world.mint(Some("ada"), Some("me"), &format!("patient/Observation.rs?{query}"));
        let refused = world.get("/fhir/Observation/mine").bearer(&token).send().await;
        assert_eq!(refused.outcome().0, 403, "{query}");
        assert!(refused.header("www-authenticate").contains("insufficient_scope"), "{refused:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_scope_may_name_an_installed_parameter_and_is_refused_by_name_without_it() {
    on_every_engine(async |world| {
        populate(world).await;
        for (id, nickname) in [("me", "Bo"), ("you", "Al")] {
            world.put(&format!("/Patient/{id}"), &json!({"resourceType": "Patient", "nickname": nickname})).await;
        }
        let token = world.mint(Some("ada"), None, "user/Patient.rs?nickname=bo");
        let get = async |path: &str| world.get(&format!("/fhir/{path}")).bearer(&token).send().await;
        for path in ["Patient/me", "Patient/you", "Patient", "Patient/_history", "Patient/me/$everything"] {
            let refused = get(path).await;
            assert_eq!(refused.outcome().0, 403, "{path}");
            assert!(refused.text.contains("nickname"), "{refused:?}");
        }
        let definition = json!({
            "url": "http://payer.example/SearchParameter/nickname", "name": "nickname", "status": "active",
            "code": "nickname", "base": ["Patient"], "type": "string", "expression": "Patient.nickname",
        });
        world.put("/SearchParameter/nickname", &definition).await;
        world.db().rebuild_search_index().await.unwrap();
        assert_eq!(get("Patient/me").await.status, 200);
        assert_eq!(get("Patient/you").await.outcome(), (404, "not-found"));
        let found = get("Patient").await;
        assert_eq!((&found.body["total"], &found.body["entry"][0]["resource"]["id"]), (&json!(1), &json!("me")));
        let history = get("Patient/_history").await;
        assert_eq!(history.body["entry"].as_array().unwrap().len(), 1, "{history:?}");
        assert_eq!(world.call("DELETE", "/SearchParameter/nickname").by_root().send().await.status, 200);
        assert_eq!(get("Patient/me").await.outcome().0, 403, "a parameter that is gone opens nothing");
    })
    .await;
}

#[tokio::test]
async fn a_type_history_shows_the_versions_that_meet_the_scope() {
    on_every_engine(async |world| {
        populate(world).await;
        world.put("/Observation/draft", &observation("718-7", "final", "me")).await;
        let token = world.mint(Some("ada"), Some("me"), "patient/Observation.rs?status=preliminary");
        let answer = world.get("/fhir/Observation/_history").bearer(&token).send().await;
        let entries = answer.body["entry"].as_array().unwrap();
        assert_eq!(entries.len(), 1, "{answer:?}");
        assert_eq!(entries[0]["resource"]["status"], "preliminary", "the version before, which was one");
        let now = world.get("/fhir/Observation/draft").bearer(&token).send().await;
        assert_eq!(now.outcome(), (404, "not-found"));
    })
    .await;
}

#[tokio::test]
async fn what_comes_with_a_page_meets_the_scope_as_well() {
    on_every_engine(async |world| {
        world.app().await;
        let result = |category: &str, member: &str| {
            json!({
                "resourceType": "Observation", "status": "final", "code": {"text": "t"},
                "category": [{"coding": [{"code": category}]}],
                "hasMember": [{"reference": format!("Observation/{member}")}],
            })
        };
        world.put("/Observation/lab", &result("laboratory", "vital")).await;
        world.put("/Observation/vital", &result("vital-signs", "lab")).await;
        for scope in ["user/Observation.rs?category=laboratory", "user/Observation.rs?category:not=vital-signs"] {
            let token = world.mint(Some("ada"), Some("me"), scope);
            for include in
                ["_include=*", "_include:iterate=Observation:has-member", "_revinclude=Observation:has-member"]
            {
                let found = world.get(&format!("/fhir/Observation?{include}")).bearer(&token).send().await;
                let entries = found.body["entry"].as_array().unwrap();
                let ids: Vec<_> = entries.iter().map(|entry| &entry["resource"]["id"]).collect();
                assert_eq!(ids, ["lab"], "{scope} {include}");
            }
        }
    })
    .await;
}
