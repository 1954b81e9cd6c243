//! Parameters through the whole router: places, encodings, refusals, and what is reported as ignored.

use axum::body::Body;
use serde_json::{Value, json};

use super::test_router::{TestResponse, TestRouter};
use crate::limits::{FILELESS_BODY_MAX_BYTES, MULTIPART_FILES_MAX, REQUEST_PARAMETERS_MAX};

const PATH: &str = "/api/v1/example";
const MULTIPART: &str = "multipart/form-data; boundary=XX";

fn part(name: &str, value: &str) -> String {
    format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
}

fn file(name: &str, content: &str) -> String {
    format!(
        "--XX\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a.txt\"\r\n\
         Content-Type: text/plain\r\n\r\n{content}\r\n"
    )
}

async fn posted(router: &TestRouter, media_type: &str, body: impl Into<Vec<u8>>) -> TestResponse {
    router.call("POST", PATH).iago().body(media_type, body).send().await
}

#[tokio::test]
async fn every_method_reads_query_and_both_kinds_of_body() {
    let router = TestRouter::new().await;
    let multipart = format!("{}{}--XX--\r\n", part("to", "[1, 2]"), part("word", "hé llo"));
    for method in ["GET", "POST", "PATCH"] {
        let query = router.call(method, &format!("{PATH}?to=%5B1,2%5D&word=h%C3%A9+llo")).iago().send().await;
        let form = router.call(method, PATH).iago().form("to=[1,2]&word=h%C3%A9%20llo").send().await;
        let parts = router.call(method, PATH).iago().body(MULTIPART, multipart.clone()).send().await;
        for response in [query, form, parts] {
            let body = response.success();
            assert_eq!((&body["to"], &body["word"]), (&json!([1, 2]), &json!("hé llo")), "{method}");
        }
    }
}

#[tokio::test]
async fn the_body_wins_over_the_query_and_the_last_value_over_the_first() {
    let router = TestRouter::new().await;
    let response =
        router.call("POST", &format!("{PATH}?word=query&to=[9]")).iago().form("word=one&word=two").send().await;
    let body = response.success();
    assert_eq!((&body["word"], &body["to"]), (&json!("two"), &json!([9])));
}

#[tokio::test]
async fn an_empty_multipart_body_is_no_fields() {
    let router = TestRouter::new().await;
    let response = router.call("POST", &format!("{PATH}?word=x")).iago().body(MULTIPART, "").send().await;
    assert_eq!(response.success()["word"], "x");
    assert_eq!(posted(&router, MULTIPART, "").await.error(), (400, "BAD_REQUEST", "Missing 'word' argument"));
}

#[tokio::test]
async fn a_body_of_another_kind_is_not_looked_at() {
    let router = TestRouter::new().await;
    for media_type in ["application/json", "text/plain", "no media type", "application/x-www-form-urlencodedx"] {
        let response = posted(&router, media_type, r#"{"word": "x"}"#).await;
        assert_eq!(response.error().2, "Missing 'word' argument", "{media_type}");
    }
    let response = posted(&router, "Application/X-WWW-Form-Urlencoded; charset=utf-8", "word=x").await;
    assert_eq!(response.success()["word"], "x");
}

#[tokio::test]
async fn a_malformed_multipart_body_is_refused() {
    let router = TestRouter::new().await;
    let unending = part("word", "x");
    let nameless = "--XX\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XX--\r\n";
    for body in ["garbage", unending.as_str(), nameless, "--XX\r\n\r\n--XX--\r\n"] {
        assert_eq!(
            posted(&router, MULTIPART, body).await.error(),
            (400, "BAD_REQUEST", "Malformed form data"),
            "{body}"
        );
    }
    assert_eq!(posted(&router, "multipart/form-data", "x").await.error().2, "Malformed form data");
}

#[tokio::test]
async fn files_are_no_parameters() {
    let router = TestRouter::new().await;
    let body = format!("{}{}--XX--\r\n", file("word", "12345"), part("word", "x"));
    let response = posted(&router, MULTIPART, body).await;
    assert_eq!(response.success()["files"], json!(["word=5"]));
    assert_eq!((&response.body["word"], response.body.get("ignored_parameters_unsupported")), (&json!("x"), None));
    let response = posted(&router, MULTIPART, format!("{}--XX--\r\n", file("word", "x"))).await;
    assert_eq!(response.error().2, "Missing 'word' argument");
}

#[tokio::test]
async fn what_is_not_supported_is_reported_sorted_and_on_success_only() {
    let router = TestRouter::new().await;
    let response =
        router.call("POST", &format!("{PATH}?zeta=1&word=x&alpha=")).iago().form("mid=%FF&client=me").send().await;
    assert_eq!(response.success()["ignored_parameters_unsupported"], json!(["alpha", "mid", "zeta"]));
    assert_eq!(response.body["client"], "me");
    let response = router.call("GET", &format!("{PATH}?zeta=1")).iago().send().await;
    assert_eq!(response.error().0, 400);
    assert_eq!(response.body.get("ignored_parameters_unsupported"), None);
    let response = router.call("GET", "/api/v1/open?zeta=1").send().await;
    assert_eq!(response.success()["ignored_parameters_unsupported"], json!(["zeta"]), "an endpoint without parameters");
}

#[tokio::test]
async fn the_client_is_named_by_its_parameter_else_its_program() {
    let router = TestRouter::new().await;
    let ask = async |path: &str| {
        let response = router.call("GET", path).iago().header("user-agent", "MyBot/1 (x)").send().await;
        response.success()["client"].clone()
    };
    assert_eq!(ask("/api/v1/example?word=x").await, "MyBot");
    assert_eq!(ask("/api/v1/example?word=x&client=website").await, "website");
    assert_eq!(ask("/api/v1/example?word=x&client=%FF").await, "MyBot");
}

#[tokio::test]
async fn each_refusal_has_its_text_and_its_further_keys() {
    let router = TestRouter::new().await;
    let cases = [
        ("", "BAD_REQUEST", "Missing 'word' argument", json!({"var_name": "word"})),
        ("word=x&to=[1", "BAD_REQUEST", "to is not valid JSON", json!({})),
        ("word=x&to=[1,%22a%22]", "BAD_REQUEST", "to[1] is not an integer", json!({})),
        ("word=x&to=5", "BAD_REQUEST", "to is not a list", json!({})),
        (
            "word=x&topic=a&subject=b",
            "REQUEST_CONFUSING_VAR",
            "Can't decide between 'topic' and 'subject' arguments",
            json!({"var_name1": "topic", "var_name2": "subject"}),
        ),
        (
            "word=a%FFb",
            "BAD_REQUEST",
            "Bad value for 'word': a\u{fffd}b",
            json!({"var_name": "word", "bad_value": "a\u{fffd}b"}),
        ),
        ("word=a%00b", "BAD_REQUEST", "Bad value for 'word': a\0b", json!({"var_name": "word", "bad_value": "a\0b"})),
    ];
    for (form, code, text, more) in cases {
        let response = router.call("POST", PATH).iago().form(form).send().await;
        assert_eq!(response.error(), (400, code, text), "{form}");
        let mut expected = json!({"result": "error", "msg": text, "code": code});
        expected.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(response.body, expected, "{form}");
    }
}

#[tokio::test]
async fn deep_json_is_refused_and_not_followed() {
    let router = TestRouter::new().await;
    for levels in [33, 1000, 100_000] {
        let form = format!("word=x&to={}{}", "[".repeat(levels), "]".repeat(levels));
        let response = router.call("POST", PATH).iago().form(&form).send().await;
        assert_eq!(response.error(), (400, "BAD_REQUEST", "to is not valid JSON"), "{levels}");
    }
}

#[tokio::test]
async fn too_many_parameters_are_refused() {
    let router = TestRouter::new().await;
    let form = |count: usize| "word=x&".repeat(count);
    assert_eq!(
        router.call("POST", PATH).iago().form(&form(REQUEST_PARAMETERS_MAX)).send().await.success()["word"],
        "x"
    );
    let response = router.call("POST", PATH).iago().form(&form(REQUEST_PARAMETERS_MAX + 1)).send().await;
    assert_eq!(response.error(), (400, "BAD_REQUEST", "Too many parameters (maximum 1000)."));
    let files = file("f", "x").repeat(MULTIPART_FILES_MAX + 1);
    assert_eq!(posted(&router, MULTIPART, format!("{files}--XX--\r\n")).await.error().0, 400);
}

#[tokio::test]
async fn a_body_over_its_limit_is_413_announced_or_not() {
    let router = TestRouter::new().await;
    let text = format!("The request is larger than the allowed limit of {FILELESS_BODY_MAX_BYTES} bytes");
    let long = format!("word={}", "x".repeat(FILELESS_BODY_MAX_BYTES));
    let response = router.call("POST", PATH).iago().form(&long).send().await;
    assert_eq!(response.error(), (413, "BAD_REQUEST", text.as_str()));

    let mut unannounced = router.call("POST", PATH).iago().form(&long);
    unannounced.unannounce(Body::from(long.clone()));
    assert_eq!(unannounced.send().await.error(), (413, "BAD_REQUEST", text.as_str()));

    let body = format!("{}--XX--\r\n", part("word", &"x".repeat(FILELESS_BODY_MAX_BYTES + 1)));
    assert_eq!(posted(&router, MULTIPART, body).await.error().0, 413);
    let body = format!("{}{}--XX--\r\n", file("f", &"x".repeat(2 * FILELESS_BODY_MAX_BYTES)), part("word", "x"));
    assert_eq!(posted(&router, MULTIPART, body).await.success()["word"], "x", "a file may be longer");
    let body = format!("{}--XX--\r\n", file("f", &"x".repeat(4 * FILELESS_BODY_MAX_BYTES)));
    assert_eq!(posted(&router, MULTIPART, body).await.error().0, 413);
}

#[tokio::test]
async fn null_is_no_list_unless_the_endpoint_says_so() {
    let router = TestRouter::new().await;
    let response = router.call("POST", PATH).iago().form("word=x&to=null").send().await;
    assert_eq!(response.error().2, "to is not a list");
    assert_eq!(response.body["var_name"], Value::Null);
}
