//! Elements whose `uri` is a member and no reference: they come back as they were written.

use serde_json::json;

use crate::payers::{accepted, file, manifest};
use crate::world::on_every_engine;

#[tokio::test]
async fn a_uri_that_is_not_a_reference_is_read_and_found_as_it_was_written() {
    on_every_engine(async |world| {
        let policy = json!([{"uri": "http://payer.example/policy"}, {"authority": "http://a.example", "uri": "http://b.example"}]);
        let consent = json!({
            "resourceType": "Consent", "id": "c", "status": "active", "policy": policy,
            "scope": {"text": "s"}, "category": [{"text": "c"}], "patient": {"reference": "http://other.example/fhir/Patient/1"},
        });
        let participant = json!([{"type": "client", "uri": "http://h.example/fhir", "display": "h"}]);
        let report = json!({
            "resourceType": "TestReport", "id": "r", "status": "completed", "testScript": {"reference": "TestScript/s"},
            "result": "pass", "participant": participant,
        });
        for (written, element, expected) in [(&consent, "policy", &policy), (&report, "participant", &participant)] {
            let kind = written["resourceType"].as_str().unwrap();
            let id = written["id"].as_str().unwrap();
            let put = world.call("PUT", &format!("/fhir/{kind}/{id}")).by_root().fhir(written).send().await;
            assert_eq!((put.status.as_u16(), &put.body[element]), (201, expected), "{put:?}");
            let read = world.get(&format!("/fhir/{kind}/{id}")).by_root().send().await;
            assert_eq!(&read.body[element], expected);
            let found = world.get(&format!("/fhir/{kind}?_id={id}")).by_root().send().await;
            assert_eq!(&found.body["entry"][0]["resource"][element], expected, "{found:?}");
            let history = world.get(&format!("/fhir/{kind}/{id}/_history")).by_root().send().await;
            assert_eq!(&history.body["entry"][0]["resource"][element], expected);
        }
        let read = world.get("/fhir/Consent/c").by_root().send().await;
        assert_eq!(read.body["patient"], json!({"reference": "http://other.example/fhir/Patient/1"}));
        assert_eq!(world.get("/Consent/c").by_root().send().await.body["patient"], json!({"uri": "http://other.example/fhir/Patient/1"}));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_of_a_consent_is_exported_as_it_was_written() {
    on_every_engine(async |world| {
        let policy = json!([{"uri": "http://payer.example/policy"}]);
        let consent = json!({
            "resourceType": "Consent", "status": "active", "policy": policy, "scope": {"text": "s"},
            "category": [{"text": "c"}], "patient": {"reference": "Patient/p"},
        });
        assert_eq!(world.post("/fhir/Consent").by_root().fhir(&consent).send().await.status, 201);
        let token = world.token_with_scope("exporter", "system/*.rs").await;
        let begun = world.get("/fhir/$export?_type=Consent").bearer(&token).header("prefer", "respond-async");
        let job = accepted(&begun.send().await);
        let told = manifest(world, &token, "exporter", &job).await;
        let [line] = file(world, &token, &told, "Consent").await.try_into().unwrap();
        assert_eq!(line["policy"], policy, "{line}");
    })
    .await;
}
