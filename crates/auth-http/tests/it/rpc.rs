//! Calls by name.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::members::request_with;
use crate::world::{Answer, BASE, SECRET, World, on_every_engine};

const METHOD: &str = "platform.smart/get-launch-uri";

fn call(method: &str) -> Value {
    let params = json!({"client": "diary", "user": "amy", "iss": format!("{BASE}/fhir"), "ctx": {"patient": "amy"}});
    json!({"method": method, "params": params})
}

async fn world() -> World {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app("diary").await;
    world
}

async fn by_root(world: &World, body: &Value) -> Answer {
    world.post("/rpc").by_root().json(body).send().await
}

/// The error of a refused call, checked to be one as a whole.
fn error(answer: &Answer) -> (u16, &str) {
    assert_eq!(answer.header("content-type"), "application/json", "{answer:?}");
    assert!(answer.body["error"]["message"].is_string(), "{answer:?}");
    (answer.status.as_u16(), answer.body["error"]["code"].as_str().unwrap())
}

#[tokio::test]
async fn an_ehr_opens_an_app_and_the_member_finds_the_patient_chosen() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        world.public_app("diary").await;
        let answer = by_root(world, &call(METHOD)).await;
        assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, "no-store"), "{answer:?}");
        let result = &answer.body["result"];
        assert_eq!(result["iss"], format!("{BASE}/fhir"));
        assert_eq!(result["launch-uri"], "https://diary.example/launch");
        let launch = result["launch"].as_str().unwrap();
        assert!(result["uri"].as_str().unwrap().ends_with(&format!("&launch={launch}")));

        let browser = Browser::new(world);
        let asked = request_with("diary", "launch openid patient/Patient.rs", &[("launch", launch)]);
        let consent = browser.open_as("amy", &asked).await;
        assert_eq!(consent.path(), "/auth/grant");
        assert!(consent.html().contains("12 May 1987"));
        assert!(browser.allow(&consent).await.told("code").is_some());
        let again = browser.open(&asked).await;
        assert_eq!(again.told("error").as_deref(), Some("invalid_request"), "a launch is good once");
    })
    .await;
}

#[tokio::test]
async fn an_expired_launch_is_told_to_the_app() {
    let world = world().await;
    let launch = by_root(&world, &call(METHOD)).await.body["result"]["launch"].as_str().unwrap().to_owned();
    world.wait_s(301);
    let browser = Browser::new(&world);
    let left = browser.open(&request_with("diary", "launch patient/Patient.rs", &[("launch", &launch)])).await;
    assert_eq!(left.told("error").as_deref(), Some("invalid_request"));
    assert!(left.told("error_description").is_some_and(|text| text.contains("expired")));
    world.end().await;
}

#[tokio::test]
async fn a_client_calls_when_a_policy_lets_it_and_no_other() {
    let world = world().await;
    world.put("/Client/ehr", &json!({"grant_types": ["basic"], "secret": SECRET})).await;
    let as_ehr = async || world.post("/rpc").basic("ehr", SECRET).json(&call(METHOD)).send().await;
    assert_eq!(error(&as_ehr().await), (403, "forbidden"));
    let link = json!([{"reference": "Client/ehr"}]);
    let other = json!({"engine": "matcho", "matcho": {"uri": "/rpc", "body": {"method": "other"}}, "link": link});
    world.put("/AccessPolicy/ehr", &other).await;
    assert_eq!(error(&as_ehr().await), (403, "forbidden"));
    let this = json!({"engine": "matcho", "matcho": {"uri": "/rpc", "body": {"method": METHOD}}, "link": link});
    world.put("/AccessPolicy/ehr", &this).await;
    assert_eq!(as_ehr().await.status, 200);
    let operation = json!({"engine": "allow", "link": [{"reference": "Operation/RpcGetLaunchUri"}]});
    world.put("/AccessPolicy/ehr", &operation).await;
    assert_eq!(
        error(&as_ehr().await),
        (403, "forbidden"),
        "a launch vouches for a patient: a policy has to spell it out"
    );
    world.end().await;
}

#[tokio::test]
async fn who_shows_no_credentials_or_a_token_with_scopes_is_refused() {
    let world = world().await;
    let nobody = world.post("/rpc").json(&call(METHOD)).send().await;
    assert_eq!(error(&nobody).0, 401);
    assert!(nobody.header("www-authenticate").starts_with("Bearer "));
    let token = world.token_with_scope("backend", "system/*.cruds").await;
    assert_eq!(error(&world.post("/rpc").bearer(&token).json(&call(METHOD)).send().await).0, 403);
    world.end().await;
}

#[tokio::test]
async fn a_call_that_cannot_be_done_is_422_and_says_why() {
    let world = world().await;
    assert_eq!(error(&by_root(&world, &call("other.smart/get-launch-uri")).await).0, 422);
    assert_eq!(error(&by_root(&world, &call("platform/other")).await).0, 422);
    for (pointer, value) in [
        ("/params/client", json!("nobody")),
        ("/params/client", Value::Null),
        ("/params/user", json!("nobody")),
        ("/params/iss", json!("https://elsewhere.example/fhir")),
        ("/params/ctx/patient", json!("nobody")),
        ("/params/ctx", json!("amy")),
    ] {
        let mut wrong = call(METHOD);
        *wrong.pointer_mut(pointer).unwrap() = value;
        let answer = by_root(&world, &wrong).await;
        assert_eq!(error(&answer).0, 422, "{wrong}");
        assert!(answer.body.get("result").is_none());
    }
    for no_call in [json!({}), json!({"method": 1}), json!("text"), Value::Null] {
        assert_eq!(error(&by_root(&world, &no_call).await).0, 400, "{no_call}");
    }
    assert_eq!(error(&world.get("/rpc").by_root().send().await).0, 405);
    world.end().await;
}

#[tokio::test]
async fn the_brand_s_own_name_of_the_method_is_understood() {
    let world = world().await;
    assert_eq!(by_root(&world, &call("acme.smart/get-launch-uri")).await.status, 200);
    world.end().await;
}

#[tokio::test]
async fn each_call_of_a_list_has_its_own_answer() {
    let world = world().await;
    let answer = by_root(&world, &json!([call(METHOD), call("platform/other"), 7])).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body.as_array().map(Vec::len), Some(3));
    assert!(answer.body[0]["result"]["launch"].is_string());
    assert!(answer.body[1]["error"]["message"].as_str().unwrap().contains("smart/get-launch-uri"));
    assert_eq!(answer.body[2]["error"]["code"], "structure");
    let many = Value::Array(vec![call(METHOD); 101]);
    assert_eq!(error(&by_root(&world, &many).await).0, 400);
    world.end().await;
}
