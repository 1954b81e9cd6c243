//! Whatever strangers send is their fault and never ours.

use serde_json::json;

use crate::world::{Choice, World, on_every_engine};

#[tokio::test]
async fn a_malformed_body_is_a_client_error_everywhere() {
    let world = World::new().await;
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let nested = format!("{}1{}", "{\"a\":".repeat(110), "}".repeat(110));
    let bodies: [&[u8]; 16] = [
        b"",
        b"{",
        b"nonsense",
        b"{\"a\":1}}",
        b"\xff\xfe",
        b"{\"a\": \"\xff\"}",
        b"{\"a\": \"\\u0000\"}",
        b"{\"\\u0000\": 1}",
        b"{\"a\": \"\\ud800\"}",
        b"{\"id\": \"\\u0000\"}",
        b"{\"id\": {}, \"resourceType\": []}",
        b"{\"meta\": 1}",
        b"null",
        b"\0",
        deep.as_bytes(),
        nested.as_bytes(),
    ];
    for (method, path) in [
        ("PUT", "/Organization/o"),
        ("POST", "/Organization"),
        ("PATCH", "/Organization/there"),
        ("POST", "/"),
        ("PUT", "/"),
        ("PUT", "/fhir/Client/c"),
        ("POST", "/fhir"),
    ] {
        world.put("/Organization/there", &json!({"name": "A"})).await;
        for body in bodies {
            let answer = world.call(method, path).by_root().text("application/json", body.to_vec()).send().await;
            let status = answer.status.as_u16();
            assert!((400..500).contains(&status), "{method} {path} {:?}: {answer:?}", String::from_utf8_lossy(body));
            assert_eq!(answer.body["resourceType"], "OperationOutcome", "{answer:?}");
        }
    }
    world.end().await;
}

#[tokio::test]
async fn a_number_of_any_size_is_stored_or_refused() {
    on_every_engine(async |world| {
        for number in ["1e999", "-1e-999", "1e200000", "1e-200000", "1e99999999999999999999", "0.1", "1e2147483648"] {
            let body = format!("{{\"a\": {number}}}");
            for (method, path) in [("PUT", "/Organization/o"), ("PATCH", "/Organization/o"), ("PUT", "/Client/c")] {
                let call = world.call(method, path).by_root().text("application/json", body.clone());
                let answer = call.send().await;
                assert!(answer.status.as_u16() < 500, "{method} {path} {number}: {answer:?}");
            }
            let query = world.get(&format!("/Organization?a={number}")).by_root().send().await;
            assert!(query.status.as_u16() < 500, "{number}: {query:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn bad_json_is_told_where_it_ends_to_be_json() {
    let world = World::new().await;
    let body = "{\n  \"name\": oops\n}";
    let answer = world.call("PUT", "/Organization/o").by_root().text("application/json", body).send().await;
    assert_eq!(answer.outcome(), (400, "structure"));
    let diagnostics = answer.body["issue"][0]["diagnostics"].as_str().unwrap();
    assert!(diagnostics.contains("line 2 column 11"), "{diagnostics}");
    world.end().await;
}

#[tokio::test]
async fn a_body_of_another_media_type_is_415() {
    let world = World::new().await;
    for media_type in ["text/plain", "application/xml", "application/x-www-form-urlencoded", "text/yaml"] {
        let answer = world.call("PUT", "/Organization/o").by_root().text(media_type, "{}").send().await;
        assert_eq!(answer.outcome(), (415, "not-supported"), "{media_type}");
    }
    for media_type in ["application/json; charset=utf-8", "APPLICATION/FHIR+JSON;fhirVersion=4.0"] {
        let answer = world.call("PUT", "/fhir/Organization/o").by_root().text(media_type, "{}").send().await;
        assert!(answer.status.is_success(), "{media_type}: {answer:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_413() {
    let world = World::with(Choice { max_body_bytes: 1000, ..Choice::default() }).await;
    let body = json!({"name": "x".repeat(1000)});
    let answer = world.call("PUT", "/Organization/o").by_root().json(&body).send().await;
    assert_eq!(answer.outcome(), (413, "too-long"));
    let announced = world.call("PUT", "/fhir/Organization/o").by_root().header("content-length", "1001").json(&body);
    assert_eq!(announced.send().await.outcome(), (413, "too-long"));
    let form = [("grant_type", "x".repeat(1000))];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(world.post("/auth/token").form(&form).send().await.oauth_error(), (413, "invalid_request"));
    world.end().await;
}

#[tokio::test]
async fn a_malformed_form_is_an_oauth_error() {
    let world = World::new().await;
    let assertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    let forms: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"&&&===".to_vec(),
        b"grant_type".to_vec(),
        b"grant_type=%FF%FE".to_vec(),
        b"grant_type=%00".to_vec(),
        b"\xff\xfe=\xff".to_vec(),
        b"%".to_vec(),
        b"grant_type=client_credentials&client_id=%00&client_secret=%00".to_vec(),
        b"grant_type=client_credentials&grant_type=client_credentials".to_vec(),
        b"grant_type=client_credentials&client_id=a&client_secret=b&scope=%00".to_vec(),
        format!("grant_type=client_credentials&client_assertion_type={assertion}&client_assertion=a.b.c").into_bytes(),
        format!(
            "grant_type=client_credentials&client_assertion_type={assertion}&client_assertion={}",
            "x".repeat(9000)
        )
        .into_bytes(),
        vec![b'a'; 100_000],
    ];
    for form in forms {
        for path in ["/auth/token", "/auth/introspect", "/auth/revoke"] {
            let call = world.post(path).text("application/x-www-form-urlencoded", form.clone());
            let status = call.send().await.oauth_error().0;
            assert!(matches!(status, 400 | 401 | 413), "{path} {:?}: {status}", String::from_utf8_lossy(&form));
        }
    }
    world.end().await;
}

#[tokio::test]
async fn a_malformed_address_is_a_client_error() {
    let world = World::new().await;
    for path in [
        "/Client/%00",
        "/Client/%FF",
        "/Client/a%2Fb",
        "/%00/x",
        "/Client/..%2F..",
        "/fhir/Client/%E2%82%AC",
        "/Client?%00=x",
        "/Client?name=%00",
        "/Client?name=%FF",
        "/Client?.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q=1",
        "/Client?_count=99999999999999999999",
        "/Client?.meta.tag=%00",
    ] {
        let answer = world.get(path).by_root().send().await;
        assert!(answer.status.as_u16() < 500, "{path}: {answer:?}");
    }
    let long = format!("/Client/{}", "x".repeat(65));
    assert_eq!(world.get(&long).by_root().send().await.outcome().0, 400);
    world.end().await;
}

#[tokio::test]
async fn two_authorization_headers_are_a_fault() {
    let world = World::new().await;
    let twice = world.get("/Client").by_root().bearer("x").send().await;
    assert_eq!(twice.outcome().0, 400);
    let twice = world.post("/auth/token").basic("a", "b").bearer("x").form(&[("grant_type", "client_credentials")]);
    assert_eq!(twice.send().await.oauth_error(), (400, "invalid_request"));
    world.end().await;
}

#[tokio::test]
async fn what_is_too_much_of_a_resource_or_a_bundle_is_told_so() {
    let world = World::with(Choice { max_body_bytes: 20 * 1024 * 1024, ..Choice::default() }).await;
    let post =
        async |path: &str, body: String| world.post(path).by_root().text("application/fhir+json", body).send().await;
    let bundle = |entries: &str| format!(r#"{{"resourceType":"Bundle","type":"transaction","entry":[{entries}]}}"#);
    let million = bundle(&vec!["{}"; 1_000_000].join(","));
    assert_eq!(post("/fhir", million).await.outcome(), (413, "too-long"));
    let many = vec![r#"{"request":{"method":"GET","url":"Patient"}}"#; 5_001].join(",");
    assert_eq!(post("/fhir", bundle(&many)).await.outcome().0, 413);

    let long = json!({"url": "http://example.org/long", "valueString": "x".repeat(1_000_000)});
    let large = json!({"resourceType": "Basic", "code": {"text": "large"}, "extension": vec![long; 11]});
    let stored = post("/fhir/Basic", large.to_string()).await;
    assert_eq!(stored.status, 201);
    let larger = "x".repeat(21 * 1024 * 1024);
    assert_eq!(post("/fhir/Basic", larger).await.outcome(), (413, "too-long"));

    let nested = |depth: usize| {
        let open = r#"{"extension":[{"url":"u","#;
        let inner =
            format!("{}{}{}", r#""extension":[{"url":"u","#.repeat(depth), r#""valueCode":"x""#, "}]".repeat(depth));
        format!(r#"{open}{inner}}}],"resourceType":"Basic"}}"#)
    };
    assert_eq!(post("/fhir/Basic", nested(60)).await.outcome().0, 422, "120 deep");
    assert_eq!(post("/fhir/Basic", nested(10_000)).await.outcome().0, 400, "more than JSON is read");

    let entry = |own: &str, other: &str| {
        json!({
            "fullUrl": format!("urn:uuid:{own}"),
            "request": {"method": "POST", "url": "Basic"},
            "resource": {"resourceType": "Basic", "code": {"text": own}, "subject": {"reference": format!("urn:uuid:{other}")}},
        })
    };
    let cycle = bundle(&format!("{},{},{}", entry("a", "b"), entry("b", "a"), entry("c", "c")));
    let written = post("/fhir", cycle).await;
    assert_eq!(written.status, 200, "{written:?}");
    let location = |index: usize| {
        let location = written.body["entry"][index]["response"]["location"].as_str().unwrap();
        location.split("/_history").next().unwrap().to_owned()
    };
    for (index, other) in [(0, 1), (1, 0), (2, 2)] {
        let subject = &written.body["entry"][index]["resource"]["subject"]["reference"];
        assert_eq!(subject, &json!(location(other)), "a cycle is as good as any reference");
    }
    world.end().await;
}
