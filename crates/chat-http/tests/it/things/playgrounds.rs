//! `POST /realm/playgrounds`, and removing them.

use serde_json::json;

use super::{ADMINISTRATOR, heard, listen, people};
use crate::town::Town;

const RUST: [(&str, &str); 3] = [
    ("name", " Rust playground "),
    ("pygments_language", "Rust"),
    ("url_template", "https://play.example/?code={code}"),
];

#[tokio::test]
async fn a_playground_is_added_and_told_to_everybody() {
    let town = Town::found().await;
    let [amy, _, _, gus] = people(&town).await;
    let ear = listen(&town, &gus, (r#"["realm_playgrounds"]"#, r#"{"notification_settings_null":true}"#)).await;
    let id = town.call(&amy, "POST /realm/playgrounds", &RUST).await.success()["id"].as_i64().unwrap();
    let told = json!({
        "id": id,
        "name": "Rust playground",
        "pygments_language": "Rust",
        "url_template": "https://play.example/?code={code}",
    });
    let event = json!({"type": "realm_playgrounds", "realm_playgrounds": [told]});
    assert_eq!(heard(&town, &ear).await, [event]);
    let types = [("fetch_event_types", r#"["realm_playgrounds"]"#)];
    let registered = town.call(&gus, "POST /register", &types).await.success();
    assert_eq!(registered["realm_playgrounds"], json!([told]));
    town.call(&amy, &format!("DELETE /realm/playgrounds/{id}"), &[]).await.success();
    assert_eq!(heard(&town, &ear).await[1], json!({"type": "realm_playgrounds", "realm_playgrounds": []}));
}

#[tokio::test]
async fn all_three_fields_are_required() {
    let town = Town::found().await;
    let before = town.realm().at();
    for missing in ["name", "pygments_language", "url_template"] {
        let given: Vec<_> = RUST.into_iter().filter(|(name, _)| *name != missing).collect();
        let told = town.call(&town.ada, "POST /realm/playgrounds", &given).await;
        told.refused(&format!("Missing '{missing}' argument"));
        let blank = RUST.map(|(name, value)| (name, if name == missing { " " } else { value }));
        let told = town.call(&town.ada, "POST /realm/playgrounds", &blank).await;
        told.refused("This field cannot be blank.");
        assert_eq!(told.body["errors"][missing], json!(["This field cannot be blank."]));
    }
    assert_eq!(town.realm().at(), before);
}

#[tokio::test]
async fn the_template_has_exactly_one_variable_named_code() {
    let town = Town::found().await;
    let before = town.realm().at();
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
        let told = town.call(&town.ada, "POST /realm/playgrounds", &[name, language, ("url_template", template)]).await;
        told.refused(text);
        assert_eq!(told.body["errors"], json!({field: [text]}));
    }
    let [name, _, template] = RUST;
    let told = town.call(&town.ada, "POST /realm/playgrounds", &[name, ("pygments_language", "a$b"), template]).await;
    told.refused("Invalid characters in pygments language");
    assert_eq!((told.body.get("errors"), town.realm().at()), (None, before));
}

#[tokio::test]
async fn only_administrators_add_and_remove_and_nothing_twice() {
    let town = Town::found().await;
    let [amy, max, sam, gus] = people(&town).await;
    let id = town.call(&amy, "POST /realm/playgrounds", &RUST).await.success()["id"].as_i64().unwrap();
    let before = town.realm().at();
    for who in [&max, &sam, &gus] {
        town.call(who, "POST /realm/playgrounds", &RUST).await.refused(ADMINISTRATOR);
        town.call(who, &format!("DELETE /realm/playgrounds/{id}"), &[]).await.refused(ADMINISTRATOR);
    }
    let told = town.call(&amy, "POST /realm/playgrounds", &RUST).await;
    told.refused("Realm playground with this Realm, Pygments language and Name already exists.");
    town.call(&amy, "DELETE /realm/playgrounds/999", &[]).await.refused("Invalid playground");
    assert_eq!(town.realm().at(), before);
}
