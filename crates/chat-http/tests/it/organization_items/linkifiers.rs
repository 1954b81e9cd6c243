//! `GET /realm/linkifiers`, and what makes, changes and orders them.

use serde_json::{Value, json};

use super::{ADMINISTRATOR, heard, listen, people};
use crate::test_app::{Person, TestApp};

const PATTERN: &str = r"#(?P<id>[0-9]+)";
const TEMPLATE: &str = "https://tickets.example/{id}";

async fn add(app: &TestApp, who: &Person, pattern: &str, url_template: &str) -> i64 {
    let response = app.call(who, "POST /realm/filters", &[("pattern", pattern), ("url_template", url_template)]).await;
    response.success()["id"].as_i64().unwrap()
}

async fn list(app: &TestApp, who: &Person) -> Value {
    app.call(who, "GET /realm/linkifiers", &[]).await.success()["linkifiers"].take()
}

#[tokio::test]
async fn linkifiers_are_an_ordered_array_of_pattern_template_and_id() {
    let app = TestApp::found().await;
    let [.., gus] = people(&app).await;
    assert_eq!(list(&app, &gus).await, json!([]));
    let first = add(&app, &app.ada, PATTERN, TEMPLATE).await;
    let second = add(&app, &app.ada, "plain", "https://plain.example").await;
    let expected = json!([
        {"pattern": PATTERN, "url_template": TEMPLATE, "id": first},
        {"pattern": "plain", "url_template": "https://plain.example", "id": second},
    ]);
    assert_eq!(list(&app, &gus).await, expected);
    let called = app.call(&gus, "GET /realm/linkifiers", &[("x", "1")]).await.success();
    assert_eq!(called["ignored_parameters_unsupported"], json!(["x"]));
    assert_eq!(app.call_as_nobody("GET /realm/linkifiers", &[]).await.error().0, 401);
}

#[tokio::test]
async fn linkifiers_are_applied_in_the_given_order() {
    let app = TestApp::found().await;
    let near = add(&app, &app.ada, PATTERN, "https://near.example/{id}").await;
    let far = add(&app, &app.ada, r"(?P<id>#[0-9]+)", "https://far.example/{+id}").await;
    let rendered = async || {
        let response = app.call(&app.ada, "POST /messages/render", &[("content", "see #12")]).await;
        response.success()["rendered"].as_str().unwrap().to_owned()
    };
    assert_eq!(rendered().await, r#"<p>see <a href="https://near.example/12">#12</a></p>"#);
    let order = json!([far, near]).to_string();
    app.call(&app.ada, "PATCH /realm/linkifiers", &[("ordered_linkifier_ids", &order)]).await.success();
    let ids: Vec<_> = list(&app, &app.ada).await.as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, [json!(far), json!(near)]);
    assert_eq!(rendered().await, r#"<p>see <a href="https://far.example/#12">#12</a></p>"#);
    let before = app.realm().log_position();
    for order in [json!([near]), json!([near, near]), json!([near, far, 999])] {
        let order = order.to_string();
        let response = app.call(&app.ada, "PATCH /realm/linkifiers", &[("ordered_linkifier_ids", &order)]).await;
        response.refused("The ordered list must enumerate all existing linkifiers exactly once");
    }
    assert_eq!(app.realm().log_position(), before);
}

#[tokio::test]
async fn only_administrators_add_change_order_and_remove() {
    let app = TestApp::found().await;
    let [amy, max, sam, gus] = people(&app).await;
    let id = add(&app, &amy, PATTERN, TEMPLATE).await;
    let (path, order) = (format!("/realm/filters/{id}"), json!([id]).to_string());
    let before = app.realm().log_position();
    let parameters = [("pattern", "x"), ("url_template", "https://x.example")];
    for who in [&max, &sam, &gus] {
        app.call(who, "POST /realm/filters", &parameters).await.refused(ADMINISTRATOR);
        app.call(who, &format!("PATCH {path}"), &parameters).await.refused(ADMINISTRATOR);
        app.call(who, &format!("DELETE {path}"), &[]).await.refused(ADMINISTRATOR);
        let order = [("ordered_linkifier_ids", order.as_str())];
        app.call(who, "PATCH /realm/linkifiers", &order).await.refused(ADMINISTRATOR);
    }
    assert_eq!(app.realm().log_position(), before);
    app.call(&amy, &format!("PATCH {path}"), &parameters).await.success();
    assert_eq!(list(&app, &gus).await[0]["pattern"], "x");
    app.call(&amy, &format!("DELETE {path}"), &[]).await.success();
    assert_eq!(list(&app, &gus).await, json!([]));
    app.call(&amy, &format!("DELETE {path}"), &[]).await.refused("Linkifier not found.");
    app.call(&amy, &format!("PATCH {path}"), &parameters).await.refused("Linkifier not found.");
}

#[tokio::test]
async fn what_no_linkifier_can_be_is_refused_field_by_field() {
    let app = TestApp::found().await;
    add(&app, &app.ada, PATTERN, TEMPLATE).await;
    let before = app.realm().log_position();
    let refused = async |pattern: &str, template: &str| {
        let response =
            app.call(&app.ada, "POST /realm/filters", &[("pattern", pattern), ("url_template", template)]).await;
        assert_eq!((response.error().0, response.error().1), (400, "BAD_REQUEST"));
        (response.error().2.to_owned(), response.body["errors"].clone())
    };
    let blank = "This field cannot be blank.";
    let fields = json!({"pattern": [blank], "url_template": [blank]});
    assert_eq!(refused("", "").await, (blank.to_owned(), fields));
    let (text, fields) = refused("(?=x)", TEMPLATE).await;
    assert!(text.starts_with("Bad regular expression: ") && fields == json!({"pattern": [text]}), "{fields}");
    let text = "Invalid URL template.";
    assert_eq!(refused("x", "https://{").await, (text.to_owned(), json!({"url_template": [text]})));
    let text = "Group 'id' in linkifier pattern is not present in URL template.";
    assert_eq!(refused("(?P<id>x)", "https://x.example").await, (text.to_owned(), json!({"__all__": [text]})));
    let text = "Group 'id' in URL template is not present in linkifier pattern.";
    assert_eq!(refused("x", TEMPLATE).await, (text.to_owned(), json!({"__all__": [text]})));
    let text = "Realm filter with this Realm and Pattern already exists.";
    assert_eq!(refused(PATTERN, TEMPLATE).await, (text.to_owned(), json!({"__all__": [text]})));
    let missing = app.call(&app.ada, "POST /realm/filters", &[("pattern", "x")]).await;
    missing.refused("Missing 'url_template' argument");
    assert_eq!(app.realm().log_position(), before);
}

#[tokio::test]
async fn clients_that_know_templates_are_told_all_linkifiers_and_others_none() {
    let app = TestApp::found().await;
    let [_, _, sam, gus] = people(&app).await;
    let types = r#"["realm_linkifiers"]"#;
    let knows = listen(&app, &gus, (types, r#"{"notification_settings_null":true,"linkifier_url_template":true}"#));
    let knows = knows.await;
    let knows_not = listen(&app, &sam, (types, r#"{"notification_settings_null":true}"#)).await;
    let id = add(&app, &app.ada, PATTERN, TEMPLATE).await;
    let expected = json!([{"pattern": PATTERN, "url_template": TEMPLATE, "id": id}]);
    let event = json!({"type": "realm_linkifiers", "realm_linkifiers": expected});
    assert_eq!(heard(&app, &knows).await, [event]);
    assert_eq!(heard(&app, &knows_not).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_topic_links_what_a_linkifier_matches() {
    let app = TestApp::found().await;
    add(&app, &app.ada, PATTERN, TEMPLATE).await;
    let message = [("type", "channel"), ("to", "general"), ("topic", "about #7"), ("content", "hi")];
    let id = app.call(&app.ada, "POST /messages", &message).await.success()["id"].as_i64().unwrap();
    let response = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success();
    assert_eq!(response["message"]["topic_links"], json!([{"text": "#7", "url": "https://tickets.example/7"}]));
}

#[tokio::test]
async fn a_linkifier_that_leads_to_a_script_is_refused() {
    let app = TestApp::found().await;
    for template in ["javascript:alert({id})", "JAVASCRIPT:{id}", "data:text/html,{id}", "{+id}", "java{+id}"] {
        let parameters = [("pattern", "#(?P<id>[a-z:]+)"), ("url_template", template)];
        app.call(&app.ada, "POST /realm/filters", &parameters).await.refused("Invalid URL template.");
    }
    assert_eq!(app.call(&app.ada, "GET /realm/linkifiers", &[]).await.success()["linkifiers"], json!([]));
}
