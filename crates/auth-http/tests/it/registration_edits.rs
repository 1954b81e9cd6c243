//! Registrations as their owners edit them: what a read, an edit and a write leave of them, and who may look.

use serde_json::{Value, json};

use crate::world::{Answer, BASE, Partner, SECRET, World, on_every_engine};

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

async fn partner(world: &World, organization: &str) {
    let identifier = json!([{"system": NPI, "value": "1000000001"}]);
    world.put("/fhir/Organization/payer-b", &json!({"name": "B", "identifier": identifier})).await;
    world.put("/Client/partner", &Partner::new().client(organization)).await;
}

async fn has_claim(world: &World) -> bool {
    let answer = world.get("/Client/partner/$b2b-claim").by_root().send().await;
    answer.body["embedded"].as_bool().unwrap()
}

fn warnings(answer: &Answer) -> Vec<&str> {
    answer.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect()
}

fn says_lost(answer: &Answer) -> bool {
    let lost = "199 - \"Client.extension tokens of the grant client_credentials no longer carry the hl7-b2b claim: ";
    warnings(answer).iter().any(|text| text.starts_with(lost))
}

#[tokio::test]
async fn a_patch_of_another_field_at_fhir_keeps_the_b2b_claim() {
    on_every_engine(async |world| {
        partner(world, "Organization/payer-b").await;
        let before = world.get("/Client/partner").by_root().send().await.body;
        let merge = json!({"name": "Payer B", "scope": ["system/Patient.rs"]});
        let operations = json!([{"op": "add", "path": "/description", "value": "of the north"}]);
        for change in [merge, operations] {
            let answer = world.call("PATCH", "/fhir/Client/partner").by_root().json(&change).send().await;
            assert_eq!((answer.status.as_u16(), warnings(&answer)), (200, Vec::new()), "{answer:?}");
        }
        assert!(has_claim(world).await);
        let after = world.get("/Client/partner").by_root().send().await.body;
        assert_eq!((&after["extension"], &after["name"]), (&before["extension"], &json!("Payer B")));
    })
    .await;
}

#[tokio::test]
async fn a_write_that_turns_the_claim_off_says_so_in_its_answer() {
    on_every_engine(async |world| {
        partner(world, "Organization/payer-b").await;
        let native = world.get("/Client/partner").by_root().send().await.body;
        let put = async |path: &str, body: &Value| world.call("PUT", path).by_root().json(body).send().await;
        let restore = async || assert!(put("/Client/partner", &native).await.status.is_success());

        let shown = world.get("/fhir/Client/partner").by_root().send().await.body;
        let answer = put("/fhir/Client/partner", &shown).await;
        assert_eq!((answer.status.as_u16(), says_lost(&answer)), (200, true), "{answer:?}");
        assert!(warnings(&answer).iter().any(|text| text.contains("union form")), "{answer:?}");
        assert!(!has_claim(world).await);
        let again = put("/fhir/Client/partner", &shown).await;
        assert!(!says_lost(&again) && !warnings(&again).is_empty(), "it has none to lose, and still none: {again:?}");

        restore().await;
        let mut without = native.clone();
        without.as_object_mut().unwrap().remove("extension");
        assert!(says_lost(&put("/Client/partner", &without).await));
        restore().await;
        let list = world.call("PUT", "/").by_root().json(&json!([without])).send().await;
        assert!(says_lost(&list), "{list:?}");

        restore().await;
        let opaque = json!({"auth": {"client_credentials": {"token_format": "opaque"}}});
        let patched =
            world.call("PATCH", "/Client/partner").by_root().json(&opaque).header("prefer", "return=OperationOutcome");
        let patched = patched.send().await;
        assert!(says_lost(&patched));
        let issues = patched.body["issue"].as_array().unwrap();
        assert_eq!((&issues[0]["severity"], &issues[1]["severity"]), (&json!("information"), &json!("warning")));

        for kind in ["batch", "transaction"] {
            restore().await;
            let entry = json!({"request": {"method": "PUT", "url": "Client/partner"}, "resource": shown});
            let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
            let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
            let outcome = &answer.body["entry"][0]["response"]["outcome"];
            assert_eq!(outcome["resourceType"], "OperationOutcome", "{answer:?}");
            assert!(outcome.to_string().contains("no longer carry the hl7-b2b claim"), "{outcome}");
            assert_eq!(answer.body["entry"][0]["resource"]["id"], "partner");
        }
    })
    .await;
}

#[tokio::test]
async fn an_organization_named_by_its_whole_address_here_gives_the_claim() {
    on_every_engine(async |world| {
        for own in [format!("{BASE}/fhir/Organization/payer-b"), format!("{BASE}/Organization/payer-b")] {
            partner(world, &own).await;
            assert!(has_claim(world).await, "{own}");
        }
        let other = Partner::new().client("https://other.example/fhir/Organization/payer-b");
        let answer = world.call("PUT", "/Client/partner").by_root().json(&other).send().await;
        assert!(says_lost(&answer) && !has_claim(world).await, "{answer:?}");
        assert!(warnings(&answer).iter().any(|text| text.contains("has a value that is not read")), "{answer:?}");
    })
    .await;
}

/// Whether the Client may call with the secret.
async fn admits(world: &World, secret: &str) -> bool {
    world.get("/fhir/Patient").basic("app", secret).send().await.status == 200
}

#[tokio::test]
async fn a_client_that_is_read_edited_and_put_back_keeps_its_secret() {
    on_every_engine(async |world| {
        world.client_with_policy("app", &json!({"engine": "allow"})).await;
        for prefix in ["", "/fhir"] {
            let path = format!("{prefix}/Client/app");
            let mut shown = world.get(&path).by_root().send().await.body;
            assert_eq!(shown.get("secret"), None);
            shown["name"] = json!(format!("edited at {path}"));
            let put = world.call("PUT", &path).by_root().json(&shown).send().await;
            assert_eq!((put.status.as_u16(), put.body.get("secret")), (200, None), "{put:?}");
            assert!(admits(world, SECRET).await, "{path}");
            for kind in ["batch", "transaction"] {
                shown["description"] = kind.into();
                let entry = json!({"request": {"method": "PUT", "url": "Client/app"}, "resource": shown});
                let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry, entry]});
                let answer = world.post(&format!("{prefix}/")).by_root().json(&bundle).send().await;
                let status = answer.status.as_u16();
                // A transaction may not name a resource twice; what the first entry of a batch wrote is kept by the
                // second.
                assert!(status == 200 || kind == "transaction", "{answer:?}");
                assert!(admits(world, SECRET).await, "{path} in a {kind}");
            }
            let list = world.call("PUT", "/").by_root().json(&json!([shown])).send().await;
            assert_eq!((list.status.as_u16(), admits(world, SECRET).await), (200, true), "{list:?}");
        }
        let found = world.call("PUT", "/fhir/Client?.name=edited at /fhir/Client/app".replace(' ', "%20").as_str());
        let document = json!({"resourceType": "Client", "grant_types": ["basic"], "name": "found"});
        assert_eq!(found.by_root().json(&document).send().await.status, 200);
        assert!(admits(world, SECRET).await, "by a condition");

        let other = "a second secret of more than thirty-two characters";
        let change = json!({"grant_types": ["basic"], "secret": other});
        world.put("/Client/app", &change).await;
        assert_eq!((admits(world, other).await, admits(world, SECRET).await), (true, false));
        let removed = world.call("PATCH", "/Client/app").by_root().json(&json!({"secret": null})).send().await;
        assert_eq!((removed.status.as_u16(), admits(world, other).await), (200, false));
        world.put("/Client/app", &json!({"grant_types": ["basic"]})).await;
        assert!(!admits(world, other).await, "what was removed does not come back");
    })
    .await;
}

#[tokio::test]
async fn a_user_who_is_read_edited_and_put_back_keeps_the_password_and_the_second_factor() {
    on_every_engine(async |world| {
        let factor = json!({"enabled": false, "secretKey": "JBSWY3DPEHPK3PXP"});
        let ada = json!({"userName": "ada", "password": "correct horse battery", "twoFactor": factor});
        world.put("/User/ada", &ada).await;
        let stored = async || {
            let key = "User/ada".parse().unwrap();
            let fhir_store::ResourceLookup::Found(found) =
                fhir_store::ResourceStore::read(world.db(), &key).await.unwrap()
            else {
                panic!("there is no such user")
            };
            found.resource
        };
        let before = stored().await;
        for prefix in ["", "/fhir"] {
            let path = format!("{prefix}/User/ada");
            let mut shown = world.get(&path).by_root().send().await.body;
            shown["email"] = json!("ada@example.org");
            let put = world.call("PUT", &path).by_root().json(&shown).send().await;
            assert_eq!((put.status.as_u16(), put.body.get("password")), (200, None), "{put:?}");
            let after = stored().await;
            assert_eq!((&after["password"], &after["twoFactor"]), (&before["password"], &before["twoFactor"]));
            assert_eq!(after["email"], "ada@example.org");
        }
        world.put("/User/ada", &json!({"userName": "ada"})).await;
        let after = stored().await;
        assert_eq!((&after["password"], after.get("twoFactor")), (&before["password"], None), "what is left out goes");
    })
    .await;
}

#[tokio::test]
async fn reading_registrations_needs_a_policy_that_spells_it_out() {
    on_every_engine(async |world| {
        world.client_with_policy("other", &json!({"engine": "allow"})).await;
        world.put("/User/ada", &json!({"userName": "ada"})).await;
        let token = world.token_with_scope("partner", "system/*.cruds").await;
        let paths = |kind: &str, id: &str| {
            ["", "/_history", &format!("/{id}"), &format!("/{id}/_history")]
                .iter()
                .flat_map(|path| [format!("/{kind}{path}"), format!("/fhir/{kind}{path}")])
                .collect::<Vec<_>>()
        };
        let kinds = [("Client", "other"), ("User", "ada"), ("AccessPolicy", "other")];
        for path in kinds.iter().flat_map(|(kind, id)| paths(kind, id)) {
            assert_eq!(world.get(&path).bearer(&token).send().await.outcome(), (403, "forbidden"), "{path}");
            assert_eq!(world.get(&path).basic("other", SECRET).send().await.outcome(), (403, "forbidden"), "{path}");
        }
        let all = world.get("/fhir/_history?_count=1000").bearer(&token).send().await;
        assert_eq!(all.status, 200);
        assert!(kinds.iter().all(|(kind, _)| !all.text.contains(&format!("\"resourceType\":\"{kind}\""))), "{all:?}");
        let entries: Vec<Value> =
            kinds.iter().map(|(kind, _)| json!({"request": {"method": "GET", "url": kind}})).collect();
        let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": entries});
        let answer = world.post("/fhir").bearer(&token).fhir(&bundle).send().await;
        for entry in answer.body["entry"].as_array().unwrap() {
            assert_eq!(entry["response"]["status"], "403", "{answer:?}");
        }

        let spelled = json!({"engine": "matcho", "matcho": {"uri": "#^(/fhir)?/(Client|User|AccessPolicy)"}});
        world.client_with_policy("other", &spelled).await;
        for path in kinds.iter().flat_map(|(kind, id)| paths(kind, id)) {
            assert_eq!(world.get(&path).basic("other", SECRET).send().await.status, 200, "{path}");
        }
        let organizations = world.get("/fhir/Organization").bearer(&token).send().await;
        assert_eq!(organizations.status, 200, "what is no registration is read as ever");
    })
    .await;
}
