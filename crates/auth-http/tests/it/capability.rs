//! The `CapabilityStatement`, taken at its word: whatever it says is asked for.

use fhir_validation::validate_fhir_document;
use serde_json::{Value, json};

use crate::world::{Answer, BASE, World, on_every_engine};

/// Parameters of one request: a search takes 32.
const AT_ONCE: usize = 30;

async fn statement(world: &World) -> Value {
    world.get("/fhir/metadata").send().await.body
}

fn items<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of[name].as_array().into_iter().flatten()
}

fn texts<'a>(of: &'a Value, name: &str, member: &str) -> Vec<&'a str> {
    items(of, name).map(|item| item[member].as_str().unwrap()).collect()
}

async fn strict(world: &World, query: &str) -> Answer {
    world.get(&format!("/fhir/{query}")).by_root().header("prefer", "handling=strict").send().await
}

/// A value that a parameter of a type takes; several for composites, of which one is right.
fn values(kind: &str) -> &'static [&'static str] {
    match kind {
        "reference" => &["Patient/x"],
        "date" => &["2020-01-01"],
        "number" | "quantity" => &["1"],
        "uri" => &["http://x.example"],
        "token" | "string" => &["x"],
        "composite" => {
            &["x$x", "x$1", "x$2020", "x$Patient/x", "Patient/x$x", "x$http://x", "http://x$x", "1$1", "x$1$1"]
        }
        other => panic!("a parameter of the type {other}"),
    }
}

#[tokio::test]
async fn the_statement_is_what_fhir_says_a_statement_is() {
    let world = World::new().await;
    let statement = statement(&world).await;
    assert_eq!(validate_fhir_document("CapabilityStatement", &statement), Some(Vec::new()));
    let types = texts(&statement["rest"][0], "resource", "type");
    assert_eq!(types.len(), 146);
    assert!(types.is_sorted());
    world.end().await;
}

#[tokio::test]
async fn every_search_parameter_and_include_it_names_is_one() {
    let world = World::new().await;
    world.db().rebuild_search_index().await.unwrap();
    let statement = statement(&world).await;
    for resource in items(&statement["rest"][0], "resource") {
        let kind = resource["type"].as_str().unwrap();
        let named: Vec<(&str, &str)> = items(resource, "searchParam")
            .map(|parameter| (parameter["name"].as_str().unwrap(), parameter["type"].as_str().unwrap()))
            .collect();
        let is_searched = named.iter().any(|(name, _)| *name == "_lastUpdated");
        let (composites, simple): (Vec<_>, Vec<_>) = named.into_iter().partition(|(_, of)| *of == "composite");
        let mut asked: Vec<String> = simple.iter().map(|(name, of)| format!("{name}={}", values(of)[0])).collect();
        asked.extend(items(resource, "searchInclude").map(|include| format!("_include={}", include.as_str().unwrap())));
        let reverse = items(resource, "searchRevInclude");
        asked.extend(reverse.map(|include| format!("_revinclude={}", include.as_str().unwrap())));
        for some in asked.chunks(AT_ONCE) {
            let answer = strict(&world, &format!("{kind}?{}", some.join("&"))).await;
            assert_eq!(answer.status, 200, "{kind}?{some:?}: {answer:?}");
        }
        for (name, of) in composites {
            let mut taken = false;
            for value in values(of) {
                taken |= strict(&world, &format!("{kind}?{name}={value}")).await.status == 200;
            }
            assert!(taken, "{kind}?{name}");
        }
        let unheard = strict(&world, &format!("{kind}?unheard-of=x")).await;
        assert_eq!(unheard.status == 400, is_searched, "{kind}: what it does not name is refused");
    }
    world.end().await;
}

/// One interaction with Groups, of which there is `g`.
async fn interact(world: &World, code: &str) -> u16 {
    let group =
        |active: bool| json!({"resourceType": "Group", "id": "g", "type": "person", "actual": true, "active": active});
    let put = world.call("PUT", "/fhir/Group/g").by_root().fhir(&group(true)).send().await;
    let version = put.body["meta"]["versionId"].as_str().unwrap().to_owned();
    let mut made = group(true);
    made.as_object_mut().unwrap().shift_remove("id");
    let call = |method: &str, path: &str| world.call(method, &format!("/fhir/{path}")).by_root();
    let bundle = |kind: &str| json!({"resourceType": "Bundle", "type": kind, "entry": [{"request": {"method": "GET", "url": "Group/g"}}]});
    let call = match code {
        "read" => call("GET", "Group/g"),
        "vread" => call("GET", &format!("Group/g/_history/{version}")),
        "update" => call("PUT", "Group/g").fhir(&group(false)),
        "patch" => call("PATCH", "Group/g").fhir(&json!({"active": false})),
        "delete" => call("DELETE", "Group/g"),
        "history-instance" => call("GET", "Group/g/_history"),
        "history-type" => call("GET", "Group/_history"),
        "history-system" => call("GET", "_history"),
        "create" => call("POST", "Group").fhir(&made),
        "search-type" => call("GET", "Group?_id=g"),
        "batch" | "transaction" => call("POST", "").fhir(&bundle(code)),
        other => panic!("an interaction {other}"),
    };
    call.send().await.status.as_u16()
}

#[tokio::test]
async fn every_interaction_it_names_is_taken() {
    on_every_engine(async |world| {
        let statement = statement(world).await;
        let rest = &statement["rest"][0];
        let resources: Vec<&Value> = items(rest, "resource").collect();
        let group = resources.iter().find(|resource| resource["type"] == "Group").unwrap();
        let codes = texts(group, "interaction", "code");
        assert_eq!(codes.len(), 9);
        for code in codes.iter().copied().chain(texts(rest, "interaction", "code")) {
            let status = interact(world, code).await;
            assert_eq!(status, if code == "create" { 201 } else { 200 }, "{code}");
        }
        for resource in resources {
            assert_eq!(texts(resource, "interaction", "code"), codes, "every type takes the same");
            let kind = resource["type"].as_str().unwrap();
            let none = world.get(&format!("/fhir/{kind}/none")).by_root().send().await;
            assert_eq!(none.body["issue"][0]["diagnostics"], format!("Resource {kind}/none not found"));
            assert_eq!(world.get(&format!("/fhir/{kind}/_history")).by_root().send().await.status, 200, "{kind}");
            let checked = world.post(&format!("/fhir/{kind}/$validate")).by_root().fhir(&json!({"resourceType": kind}));
            assert_eq!(checked.send().await.body["resourceType"], "OperationOutcome", "{kind}");
        }
    })
    .await;
}

#[tokio::test]
async fn its_words_on_versions_and_conditions_hold() {
    on_every_engine(async |world| {
        let statement = statement(world).await;
        let patient = items(&statement["rest"][0], "resource").find(|resource| resource["type"] == "Patient").unwrap();
        let said = |name: &str| patient[name].clone();
        let body = |family: &str| json!({"resourceType": "Patient", "name": [{"family": family}]});
        let call = |method: &str, path: &str| world.call(method, &format!("/fhir/{path}")).by_root();
        let with_id = json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Named"}]});
        let first = call("PUT", "Patient/p").fhir(&with_id).send().await;
        assert_eq!((said("updateCreate"), first.status.as_u16()), (json!(true), 201));
        let second = call("PUT", "Patient/p").fhir(&json!({"resourceType": "Patient", "id": "p"})).send().await;
        let (old, new) = (first.header("etag"), second.header("etag"));
        let stale = call("PUT", "Patient/p").header("if-match", old).fhir(&with_id).send().await;
        assert_eq!((said("versioning"), stale.outcome().0), (json!("versioned-update"), 412));
        let version = old.trim_start_matches("W/").trim_matches('"');
        let before = call("GET", &format!("Patient/p/_history/{version}")).send().await;
        assert_eq!((said("readHistory"), &before.body["name"][0]["family"]), (json!(true), &json!("Named")));
        let tagged = call("GET", "Patient/p").header("if-none-match", new).send().await;
        let dated = call("GET", "Patient/p").header("if-modified-since", second.header("last-modified")).send().await;
        assert_eq!(
            (said("conditionalRead"), tagged.status, dated.status.as_u16()),
            (json!("full-support"), 304.try_into().unwrap(), 304)
        );

        let create = || call("POST", "Patient").header("if-none-exist", "family=Found").fhir(&body("Found"));
        assert_eq!(
            (create().send().await.status, create().send().await.status.as_u16()),
            (201.try_into().unwrap(), 200)
        );
        assert_eq!((said("conditionalCreate"), said("conditionalUpdate")), (json!(true), json!(true)));
        assert_eq!(call("PUT", "Patient?family=Found").fhir(&body("Found")).send().await.status, 200);
        assert_eq!(call("PATCH", "Patient?family=Found").fhir(&json!({"active": true})).send().await.status, 200);
        call("POST", "Patient").fhir(&body("Found")).send().await;
        let several = call("DELETE", "Patient?family=Found").send().await;
        assert_eq!((said("conditionalDelete"), several.outcome().0), (json!("single"), 412));
    })
    .await;
}

#[tokio::test]
async fn every_operation_it_names_is_answered() {
    let world = World::new().await;
    world.put("/Patient/p", &json!({"resourceType": "Patient"})).await;
    world.put("/Group/g", &json!({"resourceType": "Group", "type": "person", "actual": true})).await;
    let statement = statement(&world).await;
    let rest = &statement["rest"][0];
    let nothing = json!({"resourceType": "Parameters"});
    let mut asked = 0;
    let of_types =
        items(rest, "resource").filter(|resource| ["Patient", "Group"].map(Value::from).contains(&resource["type"]));
    let of_types: Vec<(&str, &Value)> = of_types.map(|of| (of["type"].as_str().unwrap(), of)).collect();
    for (kind, of) in [("", rest)].into_iter().chain(of_types) {
        for operation in items(of, "operation") {
            let name = operation["name"].as_str().unwrap();
            assert!(operation["definition"].as_str().unwrap().ends_with(name) || !operation["definition"].is_null());
            let call = |method: &str, path: &str| world.call(method, &format!("/fhir/{path}")).by_root();
            let call = match (kind, name) {
                ("", "packages") => call("GET", "$packages"),
                ("", "export") => call("GET", "$export").header("prefer", "respond-async"),
                ("", name) => call("POST", &format!("${name}")).fhir(&nothing),
                ("Patient", "everything") => call("GET", "Patient/p/$everything"),
                ("Patient", "export") => call("GET", "Patient/$export").header("prefer", "respond-async"),
                ("Group", "export") => call("GET", "Group/g/$export").header("prefer", "respond-async"),
                ("Group", "davinci-data-export") => call("POST", "Group/g/$davinci-data-export").fhir(&nothing),
                (kind, name) => call("POST", &format!("{kind}/${name}")).fhir(&nothing),
            };
            let answer = call.send().await;
            let status = answer.status.as_u16();
            assert!(![404, 405, 500, 501].contains(&status), "{kind} {name}: {answer:?}");
            asked += 1;
        }
    }
    assert_eq!(asked, 4 + 4 + 5, "the system's, those of Patients and of Groups");
    for address in items(&rest["security"]["extension"][0], "extension") {
        let path = address["valueUri"].as_str().unwrap().strip_prefix(BASE).unwrap();
        let answers = [world.get(path).send().await, world.post(path).form(&[]).send().await];
        assert!(answers.iter().any(|answer| ![404, 405].contains(&answer.status.as_u16())), "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn it_is_made_again_when_parameters_are_installed_and_only_then() {
    on_every_engine(async |world| {
        world.put("/Patient/p", &json!({"resourceType": "Patient"})).await;
        let first = world.get("/fhir/metadata").send().await;
        let again = world.get("/fhir/metadata").header("if-none-match", first.header("etag")).send().await;
        assert_eq!(again.status, 304);
        let definition = json!({
            "resourceType": "SearchParameter", "url": "http://payer.example/SearchParameter/nickname",
            "name": "nickname", "status": "active", "description": "x", "code": "nickname", "base": ["Patient"],
            "type": "string", "expression": "Patient.nickname",
        });
        world.put("/SearchParameter/nickname", &definition).await;
        let statement = statement(world).await;
        let patient = items(&statement["rest"][0], "resource").find(|resource| resource["type"] == "Patient").unwrap();
        let told = json!({"name": "nickname", "definition": definition["url"], "type": "string"});
        assert!(items(patient, "searchParam").any(|parameter| *parameter == told));
    })
    .await;
}
