//! `POST /realm/playgrounds`, and removing them.

use serde_json::json;

use super::{ADMINISTRATOR, heard, listen, people};
use crate::test_app::TestApp;

const RUST: [(&str, &str); 3] = [
    ("name", " Rust playground "),
    ("pygments_language", "Rust"),
    ("url_template", "https://play.example/?code={code}"),
];

#[tokio::test]
async fn a_playground_is_added_and_told_to_everybody() {
    let app = TestApp::found().await;
    let [amy, _, _, gus] = people(&app).await;
    let queue = listen(&app, &gus, (r#"["realm_playgrounds"]"#, r#"{"notification_settings_null":true}"#)).await;
    let id = app.call(&amy, "POST /realm/playgrounds", &RUST).await.success()["id"].as_i64().unwrap();
    let expected = json!({
        "id": id,
        "name": "Rust playground",
        "pygments_language": "Rust",
        "url_template": "https://play.example/?code={code}",
    });
    let event = json!({"type": "realm_playgrounds", "realm_playgrounds": [expected]});
    assert_eq!(heard(&app, &queue).await, [event]);
    let types = [("fetch_event_types", r#"["realm_playgrounds"]"#)];
    let registered = app.call(&gus, "POST /register", &types).await.success();
    assert_eq!(registered["realm_playgrounds"], json!([expected]));
    app.call(&amy, &format!("DELETE /realm/playgrounds/{id}"), &[]).await.success();
    assert_eq!(heard(&app, &queue).await[1], json!({"type": "realm_playgrounds", "realm_playgrounds": []}));
}

#[tokio::test]
async fn all_three_fields_are_required() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    for missing in ["name", "pygments_language", "url_template"] {
        let given: Vec<_> = RUST.into_iter().filter(|(name, _)| *name != missing).collect();
        let response = app.call(&app.ada, "POST /realm/playgrounds", &given).await;
        response.refused(&format!("Missing '{missing}' argument"));
        let blank = RUST.map(|(name, value)| (name, if name == missing { " " } else { value }));
        let response = app.call(&app.ada, "POST /realm/playgrounds", &blank).await;
        response.refused("This field cannot be blank.");
        assert_eq!(response.body["errors"][missing], json!(["This field cannot be blank."]));
    }
    assert_eq!(app.realm().log_position(), before);
}

#[tokio::test]
async fn the_template_has_exactly_one_variable_named_code() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    for (template, field, text) in [
        ("https://{", "url_template", "Invalid URL template."),
        ("https://x/{code:99999}", "url_template", "Invalid URL template."),
        ("https://x/%é{code}", "url_template", "Invalid URL template."),
        ("javascript:{code}", "url_template", "Invalid URL template."),
        ("data:text/html,{code}", "url_template", "Invalid URL template."),
        ("{+code}", "url_template", "Invalid URL template."),
        ("https://x.example", "__all__", "Missing the required variable \"code\" in the URL template"),
        ("https://x/{code}/{y}", "__all__", "\"code\" should be the only variable present in the URL template"),
    ] {
        let [name, language, _] = RUST;
        let response =
            app.call(&app.ada, "POST /realm/playgrounds", &[name, language, ("url_template", template)]).await;
        response.refused(text);
        assert_eq!(response.body["errors"], json!({field: [text]}));
    }
    let [name, _, template] = RUST;
    let response = app.call(&app.ada, "POST /realm/playgrounds", &[name, ("pygments_language", "a$b"), template]).await;
    response.refused("Invalid characters in pygments language");
    assert_eq!((response.body.get("errors"), app.realm().log_position()), (None, before));
}

#[tokio::test]
async fn only_administrators_add_and_remove_and_nothing_twice() {
    let app = TestApp::found().await;
    let [amy, max, sam, gus] = people(&app).await;
    let id = app.call(&amy, "POST /realm/playgrounds", &RUST).await.success()["id"].as_i64().unwrap();
    let before = app.realm().log_position();
    for who in [&max, &sam, &gus] {
        app.call(who, "POST /realm/playgrounds", &RUST).await.refused(ADMINISTRATOR);
        app.call(who, &format!("DELETE /realm/playgrounds/{id}"), &[]).await.refused(ADMINISTRATOR);
    }
    let response = app.call(&amy, "POST /realm/playgrounds", &RUST).await;
    response.refused("Realm playground with this Realm, Pygments language and Name already exists.");
    app.call(&amy, "DELETE /realm/playgrounds/999", &[]).await.refused("Invalid playground");
    assert_eq!(app.realm().log_position(), before);
}
