//! A patient's record: `$everything`, and searches of a type in the patient's compartment, page by page, as far as the
//! caller may see it.

use serde_json::{Value, json};

use crate::world::{BASE, World, on_every_engine};

async fn populate(world: &World) {
    world.app().await;
    let subject = |patient: &str| json!({"reference": format!("Patient/{patient}")});
    for patient in ["me", "you"] {
        world.put(&format!("/Patient/{patient}"), &json!({"resourceType": "Patient"})).await;
        for number in 0..4 {
            let body = json!({"resourceType": "Observation", "subject": subject(patient),
                "status": if number % 2 == 0 { "final" } else { "preliminary" }});
            world.put(&format!("/Observation/{patient}-{number}"), &body).await;
        }
        world.wait_s(1);
        let body = json!({"resourceType": "Condition", "subject": subject(patient)});
        world.put(&format!("/Condition/{patient}-c"), &body).await;
        world
            .put(
                &format!("/Coverage/{patient}-v"),
                &json!({"resourceType": "Coverage", "beneficiary": subject(patient)}),
            )
            .await;
    }
    world.put("/Practitioner/doctor", &json!({"resourceType": "Practitioner"})).await;
}

/// Every entry of every page, as `Type/id`; `None` names the administrator.
async fn everything(world: &World, token: Option<&str>, query: &str) -> Vec<String> {
    let mut next = Some(format!("/fhir/Patient/me/$everything{query}"));
    let mut found = Vec::new();
    while let Some(path) = next {
        let call = world.get(&path);
        let call = match token {
            Some(token) => call.bearer(token),
            None => call.by_root(),
        };
        let page = call.send().await;
        assert_eq!((page.status.as_u16(), &page.body["type"]), (200, &json!("searchset")), "{page:?}");
        let entries = page.body["entry"].as_array().unwrap();
        if query.contains("_count=2") {
            assert!(entries.len() <= 2, "{entries:?}");
        }
        let url = |entry: &Value| {
            entry["fullUrl"].as_str().unwrap().strip_prefix(&format!("{BASE}/fhir/")).unwrap().to_owned()
        };
        found.extend(entries.iter().map(url));
        let links = page.body["link"].as_array().unwrap().iter();
        let link = links.clone().find(|link| link["relation"] == "next");
        next = link.map(|link| link["url"].as_str().unwrap().strip_prefix(BASE).unwrap().to_owned());
    }
    found
}

const ALL: [&str; 7] = [
    "Patient/me",
    "Condition/me-c",
    "Coverage/me-v",
    "Observation/me-0",
    "Observation/me-1",
    "Observation/me-2",
    "Observation/me-3",
];

#[tokio::test]
async fn everything_is_the_patient_and_the_compartment_in_pages_of_any_size() {
    on_every_engine(async |world| {
        populate(world).await;
        for query in ["", "?_count=1", "?_count=2", "?_count=3", "?_count=7"] {
            assert_eq!(everything(world, None, query).await, ALL, "{query}");
        }
        assert_eq!(everything(world, None, "?_type=Observation,Patient&_count=2").await.len(), 5);
        assert_eq!(everything(world, None, "?_since=2026-01-01T00:00:01Z").await, ["Condition/me-c", "Coverage/me-v"]);
        for refused in [
            "start=2026-01-01",
            "_count=x",
            "_cursor=1",
            "_cursor=1-0",
            "_cursor=Practitioner-",
            "_cursor=Observation-zz",
            "name=x",
        ] {
            let answer = world.get(&format!("/fhir/Patient/me/$everything?{refused}")).by_root().send().await;
            assert_eq!(answer.outcome().0, 400, "{refused}");
        }
        let nobody = world.get("/fhir/Patient/nobody/$everything").by_root().send().await;
        assert_eq!(nobody.outcome(), (404, "not-found"));
    })
    .await;
}

#[tokio::test]
async fn everything_is_asked_for_by_post_with_parameters_or_none() {
    on_every_engine(async |world| {
        populate(world).await;
        let ask = |body: Option<Value>| {
            let call = world.call("POST", "/fhir/Patient/me/$everything").by_root();
            match body {
                Some(body) => call.fhir(&body),
                None => call,
            }
        };
        let ids = |page: &Value| {
            let entries = page["entry"].as_array().unwrap().iter();
            entries.map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let parameters = |sent: Value| json!({"resourceType": "Parameters", "parameter": sent});
        for nothing in [None, Some(json!({"resourceType": "Parameters"})), Some(parameters(json!([])))] {
            let answer = ask(nothing).send().await;
            assert_eq!((answer.status.as_u16(), ids(&answer.body).len()), (200, ALL.len()), "{answer:?}");
        }
        let some = json!([{"name": "_type", "valueCode": "Observation"}, {"name": "_count", "valueInteger": 3}]);
        let first = ask(Some(parameters(some))).send().await;
        assert_eq!(ids(&first.body), ["me-0", "me-1", "me-2"]);
        // What was asked for stands in the address of the next page, which is read as it is.
        let next = first.body["link"][1]["url"].as_str().unwrap().strip_prefix(BASE).unwrap();
        assert_eq!(ids(&world.get(next).by_root().send().await.body), ["me-3"]);
        for refused in [
            json!({"resourceType": "Patient"}),
            parameters(json!({"name": "_count"})),
            parameters(json!([{"valueInteger": 3}])),
            parameters(json!([{"name": "_count"}])),
            parameters(json!([{"name": "_count", "valueInteger": 3, "valueString": "3"}])),
            parameters(json!([{"name": "_since", "valuePeriod": {"start": "2026"}}])),
        ] {
            let answer = ask(Some(refused.clone())).send().await;
            assert_eq!(answer.outcome(), (400, "structure"), "{refused}");
        }
        let unknown = ask(Some(parameters(json!([{"name": "start", "valueDate": "2026-01-01"}])))).send().await;
        assert_eq!(unknown.outcome().0, 400, "{unknown:?}");
    })
    .await;
}

#[tokio::test]
async fn what_is_written_between_two_pages_moves_neither() {
    on_every_engine(async |world| {
        populate(world).await;
        let first = world.get("/fhir/Patient/me/$everything?_count=5").by_root().send().await;
        let ids = |page: &Value| {
            let entries = page["entry"].as_array().unwrap().iter();
            entries.map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&first.body), ["me", "me-c", "me-v", "me-0", "me-1"]);
        let body = json!({"resourceType": "Observation", "status": "final", "subject": {"reference": "Patient/me"}});
        for id in ["a-before", "z-behind"] {
            world.put(&format!("/Observation/{id}"), &body).await;
        }
        world.call("DELETE", "/fhir/Observation/me-1").by_root().send().await;
        let next = first.body["link"][1]["url"].as_str().unwrap().strip_prefix(BASE).unwrap();
        let second = world.get(next).by_root().send().await;
        assert_eq!(ids(&second.body), ["me-2", "me-3", "z-behind"]);
        assert_eq!(second.body["link"].as_array().unwrap().len(), 1, "it is the last one: {second:?}");
    })
    .await;
}

#[tokio::test]
async fn an_app_gets_of_everything_what_its_scopes_open_and_of_no_other_patient() {
    on_every_engine(async |world| {
        populate(world).await;
        let token = |scope: &str| world.mint(Some("ada"), Some("me"), scope);
        let all = token("patient/*.rs");
        assert_eq!(everything(world, Some(&all), "?_count=2").await, ALL);
        let few = token("patient/Patient.r patient/Observation.rs patient/Condition.r");
        assert_eq!(
            everything(world, Some(&few), "").await,
            [&ALL[..1], &ALL[3..]].concat(),
            "a type that may not be searched"
        );
        let final_ones = token("patient/Patient.r patient/Observation.rs?status=final");
        let expected = ["Patient/me", "Observation/me-0", "Observation/me-2"];
        assert_eq!(everything(world, Some(&final_ones), "?_count=2").await, expected);

        let other = world.get("/fhir/Patient/you/$everything").bearer(&all).send().await;
        assert_eq!(other.outcome(), (404, "not-found"));
        let no_patient = token("patient/Observation.rs");
        assert_eq!(world.get("/fhir/Patient/me/$everything").bearer(&no_patient).send().await.outcome().0, 403);
        assert_eq!(world.get("/fhir/Patient/me/$everything").send().await.outcome().0, 401);
    })
    .await;
}

/// Ids of every page of a search in the compartment; each page links to itself at the same address.
async fn found(world: &World, token: Option<&str>, path: &str) -> Vec<String> {
    let mut next = Some(format!("/fhir{path}"));
    let mut found = Vec::new();
    while let Some(path) = next {
        let call = world.get(&path);
        let call = match token {
            Some(token) => call.bearer(token),
            None => call.by_root(),
        };
        let page = call.send().await;
        assert_eq!((page.status.as_u16(), &page.body["type"]), (200, &json!("searchset")), "{page:?}");
        let entries = page.body["entry"].as_array().into_iter().flatten();
        found.extend(entries.map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned()));
        let links = page.body["link"].as_array().unwrap();
        let place = path.split('?').next().unwrap();
        assert!(
            links.iter().all(|link| link["url"].as_str().unwrap().starts_with(&format!("{BASE}{place}"))),
            "{links:?}"
        );
        let link = links.iter().find(|link| link["relation"] == "next");
        next = link.map(|link| link["url"].as_str().unwrap().strip_prefix(BASE).unwrap().to_owned());
    }
    found
}

#[tokio::test]
async fn a_search_below_a_patient_finds_what_is_in_the_compartment_and_meets_the_parameters() {
    on_every_engine(async |world| {
        populate(world).await;
        let own = ["me-0", "me-1", "me-2", "me-3"];
        for query in ["", "?_count=1", "?_count=3"] {
            assert_eq!(found(world, None, &format!("/Patient/me/Observation{query}")).await, own, "{query}");
        }
        assert_eq!(found(world, None, "/Patient/me/Observation?status=final&_count=1").await, ["me-0", "me-2"]);
        assert_eq!(found(world, None, "/Patient/me/Observation?patient=Patient/you").await, [""; 0]);
        assert_eq!(found(world, None, "/Patient/me/Coverage").await, ["me-v"]);
        assert_eq!(found(world, None, "/Patient/nobody/Observation").await, [""; 0]);
        let form =
            world.call("POST", "/fhir/Patient/me/Observation/_search").by_root().form(&[("status", "preliminary")]);
        let form = form.send().await;
        assert_eq!((form.status.as_u16(), &form.body["total"]), (200, &json!(2)), "{form:?}");
        // Nobody answers where there is no compartment, or nothing of the type could be in one.
        for nowhere in
            ["Observation/me-0/Condition", "Patient/me/Practitioner", "Patient/me/Patient", "Patient/me/$other"]
        {
            let answer = world.get(&format!("/fhir/{nowhere}")).by_root().send().await;
            assert_eq!(answer.outcome(), (404, "not-found"), "{nowhere}");
        }
        let written = world.call("POST", "/fhir/Patient/me/Observation").by_root().json(&json!({})).send().await;
        assert_eq!(written.outcome().0, 404, "{written:?}");
        assert_eq!(world.get("/Patient/me/Observation").by_root().send().await.status.as_u16(), 404);
    })
    .await;
}

#[tokio::test]
async fn a_search_below_a_patient_opens_no_more_than_the_scopes_do() {
    on_every_engine(async |world| {
        populate(world).await;
        let token = |scope: &str| world.mint(Some("ada"), Some("me"), scope);
        let observations = token("patient/Observation.rs");
        assert_eq!(found(world, Some(&observations), "/Patient/me/Observation").await.len(), 4);
        assert_eq!(found(world, Some(&observations), "/Patient/you/Observation").await, [""; 0]);
        let final_ones = token("patient/Observation.rs?status=final");
        assert_eq!(found(world, Some(&final_ones), "/Patient/me/Observation").await, ["me-0", "me-2"]);
        for (scope, status) in [("patient/Observation.r", 403), ("patient/Condition.rs", 403)] {
            let answer = world.get("/fhir/Patient/me/Observation").bearer(&token(scope)).send().await;
            assert_eq!(answer.outcome().0, status, "{scope}");
        }
        assert_eq!(world.get("/fhir/Patient/me/Observation").send().await.outcome().0, 401);
    })
    .await;
}
