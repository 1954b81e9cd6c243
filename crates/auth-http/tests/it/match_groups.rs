//! A Group that a member match made is seen by the organization it was made for, and by administrators.

use serde_json::{Value, json};

use crate::payers::{accepted, bundle, davinci, file, manifest, members, parameters, post};
use crate::world::{Answer, NOW_S, Partner, SECRET, World, assertion_form, on_every_engine};

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

/// A partner that may do everything by its scopes and its policy, with the claim of its organization.
async fn partner(world: &World, id: &str, npi: &str) -> String {
    let organization = json!({"name": id, "identifier": [{"system": NPI, "value": npi}]});
    world.put(&format!("/fhir/Organization/org-{id}"), &organization).await;
    let partner = Partner::new();
    let mut client = partner.client(&format!("Organization/org-{id}"));
    client["scope"] = json!(["system/*.cruds"]);
    world.put(&format!("/Client/{id}"), &client).await;
    let policy = json!({"engine": "allow", "link": [{"reference": format!("Client/{id}")}]});
    world.put(&format!("/AccessPolicy/{id}"), &policy).await;
    let assertion = partner.assertion(id, &format!("jti-{id}"), NOW_S);
    let mut form = assertion_form(&assertion);
    form[1] = ("scope", "system/*.cruds");
    let answer = world.post("/auth/token").form(&form).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["access_token"].as_str().unwrap().to_owned()
}

/// Matches a member, one whose consent is another's and a stranger; returns the ids of the three Groups.
async fn matched(world: &World, (token, owner, npi): (&str, &str, &str), families: [&str; 3]) -> Vec<String> {
    let [found, constrained, stranger] = families;
    let sent = parameters(&[bundle(found, npi), bundle(constrained, "1000000009"), bundle(stranger, npi)]);
    let job = accepted(&post(world, token, "/fhir/Group/$bulk-member-match", &sent).await);
    let told = manifest(world, token, owner, &job).await;
    let [answer] = file(world, token, &told, "Parameters").await.try_into().unwrap();
    let groups = answer["parameter"].as_array().unwrap();
    let ids: Vec<String> = groups.iter().map(|one| one["resource"]["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 3, "{answer}");
    ids
}

/// Two partners with the Groups that were made for each, and a Group that no match made.
pub(crate) struct Scene {
    pub(crate) payer_b: String,
    pub(crate) own: Vec<String>,
    pub(crate) foreign: Vec<String>,
}

pub(crate) async fn scene(world: &World) -> Scene {
    members(world).await;
    world.put("/fhir/Group/herd", &json!({"resourceType": "Group", "type": "animal", "actual": false})).await;
    let payer_b = partner(world, "payer-b", "1000000001").await;
    let payer_c = partner(world, "payer-c", "1000000003").await;
    let own = matched(world, (&payer_b, "payer-b", "1000000001"), ["Adler", "Berg", "Nobody"]).await;
    let foreign = matched(world, (&payer_c, "payer-c", "1000000003"), ["Berg", "Curie", "Someone"]).await;
    Scene { payer_b, own, foreign }
}

pub(crate) fn entry_ids(answer: &Answer) -> Vec<String> {
    let entries = answer.body["entry"].as_array().into_iter().flatten();
    let groups = entries.filter(|entry| entry["resource"]["resourceType"] == "Group");
    let mut ids: Vec<String> = groups.map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids.dedup();
    ids
}

fn sorted(ids: &[String], more: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = ids.iter().cloned().chain(more.iter().map(|id| (*id).to_owned())).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_finds_the_groups_made_for_it_and_no_others() {
    on_every_engine(async |world| {
        let Scene { payer_b, own, foreign } = scene(world).await;
        let get = async |path: &str| world.get(path).bearer(&payer_b).send().await;
        let mine = sorted(&own, &["herd"]);
        for path in [
            "/fhir/Group",
            "/Group",
            "/fhir/Group?_count=1000&_total=accurate",
            "/fhir/Group/_history",
            "/Group/_history",
            "/fhir/_history?_count=1000",
            "/_history?_count=1000",
        ] {
            let answer = get(path).await;
            assert_eq!((answer.status.as_u16(), entry_ids(&answer)), (200, mine.clone()), "{path}");
            assert!(!answer.text.contains("1000000003\"}]") || path.contains("_history?"), "{path}");
        }
        assert_eq!(get("/fhir/Group?_summary=count").await.body["total"], 4);
        assert_eq!(get("/Group?_count=1").await.body["total"], 4);
        let by_form = world.post("/fhir/Group/_search").bearer(&payer_b).form(&[("type", "person")]).send().await;
        assert_eq!(entry_ids(&by_form), sorted(&own, &[]));
        for path in [
            format!("/fhir/Group?_id={}", foreign[0]),
            "/fhir/Group?member=Patient/b&code=match".to_owned(),
            format!("/fhir/Group?identifier={NPI}%7C1000000003"),
            format!("/Group?id={}", foreign[1]),
            "/fhir/Patient?_id=b&_revinclude=Group:member".to_owned(),
            format!("/fhir/Patient?_has:Group:member:_id={}", foreign[0]),
            "/fhir/Patient/b/$everything?_type=Group".to_owned(),
            "/fhir/Patient/b/Group".to_owned(),
        ] {
            let answer = get(&path).await;
            assert!(entry_ids(&answer).is_empty(), "{path}: {answer:?}");
            assert!(
                foreign.iter().all(|id| !answer.text.replace(&path, "").contains(&format!("Group/{id}"))),
                "{path}"
            );
        }
        let included = get("/fhir/Patient?_id=a&_revinclude=Group:member").await;
        assert_eq!(entry_ids(&included), [own[0].clone()]);
        let chained = get(&format!("/fhir/Patient?_has:Group:member:_id={}", own[0])).await;
        assert_eq!(chained.body["entry"][0]["resource"]["id"], "a");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_include_and_no_chain_leads_to_the_group_of_another() {
    on_every_engine(async |world| {
        let Scene { payer_b, own, foreign } = scene(world).await;
        for (id, group) in [("of-own", &own[0]), ("of-foreign", &foreign[0])] {
            let about = json!({
                "resourceType": "DocumentReference", "status": "current",
                "subject": {"reference": format!("Group/{group}")},
                "content": [{"attachment": {"url": "http://documents.example/1"}}],
            });
            world.put(&format!("/fhir/DocumentReference/{id}"), &about).await;
        }
        let get =
            async |query: &str| world.get(&format!("/fhir/DocumentReference?{query}")).bearer(&payer_b).send().await;
        for include in ["_include=DocumentReference:subject", "_include=*"] {
            let answer = get(include).await;
            assert_eq!(entry_ids(&answer), [own[0].clone()], "{include}: {answer:?}");
            assert!(!answer.text.contains("1000000003"), "{include}");
        }
        for (id, expected) in [(&own[0], 1), (&foreign[0], 0)] {
            let answer = get(&format!("subject:Group._id={id}")).await;
            assert_eq!((answer.status.as_u16(), &answer.body["total"]), (200, &json!(expected)), "{answer:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_made_for_another_organization_is_as_one_that_is_not_there() {
    on_every_engine(async |world| {
        let Scene { payer_b, own, foreign } = scene(world).await;
        for (id, status) in own.iter().map(|id| (id, 200)).chain(foreign.iter().map(|id| (id, 404))) {
            let shown = world.get(&format!("/fhir/Group/{id}")).by_root().send().await;
            let version = shown.body["meta"]["versionId"].as_str().unwrap().to_owned();
            for path in [
                format!("/fhir/Group/{id}"),
                format!("/Group/{id}"),
                format!("/fhir/Group/{id}/_history"),
                format!("/Group/{id}/_history"),
                format!("/fhir/Group/{id}/_history/{version}"),
                format!("/Group/{id}/_history/{version}"),
            ] {
                let answer = world.get(&path).bearer(&payer_b).send().await;
                assert_eq!(answer.status, status, "{path} {answer:?}");
                assert_eq!(world.get(&path).by_root().send().await.status, 200, "{path}");
            }
        }
        let unknown = world.get("/fhir/Group/unknown-matched").bearer(&payer_b).send().await;
        let hidden = world.get(&format!("/fhir/Group/{}", foreign[0])).bearer(&payer_b).send().await;
        assert_eq!(hidden.text.replace(&foreign[0], "unknown-matched"), unknown.text);
        // Without a claim, and by whatever policy, no Group of a match is reached.
        world.client_with_policy("clerk", &json!({"engine": "allow"})).await;
        let listed = world.get("/fhir/Group").basic("clerk", SECRET).send().await;
        assert_eq!(entry_ids(&listed), ["herd"]);
        for id in own.iter().chain(&foreign) {
            assert_eq!(world.get(&format!("/fhir/Group/{id}")).basic("clerk", SECRET).send().await.status, 404);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_holds_the_groups_made_for_the_partner_alone() {
    on_every_engine(async |world| {
        let Scene { payer_b, own, foreign } = scene(world).await;
        let begun = world.get("/fhir/$export?_type=Group").bearer(&payer_b).header("prefer", "respond-async");
        let job = accepted(&begun.send().await);
        let told = manifest(world, &payer_b, "payer-b", &job).await;
        let lines = file(world, &payer_b, &told, "Group").await;
        let ids: Vec<String> = lines.iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(sorted(&ids, &[]), sorted(&own, &["herd"]));
        for id in &foreign {
            let path = format!("/fhir/Group/{id}/$export");
            let plain = world.get(&path).bearer(&payer_b).header("prefer", "respond-async").send().await;
            assert_eq!(plain.outcome(), (404, "not-found"), "{plain:?}");
            let path = format!("/fhir/Group/{id}/$davinci-data-export");
            for export_type in ["payertopayer", "provider-download"] {
                let answer = post(world, &payer_b, &path, &davinci(export_type)).await;
                assert_eq!(answer.outcome(), (404, "not-found"), "{answer:?}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_write_of_a_partner_touches_the_group_of_another() {
    on_every_engine(async |world| {
        let Scene { payer_b, foreign, .. } = scene(world).await;
        let id = &foreign[0];
        let shown = async || world.get(&format!("/fhir/Group/{id}")).by_root().send().await.body;
        let before = shown().await;
        let taken = json!({"resourceType": "Group", "id": id, "type": "person", "actual": true, "active": false});
        for prefix in ["/fhir", ""] {
            let path = format!("{prefix}/Group/{id}");
            let put = world.call("PUT", &path).bearer(&payer_b).json(&taken).send().await;
            assert_eq!(put.outcome(), (404, "not-found"), "{put:?}");
            let changed = world.call("PATCH", &path).bearer(&payer_b).json(&json!({"active": false})).send().await;
            assert_eq!(changed.outcome(), (404, "not-found"), "{changed:?}");
            assert_eq!(world.call("DELETE", &path).bearer(&payer_b).send().await.status, 204);
            let by_condition = format!("{prefix}/Group?_id={id}");
            let by_condition = if prefix.is_empty() { by_condition.replace("_id", "id") } else { by_condition };
            let gone = world.call("DELETE", &by_condition).bearer(&payer_b).send().await;
            assert_eq!(gone.status, 204, "{gone:?}");
            for kind in ["batch", "transaction"] {
                for (method, resource) in [("GET", None), ("PUT", Some(&taken)), ("DELETE", None)] {
                    let mut entry = json!({"request": {"method": method, "url": format!("Group/{id}")}});
                    if let Some(resource) = resource {
                        entry["resource"] = resource.clone();
                    }
                    let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
                    let answer = world.post(&format!("{prefix}/")).bearer(&payer_b).json(&bundle).send().await;
                    assert!(!answer.text.contains("Berg"), "{kind} {method} {answer:?}");
                }
            }
        }
        assert_eq!(shown().await, before, "nothing was written");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_makes_no_group_of_a_match_and_adds_no_member_to_its_own() {
    on_every_engine(async |world| {
        let Scene { payer_b, own, .. } = scene(world).await;
        let path = format!("/fhir/Group/{}", own[0]);
        let change_own = async |change: Value| world.call("PATCH", &path).bearer(&payer_b).json(&change).send().await;
        let shown = world.get(&path).bearer(&payer_b).send().await.body;
        let mut more = shown["member"].as_array().unwrap().clone();
        more.push(json!({"entity": {"reference": "Patient/c"}}));
        for change in [
            json!({"member": more}),
            json!({"identifier": [{"system": NPI, "value": "1000000003"}], "characteristic": null}),
            json!({"meta": {"profile": null}, "code": null}),
        ] {
            let answer = change_own(change.clone()).await;
            assert_eq!(answer.outcome(), (403, "forbidden"), "{change} {answer:?}");
        }
        assert_eq!(change_own(json!({"active": false})).await.status, 200, "it may end its use of it");

        let mut forged = shown.clone();
        forged["member"] = json!([{"entity": {"reference": "Patient/c"}}]);
        forged.as_object_mut().unwrap().remove("id");
        let posted = world.post("/fhir/Group").bearer(&payer_b).fhir(&forged).send().await;
        assert_eq!(posted.outcome(), (403, "forbidden"), "{posted:?}");
        world.client_with_policy("loader", &json!({"engine": "allow"})).await;
        let posted = world.post("/fhir/Group").basic("loader", SECRET).fhir(&forged).send().await;
        assert_eq!(posted.outcome(), (403, "forbidden"), "{posted:?}");
        let herd = json!({"resourceType": "Group", "id": "flock", "type": "animal", "actual": false});
        let put = world.call("PUT", "/fhir/Group/flock").basic("loader", SECRET).fhir(&herd).send().await;
        assert_eq!(put.status, 201, "other Groups are made as ever: {put:?}");
        assert_eq!(world.call("DELETE", &path).bearer(&payer_b).send().await.status, 200, "its own it may delete");
    })
    .await;
}
