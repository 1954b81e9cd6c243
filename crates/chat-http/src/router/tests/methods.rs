//! Methods an address takes, and the ones a form stands for.

use serde_json::json;

use super::world::{IAGO, World};
use crate::limits::OVERRIDE_MAX_BYTES;

const PATH: &str = "/api/v1/example";

#[tokio::test]
async fn a_wrong_method_is_405_with_the_right_ones_before_anybody_is_asked_who_they_are() {
    let told = World::new().await.call("DELETE", PATH).send().await;
    assert_eq!(told.error(), (405, "METHOD_NOT_ALLOWED", "Method Not Allowed"));
    assert_eq!(told.body["allowed_methods"], json!(["GET", "HEAD", "PATCH", "POST"]));
    assert_eq!(told.header("allow"), "GET, HEAD, PATCH, POST");
}

#[tokio::test]
async fn options_tells_the_methods_and_nothing_else() {
    let world = World::new().await;
    let told = world.call("OPTIONS", PATH).send().await;
    assert_eq!((told.status.as_u16(), told.header("allow")), (204, "GET, HEAD, PATCH, POST"));
    assert_eq!(told.body, json!(null));
    assert_eq!(world.call("OPTIONS", "/api/v1/nothing").send().await.error().0, 404);
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let world = World::new().await;
    let told = world.call("HEAD", "/api/v1/open").send().await;
    assert_eq!((told.status.as_u16(), told.body), (200, json!(null)));
}

#[tokio::test]
async fn a_form_can_stand_for_the_methods_that_change_and_the_name_is_not_reported() {
    let world = World::new().await;
    for method in ["PATCH", "DELETE", "PUT"] {
        let told = world.call("POST", "/api/v1/example/3/n").iago().form(&format!("method={method}")).send().await;
        if method == "DELETE" {
            assert_eq!(told.success()["deleted"], 3);
        } else {
            assert_eq!(told.error().0, 405, "{method}");
        }
    }
    let told = world.call("POST", PATH).iago().form("word=a%20b&method=PATCH").send().await;
    assert_eq!(told.success()["word"], "a b");
    assert_eq!(told.body.get("ignored_parameters_unsupported"), None);
}

#[tokio::test]
async fn another_method_in_a_form_is_a_parameter_like_any_other() {
    let world = World::new().await;
    for method in ["GET", "delete", "BREW", "%FF"] {
        let told = world.call("POST", PATH).iago().form(&format!("word=x&method={method}")).send().await;
        assert_eq!(told.success()["ignored_parameters_unsupported"], json!(["method"]), "{method}");
    }
    let told = world.call("POST", &format!("{PATH}?method=DELETE")).iago().form("word=x").send().await;
    assert_eq!(told.success()["word"], "x", "not in the form, but in the query");
}

#[tokio::test]
async fn a_long_form_stands_for_itself() {
    let world = World::new().await;
    let form = format!("method=DELETE&word={}", "x".repeat(OVERRIDE_MAX_BYTES));
    let told = world.call("POST", PATH).iago().form(&form).send().await;
    assert_eq!(told.success()["word"].as_str().unwrap().len(), OVERRIDE_MAX_BYTES, "{IAGO}");
}
