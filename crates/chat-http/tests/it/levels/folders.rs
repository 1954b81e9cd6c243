//! Channel folders.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::personal::{heard, listen, mark, state};
use crate::spec::gather;
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const TYPES: &str = r#"["channel_folder", "stream"]"#;

async fn create(app: &TestApp, who: &Person, name: &str) -> TestResponse {
    let folder = [("name", name), ("description", "for *all*")];
    app.call(who, "POST /channel_folders/create", &folder).await
}

async fn folder(app: &TestApp, name: &str) -> i64 {
    create(app, &app.ada, name).await.success()["channel_folder_id"].as_i64().unwrap()
}

async fn update(app: &TestApp, id: i64, change: &[(&str, &str)]) -> TestResponse {
    app.call(&app.ada, &format!("PATCH /channel_folders/{id}"), change).await
}

async fn names(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> Vec<String> {
    let listed = app.call(who, "GET /channel_folders", parameters).await.success();
    let name = |folder: &Value| folder["name"].as_str().unwrap().to_owned();
    listed["channel_folders"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn level_389_a_folder_is_created_and_reported_and_listed() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let queue = listen(&app, &gus, TYPES, &[]).await;
    let id = folder(&app, " Work ").await;
    let expected = json!({
        "id": id, "name": "Work", "description": "for *all*", "rendered_description": "<p>for <em>all</em></p>",
        "order": id, "date_created": NOW_S, "creator_id": app.ada.id, "is_archived": false,
    });
    let event = json!({"type": "channel_folder", "op": "add", "channel_folder": expected});
    assert_eq!(heard(&app, &queue).await, [event]);
    assert_eq!(state(&app, &gus, "channel_folders").await, json!([expected]));
    let listed = app.call(&gus, "GET /channel_folders", &[]).await.success();
    assert_eq!(listed["channel_folders"], json!([expected]));
    app.call(&app.ada, "POST /channel_folders/create", &[("name", "Play")]).await.success();
    assert_eq!(names(&app, &gus, &[]).await, ["Work", "Play"]);
}

#[tokio::test]
async fn level_389_folders_are_made_by_administrators_and_their_names_are_checked() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Moderator).await;
    let id = folder(&app, "Work").await;
    let head = mark(&app);
    let administrator = "Must be an organization administrator";
    create(&app, &sam, "Play").await.refused(administrator);
    let path = format!("PATCH /channel_folders/{id}");
    app.call(&sam, &path, &[("name", "Play")]).await.refused(administrator);
    app.call(&sam, "PATCH /channel_folders", &[("order", &format!("[{id}]"))]).await.refused(administrator);
    let long = "x".repeat(1_025);
    for (name, text) in [
        ("  ", "Channel folder name can't be empty."),
        ("a\u{7}b", "Invalid character in channel folder name, at position 2."),
        ("WORK", "Channel folder name already in use"),
        (&long[..61], "name is too long (limit: 60 characters)"),
    ] {
        create(&app, &app.ada, name).await.refused(text);
    }
    let described = [("name", "Play"), ("description", long.as_str())];
    let refused = app.call(&app.ada, "POST /channel_folders/create", &described).await;
    refused.refused("description is too long (limit: 1024 characters)");
    update(&app, id + 1, &[("name", "Play")]).await.refused("Invalid channel folder ID");
    assert_eq!(mark(&app), head);
    let both = tokio::join!(create(&app, &app.ada, "Play"), create(&app, &app.ada, "play"));
    crate::spec::one_succeeds(both).refused("Channel folder name already in use");
    update(&app, id, &[("name", "Play")]).await.refused("Channel folder name already in use");
}

#[tokio::test]
async fn level_389_each_change_of_a_folder_has_its_event_and_what_is_the_same_has_none() {
    let app = TestApp::found().await;
    let id = folder(&app, "Work").await;
    let queue = listen(&app, &app.ada, TYPES, &[]).await;
    update(&app, id, &[("name", "Works"), ("description", "x"), ("is_archived", "true")]).await.success();
    let event = |data: Value| json!({"type": "channel_folder", "op": "update", "channel_folder_id": id, "data": data});
    let expected = [
        event(json!({"name": "Works"})),
        event(json!({"description": "x", "rendered_description": "<p>x</p>"})),
        event(json!({"is_archived": true})),
    ];
    assert_eq!(heard(&app, &queue).await, expected);
    let head = mark(&app);
    update(&app, id, &[("name", "Works"), ("description", "x"), ("is_archived", "true")]).await.success();
    update(&app, id, &[]).await.success();
    assert_eq!(mark(&app), head);
    assert_eq!(names(&app, &app.ada, &[]).await, Vec::<String>::new());
    assert_eq!(names(&app, &app.ada, &[("include_archived", "true")]).await, ["Works"]);
    assert_eq!(state(&app, &app.ada, "channel_folders").await[0]["is_archived"], true);
    // The name of an archived folder is free, and it comes back only while no other has it.
    let other = folder(&app, "works").await;
    update(&app, id, &[("is_archived", "false")]).await.refused("Channel folder name already in use");
    update(&app, other, &[("is_archived", "true")]).await.success();
    update(&app, id, &[("is_archived", "false")]).await.success();
}

#[tokio::test]
async fn level_389_a_channel_is_in_a_folder_or_in_none() {
    let app = TestApp::found().await;
    let (work, play) = (folder(&app, "Work").await, folder(&app, "Play").await);
    let place = work.to_string();
    let id = gather(&app, "plans", &[&app.ada], &[("folder_id", &place)]).await;
    let shown = async || app.call(&app.ada, &format!("GET /streams/{id}"), &[]).await.success()["stream"].clone();
    assert_eq!(shown().await["folder_id"], work);
    let queue = listen(&app, &app.ada, TYPES, &[]).await;
    let path = format!("PATCH /streams/{id}");
    app.call(&app.ada, &path, &[("folder_id", &play.to_string())]).await.success();
    app.call(&app.ada, &path, &[("description", "")]).await.success();
    assert_eq!(shown().await["folder_id"], play);
    app.call(&app.ada, &path, &[("folder_id", "null")]).await.success();
    let event = |value: Value| {
        json!({"type": "stream", "op": "update", "stream_id": id, "name": "plans", "property": "folder_id",
            "value": value})
    };
    assert_eq!(heard(&app, &queue).await, [event(json!(play)), event(Value::Null)]);
    update(&app, play, &[("is_archived", "true")]).await.success();
    let head = mark(&app);
    for id in [play, 4711] {
        let wanted = id.to_string();
        app.call(&app.ada, &path, &[("folder_id", &wanted)]).await.refused("Invalid channel folder ID");
        let new = [("name", "new"), ("subscribers", "[]"), ("folder_id", wanted.as_str())];
        app.call(&app.ada, "POST /channels/create", &new).await.refused("Invalid channel folder ID");
    }
    assert_eq!(mark(&app), head);
}

#[tokio::test]
async fn level_389_a_folder_that_holds_a_channel_even_an_archived_one_is_not_archived() {
    let app = TestApp::found().await;
    let work = folder(&app, "Work").await;
    let id = gather(&app, "plans", &[&app.ada], &[("folder_id", &work.to_string())]).await;
    let full = "You need to remove all the channels from this folder to archive it.";
    update(&app, work, &[("is_archived", "true")]).await.refused(full);
    app.call(&app.ada, &format!("DELETE /streams/{id}"), &[]).await.success();
    update(&app, work, &[("is_archived", "true")]).await.refused(full);
    app.call(&app.ada, &format!("PATCH /streams/{id}"), &[("folder_id", "null")]).await.success();
    update(&app, work, &[("is_archived", "true")]).await.success();
}

#[tokio::test]
async fn levels_414_and_418_folders_are_put_into_an_order_all_of_them_at_once() {
    let app = TestApp::found().await;
    let (a, b, c) = (folder(&app, "a").await, folder(&app, "b").await, folder(&app, "c").await);
    update(&app, b, &[("is_archived", "true")]).await.success();
    let queue = listen(&app, &app.ada, TYPES, &[]).await;
    let head = mark(&app);
    let order =
        async |ids: &[i64]| app.call(&app.ada, "PATCH /channel_folders", &[("order", &json!(ids).to_string())]).await;
    for wrong in [&[c, a][..], &[c, b, a, a], &[c, b, a, 4711], &[c, c, a], &[]] {
        order(wrong).await.refused("Invalid order mapping.");
    }
    assert_eq!(mark(&app), head);
    order(&[c, b, a]).await.success();
    let expected = json!({"type": "channel_folder", "op": "reorder", "order": [c, b, a]});
    assert_eq!(heard(&app, &queue).await, [expected]);
    assert_eq!(names(&app, &app.ada, &[("include_archived", "true")]).await, ["c", "b", "a"]);
    let head = mark(&app);
    order(&[c, b, a]).await.success();
    assert_eq!(mark(&app), head);
    folder(&app, "d").await;
    assert_eq!(names(&app, &app.ada, &[]).await, ["c", "a", "d"]);
}

#[tokio::test]
async fn level_410_the_limits_of_folders_are_named() {
    let app = TestApp::found().await;
    assert_eq!(state(&app, &app.ada, "max_channel_folder_name_length").await, 60);
    assert_eq!(state(&app, &app.ada, "max_channel_folder_description_length").await, 1_024);
}
