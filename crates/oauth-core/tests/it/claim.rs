//! Specification, Access token claim `extensions.hl7-b2b`, through whole token requests.

use oauth_core::b2b_claim_diagnosis::diagnose_b2b_claim;
use serde_json::{Value, json};

use crate::world::{EXT, NOW_US, Partner, World, fresh_jti, with_partner};

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

fn extension() -> Value {
    json!([{ "url": format!("{EXT}/StructureDefinition/client-hl7B2b"), "extension": [
        { "url": "organization", "valueReference": { "reference": "Organization/acme" } },
        { "url": "organizationIdentifierSystem", "valueUri": NPI },
        { "url": "purposeOfUse", "valueCoding":
            { "system": "http://terminology.hl7.org/CodeSystem/v3-ActReason", "code": "HPAYMT" } },
    ]}])
}

async fn registered() -> (World, Partner, Value) {
    let (world, partner) = with_partner().await;
    let mut client = partner.client();
    client["extension"] = extension();
    world.memory.put_resource("Client", "partner", client.clone());
    let identifier = json!([{ "system": NPI, "value": "1234567893" }]);
    world.memory.put_resource("Organization", "acme", json!({ "name": "Acme Health", "identifier": identifier }));
    (world, partner, client)
}

async fn next(world: &World, partner: &Partner) -> (Value, Result<(), &'static str>) {
    let response = world.assert(&partner.assertion(&fresh_jti())).await.unwrap();
    let claim = world.claims(&response.access_token)["extensions"]["hl7-b2b"].clone();
    (claim, response.b2b.map_err(|omission| omission.metric_label()))
}

#[tokio::test]
async fn the_claim_carries_version_organization_and_purpose() {
    let (world, partner, _) = registered().await;
    let (claim, outcome) = next(&world, &partner).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(
        claim,
        json!({
            "version": "1",
            "organization_id": format!("{NPI}#1234567893"),
            "organization_name": "Acme Health",
            "purpose_of_use": ["http://terminology.hl7.org/CodeSystem/v3-ActReason#HPAYMT"],
        })
    );
}

#[tokio::test]
async fn later_edits_of_the_organization_apply_to_the_next_token() {
    let (world, partner, _) = registered().await;
    let other_node = World::over(world.memory.clone(), world.host.clone()).await;
    for node in [&world, &other_node] {
        assert_eq!(next(node, &partner).await.1, Ok(()));
    }
    let identifier = json!([{ "system": NPI, "value": "9" }]);
    world.memory.put_resource("Organization", "acme", json!({ "name": "Renamed", "identifier": identifier }));
    for node in [&world, &other_node] {
        let (claim, _) = next(node, &partner).await;
        assert_eq!(claim["organization_name"], "Renamed");
        assert_eq!(claim["organization_id"], format!("{NPI}#9"));
    }
    world.memory.delete_resource("Organization", "acme", NOW_US);
    for node in [&world, &other_node] {
        assert_eq!(next(node, &partner).await, (Value::Null, Err("organization_absent")));
    }
}

#[tokio::test]
async fn otherwise_the_token_is_issued_without_the_claim_and_the_reason_is_diagnosed() {
    let (world, partner, client) = registered().await;
    let mut union = client.clone();
    union["extension"][0]["extension"][0] =
        json!({ "url": "organization", "value": { "Reference": { "resourceType": "Organization", "id": "acme" } } });
    let mut no_extension = client.clone();
    no_extension.as_object_mut().unwrap().remove("extension");
    let mut slash = client.clone();
    slash["extension"][0]["extension"][1]["valueUri"] = json!(format!("{NPI}/"));
    for (stored, code, condition) in
        [(no_extension, "no_extension", 2), (union, "union_form", 2), (slash, "no_matching_identifier", 3)]
    {
        world.memory.put_resource("Client", "partner", stored);
        assert_eq!(next(&world, &partner).await, (Value::Null, Err(code)));
        let diagnosis =
            serde_json::to_value(diagnose_b2b_claim(&world.server.directory, "partner").await.unwrap().unwrap())
                .unwrap();
        assert_eq!(diagnosis["embedded"], json!(false));
        assert_eq!(diagnosis["failing"]["check"], code);
        assert_eq!(diagnosis["failing"]["condition"], condition);
    }
    world.memory.put_resource("Client", "partner", client);
    let diagnosis =
        serde_json::to_value(diagnose_b2b_claim(&world.server.directory, "partner").await.unwrap().unwrap()).unwrap();
    assert_eq!(diagnosis["embedded"], json!(true));
    assert_eq!(diagnosis["hl7-b2b"]["organization_id"], format!("{NPI}#1234567893"));
    assert!(diagnose_b2b_claim(&world.server.directory, "nobody").await.unwrap().is_none());
}

#[tokio::test]
async fn a_claim_sent_in_the_assertion_is_never_copied() {
    let (world, partner) = with_partner().await;
    let mut claims = crate::world::claims("forged claim");
    claims["extensions"] = json!({ "hl7-b2b": { "version": "1", "organization_id": "x#y" } });
    let assertion = partner.sign(&Partner::header(jsonwebtoken::Algorithm::ES384), &claims);
    let response = world.assert(&assertion).await.unwrap();
    assert_eq!(world.claims(&response.access_token)["extensions"], Value::Null);
}
