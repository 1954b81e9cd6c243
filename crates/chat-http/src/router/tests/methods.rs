//! Methods an address takes, and the ones a form stands for.

use serde_json::json;

use super::test_router::{IAGO, TestRouter};
use crate::limits::METHOD_OVERRIDE_FORM_MAX_BYTES;

const PATH: &str = "/api/v1/example";

#[tokio::test]
async fn a_wrong_method_is_405_with_the_right_ones_before_anybody_is_asked_who_they_are() {
    let response = TestRouter::new().await.call("DELETE", PATH).send().await;
    assert_eq!(response.error(), (405, "METHOD_NOT_ALLOWED", "Method Not Allowed"));
    assert_eq!(response.body["allowed_methods"], json!(["GET", "HEAD", "PATCH", "POST"]));
    assert_eq!(response.header("allow"), "GET, HEAD, PATCH, POST");
}

#[tokio::test]
async fn options_tells_the_methods_and_nothing_else() {
    let router = TestRouter::new().await;
    let response = router.call("OPTIONS", PATH).send().await;
    assert_eq!((response.status.as_u16(), response.header("allow")), (204, "GET, HEAD, PATCH, POST"));
    assert_eq!(response.body, json!(null));
    assert_eq!(router.call("OPTIONS", "/api/v1/nothing").send().await.error().0, 404);
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let router = TestRouter::new().await;
    let response = router.call("HEAD", "/api/v1/open").send().await;
    assert_eq!((response.status.as_u16(), response.body), (200, json!(null)));
}

#[tokio::test]
async fn a_form_can_stand_for_the_methods_that_change_and_the_name_is_not_reported() {
    let router = TestRouter::new().await;
    for method in ["PATCH", "DELETE", "PUT"] {
        let response = router.call("POST", "/api/v1/example/3/n").iago().form(&format!("method={method}")).send().await;
        if method == "DELETE" {
            assert_eq!(response.success()["deleted"], 3);
        } else {
            assert_eq!(response.error().0, 405, "{method}");
        }
    }
    let response = router.call("POST", PATH).iago().form("word=a%20b&method=PATCH").send().await;
    assert_eq!(response.success()["word"], "a b");
    assert_eq!(response.body.get("ignored_parameters_unsupported"), None);
}

#[tokio::test]
async fn another_method_in_a_form_is_a_parameter_like_any_other() {
    let router = TestRouter::new().await;
    for method in ["GET", "delete", "BREW", "%FF"] {
        let response = router.call("POST", PATH).iago().form(&format!("word=x&method={method}")).send().await;
        assert_eq!(response.success()["ignored_parameters_unsupported"], json!(["method"]), "{method}");
    }
    let response = router.call("POST", &format!("{PATH}?method=DELETE")).iago().form("word=x").send().await;
    assert_eq!(response.success()["word"], "x", "not in the form, but in the query");
}

#[tokio::test]
async fn a_long_form_stands_for_itself() {
    let router = TestRouter::new().await;
    let form = format!("method=DELETE&word={}", "x".repeat(METHOD_OVERRIDE_FORM_MAX_BYTES));
    let response = router.call("POST", PATH).iago().form(&form).send().await;
    assert_eq!(response.success()["word"].as_str().unwrap().len(), METHOD_OVERRIDE_FORM_MAX_BYTES, "{IAGO}");
}
