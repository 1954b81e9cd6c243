//! What a member match needs to find a member, and what its answers tell of one.

use payer_exchange::member_match::MemberIdentifierRule;
use serde_json::{Value, json};

use crate::payers::{accepted, bundle, file, manifest, members, parameters, partner, person, post};
use crate::world::{Answer, Choice, World, on_every_engine};

const MB: &str = "http://terminology.hl7.org/CodeSystem/v2-0203";

/// A request for one member, with a part changed.
fn one(mut sent: Value, change: impl Fn(&mut Value)) -> Value {
    change(&mut sent);
    parameters(sent["part"].as_array().unwrap())
}

fn patient_of(sent: &mut Value) -> &mut Value {
    &mut sent["part"][0]["resource"]
}

fn unnamed(sent: &mut Value) {
    patient_of(sent).as_object_mut().unwrap().remove("identifier");
}

async fn ask(world: &World, token: &str, body: &Value) -> Answer {
    world.post("/fhir/Patient/$member-match").bearer(token).fhir(body).send().await
}

/// The Groups of a match, by the names of their parameters.
async fn groups(world: &World, token: &str, operation: &str, sent: &[Value]) -> Value {
    let answer = post(world, token, &format!("/fhir/Group/{operation}"), &parameters(sent)).await;
    let told = manifest(world, token, "payer-b", &accepted(&answer)).await;
    let [answer] = file(world, token, &told, "Parameters").await.try_into().unwrap();
    let parameters = answer["parameter"].as_array().unwrap();
    parameters.iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one["resource"].clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn name_birth_date_and_gender_alone_tell_nobody_who_is_a_member() {
    on_every_engine(async |world| {
        members(world).await;
        let coverage = json!({"subscriberId": "sub-a", "beneficiary": {"reference": "Patient/a"}});
        world.put("/Coverage/a", &coverage).await;
        let token = partner(world, "payer-b", "1000000001").await;
        let sent = || bundle("Adler", "1000000001");
        let [known, unknown] = [sent(), bundle("Nobody", "1000000001")].map(|sent| one(sent, unnamed));
        let [known, unknown] = [ask(world, &token, &known).await, ask(world, &token, &unknown).await];
        assert_eq!((known.outcome(), &known.text), ((422, "invalid"), &unknown.text));
        let by_number = ask(world, &token, &one(sent(), |_| {})).await;
        assert_eq!(by_number.status, 200, "{by_number:?}");
        let by_subscriber = one(sent(), |sent| {
            unnamed(sent);
            sent["part"][1]["resource"]["subscriberId"] = "sub-a".into();
        });
        assert_eq!(ask(world, &token, &by_subscriber).await.status, 200);

        let mut bare = sent();
        unnamed(&mut bare);
        let found = groups(world, &token, "$bulk-member-match", &[bare.clone()]).await;
        assert_eq!(
            (&found["MatchedMembers"]["quantity"], &found["NonMatchedMembers"]["quantity"]),
            (&json!(0), &json!(1))
        );
        // A number of the provider's own agrees with every patient and names none.
        patient_of(&mut bare)["identifier"] = json!([{"system": "urn:clinic", "value": "mrn-1"}]);
        let found = groups(world, &token, "$provider-member-match", &[bare, sent()]).await;
        assert_eq!(
            (&found["MatchedMembers"]["quantity"], &found["NonMatchedMembers"]["quantity"]),
            (&json!(1), &json!(1))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_may_take_demographics_alone() {
    let world = World::with(Choice { identifier_rule: MemberIdentifierRule::Optional, ..Choice::default() }).await;
    members(&world).await;
    let token = partner(&world, "payer-b", "1000000001").await;
    let mut sent = bundle("Adler", "1000000001");
    assert_eq!(ask(&world, &token, &one(sent.clone(), unnamed)).await.status, 200);
    unnamed(&mut sent);
    let found = groups(&world, &token, "$bulk-member-match", &[sent]).await;
    assert_eq!(found["MatchedMembers"]["quantity"], 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_may_not_be_shared_is_named_by_what_was_sent() {
    on_every_engine(async |world| {
        members(world).await;
        let mut stored = person("Berg");
        stored["name"] = json!([{"family": "Berg", "given": ["Ann", "Secret"]}]);
        world.put("/fhir/Patient/b", &stored).await;
        let token = partner(world, "payer-b", "1000000001").await;
        let sent = |family: &str, recipient: &str, id: Option<&str>| {
            let mut sent = bundle(family, recipient);
            if let Some(id) = id {
                patient_of(&mut sent)["id"] = id.into();
            }
            sent
        };
        let all = [
            sent("Berg", "1000000009", Some("theirs-7")),
            sent("Curie", "1000000009", Some("theirs-7")),
            sent("Adler", "1000000009", None),
            sent("Adler", "1000000001", Some("theirs-8")),
        ];
        for operation in ["$bulk-member-match", "$provider-member-match"] {
            let mut all = all.to_vec();
            if operation == "$provider-member-match" {
                for refused in &mut all[..3] {
                    refused["part"][2]["resource"]["status"] = "inactive".into();
                }
            }
            let found = groups(world, &token, operation, &all).await;
            let constrained = &found["ConsentConstrainedMembers"];
            let named = constrained["member"].as_array().unwrap().iter().map(|member| &member["entity"]["reference"]);
            assert_eq!(named.collect::<Vec<_>>(), ["#theirs-7", "#theirs-7-2", "#3"], "{constrained}");
            let contained = constrained["contained"].as_array().unwrap().iter().map(|patient| &patient["id"]);
            assert_eq!(contained.collect::<Vec<_>>(), ["theirs-7", "theirs-7-2", "3"]);
            let path = format!("/fhir/Group/{}", constrained["id"].as_str().unwrap());
            let shown = world.get(&path).bearer(&token).send().await;
            assert_eq!(shown.status, 200, "{shown:?}");
            for text in [constrained.to_string(), shown.text] {
                assert!(!text.contains("Patient/") && !text.contains("Secret") && !text.contains("display"), "{text}");
            }
            let matched = &found["MatchedMembers"];
            assert_eq!(matched["member"][0]["entity"]["reference"], "Patient/a");
            assert_eq!(matched["contained"][0]["id"], "theirs-8");
        }
    })
    .await;
}

fn identifier(found: &Answer) -> (String, String) {
    assert_eq!(found.status, 200, "{found:?}");
    let [one, member] = found.body["parameter"].as_array().unwrap().clone().try_into().unwrap();
    assert_eq!((&one["name"], &member["name"]), (&json!("MemberIdentifier"), &json!("MemberId")));
    let text = |name: &str| one["valueIdentifier"][name].as_str().unwrap().to_owned();
    assert_eq!(one["valueIdentifier"]["type"]["coding"][0]["code"], "UMB");
    (text("system"), text("value"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_identifier_of_a_match_finds_the_member_and_no_other_patient() {
    on_every_engine(async |world| {
        members(world).await;
        let number = |value: &str| {
            json!({"type": {"coding": [{"system": MB, "code": "MB"}]}, "system": "urn:mb", "value": value})
        };
        for (id, family, value) in [("a", "Adler", "M-1"), ("b", "Berg", "F-2"), ("twin", "Twin", "F-2")] {
            let mut patient = person(family);
            patient["identifier"].as_array_mut().unwrap().push(number(value));
            world.put(&format!("/fhir/Patient/{id}"), &patient).await;
        }
        let token = partner(world, "payer-b", "1000000001").await;
        let asked = async |family: &str| {
            let body = one(bundle(family, "1000000001"), |_| {});
            identifier(&ask(world, &token, &body).await)
        };
        assert_eq!(asked("Adler").await, ("urn:mb".to_owned(), "M-1".to_owned()), "its own number, and nothing is written");
        let mut values = Vec::new();
        for (family, id) in [("Adler", "a"), ("Berg", "b"), ("Twin", "twin"), ("Curie", "c")] {
            let (system, value) = asked(family).await;
            assert_eq!(asked(family).await, (system.clone(), value.clone()), "{family} keeps it");
            for query in [value.clone(), format!("{system}%7C{value}")] {
                let path = format!("/fhir/Patient?identifier={query}");
                let found = world.get(&path).bearer(&token).send().await;
                assert_eq!((&found.body["total"], &found.body["entry"][0]["resource"]["id"]), (&json!(1), &json!(id)), "{path}");
            }
            assert_ne!(value, id, "our id is not told by it");
            values.push(value);
        }
        values.sort();
        values.dedup();
        assert_eq!(values.len(), 4);
        let shown = world.get("/fhir/Patient/c").by_root().send().await.body;
        assert_eq!(shown["identifier"].as_array().unwrap().len(), 2, "it was made once: {shown}");
        assert_eq!(shown["name"][0]["family"], "Curie");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn matches_at_one_moment_give_a_member_one_identifier() {
    on_every_engine(async |world| {
        members(world).await;
        let token = partner(world, "payer-b", "1000000001").await;
        let body = one(bundle("Curie", "1000000001"), |_| {});
        let all = futures_util::future::join_all((0..4).map(|_| ask(world, &token, &body))).await;
        let mut identifiers: Vec<_> = all.iter().map(identifier).collect();
        identifiers.dedup();
        assert_eq!(identifiers.len(), 1, "{identifiers:?}");
    })
    .await;
}
