//! Writing Clients, Users, policies and issuers: what is refused, what the answer warns of, what stays as it was.

use serde_json::{Value, json};

use crate::world::{SECRET, World, on_every_engine};

const PASSWORD: &str = "correct horse battery";

async fn refused(world: &World, method: &str, path: &str, body: &Value) -> String {
    let answer = world.call(method, path).by_root().json(body).send().await;
    assert_eq!(answer.status, 422, "{method} {path} {body}: {answer:?}");
    answer.body["issue"][0]["diagnostics"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_secret_or_password_written_again_adds_no_version() {
    on_every_engine(async |world| {
        let client = json!({"grant_types": ["basic"], "secret": SECRET});
        let short = json!({"grant_types": ["basic"], "secret": "short"});
        let user = json!({"userName": "ada", "password": PASSWORD});
        for (path, body, key) in
            [("/Client/c", client, "secret"), ("/Client/s", short, "secret"), ("/User/ada", user, "password")]
        {
            let first = world.put(path, &body).await;
            let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": [
                {"request": {"method": "PUT", "url": &path[1..]}, "resource": body},
            ]});
            world.post("/fhir").by_root().fhir(&bundle).send().await;
            let merged = world.call("PATCH", path).by_root().json(&json!({key: body[key]})).send().await;
            let replaced = json!([{"op": "replace", "path": format!("/{key}"), "value": body[key]}]);
            let replaced = world.call("PATCH", path).by_root().json(&replaced).send().await;
            for answer in [world.put(path, &body).await, merged, replaced] {
                assert_eq!(answer.status, 200, "{path}: {answer:?}");
                assert_eq!(answer.header("etag"), first.header("etag"), "{path}");
            }
            let mut other = body;
            other[key] = json!("another secret altogether");
            assert_ne!(world.put(path, &other).await.header("etag"), first.header("etag"), "{path}");
        }
        let found = world.call("PUT", "/User?userName=ada").by_root();
        let again = json!({"userName": "ada", "password": "another secret altogether"});
        let found = found.json(&again).send().await;
        assert_eq!(found.header("etag"), world.get("/User/ada").by_root().send().await.header("etag"), "{found:?}");
    })
    .await;
}

#[tokio::test]
async fn a_user_named_as_another_is_a_conflict_at_every_door() {
    on_every_engine(async |world| {
        world.put("/User/ada", &json!({"userName": "ada", "email": "ada@example.org"})).await;
        world.put("/User/bob", &json!({"userName": "bob"})).await;
        let twin = json!({"userName": "ADA "});
        for answer in [
            world.call("PUT", "/User/twin").by_root().json(&twin).send().await,
            world.call("PUT", "/fhir/User/twin").by_root().json(&twin).send().await,
            world.post("/User").by_root().json(&json!({"userName": "Ada@Example.org"})).send().await,
            world.call("PATCH", "/User/bob").by_root().json(&twin).send().await,
            world.call("PATCH", "/User/bob").by_root().json(&json!({"email": "ada"})).send().await,
        ] {
            assert_eq!(answer.outcome(), (409, "duplicate"), "{answer:?}");
            assert_eq!(
                answer.body["issue"][0]["diagnostics"],
                "another resource has the same userName or email already"
            );
        }
        assert_eq!(world.get("/User").by_root().send().await.body["total"], 2);
    })
    .await;
}

#[tokio::test]
async fn a_misspelt_element_is_refused_with_the_one_that_is_meant() {
    let world = World::new().await;
    for (path, body, at, meant) in [
        ("/Client/c", json!({"grant_type": ["basic"]}), "Client.grant_type", "grant_types"),
        ("/Client/c", json!({"auth": {"client_credentials": {"token_fromat": "jwt"}}}), "token_fromat", "token_format"),
        ("/User/u", json!({"username": "ada"}), "User.username", "userName"),
        ("/AccessPolicy/p", json!({"engine": "allow", "links": []}), "AccessPolicy.links", "link"),
        ("/AccessPolicy/p", json!({"engine": "allow", "role": "admin"}), "AccessPolicy.role", "roleName"),
    ] {
        let text = refused(&world, "PUT", path, &body).await;
        assert!(text.contains(at) && text.contains(&format!("is {meant} meant?")), "{text}");
        assert_eq!(world.get(path).by_root().send().await.status, 404, "{path}");
    }
    world.put("/Client/c", &json!({"grant_types": ["basic"], "contacts": [], "details": {"grant_type": 1}})).await;
}

#[tokio::test]
async fn a_password_that_is_short_or_common_is_refused() {
    let world = World::new().await;
    for (password, expected) in [("seven77", "at least 8 characters"), ("Password123", "most common passwords")] {
        let text = refused(&world, "PUT", "/User/u", &json!({"userName": "u", "password": password})).await;
        assert!(text.contains(expected) && !text.contains(password), "{text}");
    }
    world.put("/User/u", &json!({"userName": "u", "password": PASSWORD})).await;
    refused(&world, "PATCH", "/User/u", &json!({"password": "seven77"})).await;
}

#[tokio::test]
async fn the_answer_to_a_write_warns_of_what_the_writer_may_not_expect() {
    let world = World::new().await;
    let issuer = json!({"type": "jwt", "jwt": {"iss": "https://idp.example", "secret": "x".repeat(32)}});
    let answer = world.put("/TokenIntrospector/idp", &issuer).await;
    let warning = answer.header("warning");
    assert!(warning.starts_with("199 - \"TokenIntrospector.jwt.audience is not set"), "{warning}");
    let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": [
        {"request": {"method": "PUT", "url": "TokenIntrospector/idp"}, "resource": issuer},
    ]});
    let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
    let issue = &answer.body["entry"][0]["response"]["outcome"]["issue"][0];
    assert_eq!(
        (&issue["severity"], &issue["expression"][0]),
        (&json!("warning"), &json!("TokenIntrospector.jwt.audience"))
    );
    let told = world.call("PUT", "/TokenIntrospector/idp").by_root().header("prefer", "return=OperationOutcome");
    let told = told.json(&issuer).send().await;
    assert_eq!(told.body["issue"][1]["severity"], "warning", "{told:?}");
    let mut limited = issuer;
    limited["jwt"]["audience"] = json!("https://payer.example");
    assert_eq!(world.put("/TokenIntrospector/idp", &limited).await.header("warning"), "");
    let open = world.put("/AccessPolicy/open", &json!({"engine": "allow"})).await;
    assert!(open.header("warning").contains("every request of everyone is allowed"), "{open:?}");
}

/// Every way to present a secret, to be sent from an address.
async fn attempt(world: &World, way: &str, (id, secret): (&str, &str), address: [u8; 4]) -> u16 {
    let grant = ("grant_type", "client_credentials");
    let form = [grant, ("client_id", id), ("client_secret", secret), ("token", "x")];
    let call = match way {
        "token by Basic" => world.post("/auth/token").basic(id, secret).form(&[grant]),
        "token by form" => world.post("/auth/token").form(&form),
        "introspect" => world.post("/auth/introspect").basic(id, secret).form(&[("token", "x")]),
        "revoke" => world.post("/auth/revoke").basic(id, secret).form(&[("token", "x")]),
        "userinfo" => world.get("/auth/userinfo").basic(id, secret),
        _ => world.get("/fhir/Patient").basic(id, secret),
    };
    let answer = call.from(address).send().await;
    if answer.status == 429 {
        assert_eq!(answer.header("retry-after"), "30", "{way}");
    }
    answer.status.as_u16()
}

#[tokio::test]
async fn wrong_secrets_are_held_where_they_come_from_and_the_client_is_not_locked_out() {
    for way in ["token by Basic", "token by form", "introspect", "revoke", "userinfo", "fhir"] {
        let world = World::new().await;
        world.client_with_policy("payer", &json!({"engine": "allow"})).await;
        let root = (crate::world::ROOT_SECRET, if way == "fhir" { 200 } else { 0 });
        for (id, secret, right) in [("payer", SECRET, 200), ("root", root.0, root.1)] {
            let (here, elsewhere) = ([198, 51, 100, 7], [203, 0, 113, 7]);
            for number in 0..10 {
                let status = attempt(&world, way, (id, "wrong"), here).await;
                assert!(matches!(status, 400 | 401), "{way} {id} {number}: {status}");
            }
            assert_eq!(attempt(&world, way, (id, "wrong"), here).await, 429, "{way} {id}");
            assert_eq!(
                attempt(&world, way, (id, secret), here).await,
                429,
                "{way} {id}: the right one is not looked at"
            );
            let owner = attempt(&world, way, (id, secret), elsewhere).await;
            assert_ne!(owner, 429, "{way} {id}");
            if right == 200 && way != "userinfo" {
                assert_eq!(owner, 200, "{way} {id}");
            }
            world.wait_s(30);
            assert_ne!(attempt(&world, way, (id, secret), here).await, 429, "{way} {id}");
        }
    }
}

#[tokio::test]
async fn right_secrets_are_not_held_however_many_there_are() {
    let world = World::new().await;
    world.client_with_policy("payer", &json!({"engine": "allow"})).await;
    for _ in 0..30 {
        assert_eq!(attempt(&world, "fhir", ("payer", SECRET), [198, 51, 100, 7]).await, 200);
    }
}
