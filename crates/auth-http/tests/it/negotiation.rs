//! Formats of answers below `/fhir`.

use serde_json::json;

use crate::world::{World, on_every_engine};

#[tokio::test]
async fn xml_is_refused_everywhere_below_fhir_and_json_is_not_sent_instead() {
    on_every_engine(async |world| {
        world.put("/Patient/p", &json!({"gender": "female"})).await;
        let paths = [
            ("GET", "/fhir/metadata"),
            ("GET", "/fhir/Patient/p"),
            ("GET", "/fhir/Patient"),
            ("GET", "/fhir/Patient/p/_history"),
            ("GET", "/fhir/Patient/p/$everything"),
            ("GET", "/fhir/$export"),
            ("GET", "/fhir/no/such/address"),
            ("PUT", "/fhir/Patient/q"),
            ("POST", "/fhir"),
            ("POST", "/fhir/Patient/_search"),
        ];
        for (method, path) in paths {
            for accept in
                ["application/fhir+xml", "text/xml", "application/xml;q=0.9, text/html", "application/fhir+json;q=0"]
            {
                let call = world.call(method, path).by_root().header("accept", accept);
                let answer = if method == "PUT" { call.fhir(&json!({})).send().await } else { call.send().await };
                assert_eq!(answer.outcome(), (406, "not-supported"), "{method} {path} {accept}");
                assert_eq!(answer.header("content-type"), "application/fhir+json");
            }
            for format in ["xml", "application/fhir+xml", "text/xml", "ttl"] {
                let answer = world.call(method, &format!("{path}?_format={format}")).by_root().send().await;
                assert_eq!(answer.outcome().0, 406, "{method} {path} {format}");
            }
        }
        assert_eq!(world.get("/Patient/q").by_root().send().await.status, 404, "nothing was written");
        let form = world.post("/fhir/Patient/_search").by_root().form(&[("_format", "xml")]).send().await;
        assert_eq!(form.outcome(), (406, "not-supported"));
    })
    .await;
}

#[tokio::test]
async fn json_is_sent_wherever_a_request_leaves_room_for_it() {
    let world = World::new().await;
    world.put("/Patient/p", &json!({"gender": "female"})).await;
    for accept in [
        "*/*",
        "application/*",
        "application/json",
        "text/json",
        "application/fhir+json; fhirVersion=4.0",
        "application/fhir+xml;q=1, application/fhir+json;q=0.1",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    ] {
        let answer = world.get("/fhir/Patient/p").by_root().header("accept", accept).send().await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/fhir+json"), "{accept}");
    }
    for query in
        ["_format=json", "_format=application/fhir%2Bjson", "_format=application/fhir+json", "_format=text/json"]
    {
        let xml = world.get(&format!("/fhir/Patient/p?{query}")).by_root().header("accept", "application/fhir+xml");
        assert_eq!(xml.send().await.status, 200, "the address goes before the header: {query}");
    }
    let posted = world.post("/fhir/Patient/_search").by_root().form(&[("_format", "json")]).send().await;
    assert_eq!(posted.status, 200);
    // The native endpoint has one format, and the configuration of SMART is JSON by its specification.
    for path in ["/Patient/p", "/fhir/.well-known/smart-configuration"] {
        let answer = world.get(path).by_root().header("accept", "application/fhir+xml").send().await;
        assert_eq!(answer.status, 200, "{path}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_body_in_xml_is_415() {
    let world = World::new().await;
    for media_type in ["application/fhir+xml", "application/xml", "text/xml; charset=utf-8"] {
        for (method, path) in [
            ("PUT", "/fhir/Patient/p"),
            ("POST", "/fhir/Patient"),
            ("PATCH", "/fhir/Patient/p"),
            ("POST", "/fhir"),
            ("POST", "/fhir/Patient/$validate"),
            ("POST", "/fhir/Patient/$member-match"),
            ("POST", "/fhir/$export"),
            ("POST", "/fhir/Patient/_search"),
        ] {
            let call = world.call(method, path).by_root().text(media_type, "<Patient xmlns=\"http://hl7.org/fhir\"/>");
            assert_eq!(call.send().await.outcome(), (415, "not-supported"), "{method} {path} {media_type}");
        }
    }
    assert_eq!(world.get("/Patient/p").by_root().send().await.status, 404);
    world.end().await;
}
