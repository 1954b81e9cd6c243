//! `/realm/emoji`: custom emoji.

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::model::group::SystemGroup;
use chat_core::model::realm::Realm;
use chat_core::model::realm_change::RealmChange;
use serde_json::{Value, json};

use super::{heard, listen, people};
use crate::file_store::{form, gif, png};
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

async fn add(app: &TestApp, who: &Person, name: &str, file: &[u8]) -> TestResponse {
    let form = form(&[("filename", "x.png", "image/png", file)]);
    app.call_with_files(who, &format!("POST /realm/emoji/{name}"), form).await
}

async fn list(app: &TestApp) -> Value {
    app.call(&app.ada, "GET /realm/emoji", &[]).await.success()["emoji"].take()
}

/// The one emoji there is.
async fn only(app: &TestApp) -> Value {
    list(app).await.as_object_mut().unwrap().values_mut().next().unwrap().take()
}

#[tokio::test]
async fn an_emoji_is_listed_with_its_author_and_a_picture_anybody_can_fetch() {
    let app = TestApp::found().await;
    let [_, _, sam, gus] = people(&app).await;
    assert_eq!(list(&app).await, json!({}));
    add(&app, &sam, "green_tick", &png(300, 100)).await.success();
    let response = list(&app).await;
    let (id, emoji) = response.as_object().unwrap().iter().next().unwrap();
    let source = emoji["source_url"].as_str().unwrap();
    let expected = json!({
        "id": id,
        "name": "green_tick",
        "source_url": source,
        "still_url": null,
        "deactivated": false,
        "author_id": sam.id,
    });
    assert_eq!(emoji, &expected);
    assert_eq!(app.call(&gus, "GET /realm/emoji", &[]).await.success()["emoji"], response);
    let (status, headers, picture) = app.fetch_bytes(source, &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "image/png"));
    assert_eq!(headers["x-content-type-options"], "nosniff");
    let read_picture_metadata = chat_pictures::read_picture_metadata(std::io::Cursor::new(&picture)).unwrap();
    assert_eq!(
        (read_picture_metadata.width, read_picture_metadata.height, read_picture_metadata.is_animated),
        (64, 64, false)
    );
}

#[tokio::test]
async fn an_emoji_that_moves_has_a_still_picture_too() {
    let app = TestApp::found().await;
    add(&app, &app.ada, "dance", &gif(3)).await.success();
    let emoji = only(&app).await;
    for (key, media_type, moves) in [("source_url", "image/gif", true), ("still_url", "image/png", false)] {
        let (status, headers, picture) = app.fetch_bytes(emoji[key].as_str().unwrap(), &[]).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, media_type));
        let read_picture_metadata = chat_pictures::read_picture_metadata(std::io::Cursor::new(&picture)).unwrap();
        assert_eq!(
            (read_picture_metadata.width, read_picture_metadata.height, read_picture_metadata.is_animated),
            (64, 64, moves),
            "{key}"
        );
    }
}

#[tokio::test]
async fn everybody_is_told_of_a_new_emoji_and_of_one_that_goes() {
    let app = TestApp::found().await;
    let [_, _, sam, gus] = people(&app).await;
    let queue = listen(&app, &gus, (r#"["realm_emoji"]"#, r#"{"notification_settings_null":true}"#)).await;
    add(&app, &sam, "tick", &png(64, 64)).await.success();
    let added = list(&app).await;
    app.call(&sam, "DELETE /realm/emoji/tick", &[]).await.success();
    let gone = list(&app).await;
    let event = |emoji: &Value| json!({"type": "realm_emoji", "op": "update", "realm_emoji": emoji});
    assert_eq!(heard(&app, &queue).await, [event(&added), event(&gone)]);
    assert_eq!(gone.as_object().unwrap().values().next().unwrap()["deactivated"], true);
}

#[tokio::test]
async fn a_deactivated_emoji_stays_visible_in_old_messages_and_reactions() {
    let app = TestApp::found().await;
    add(&app, &app.ada, "tick", &png(64, 64)).await.success();
    let emoji = only(&app).await;
    let message = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "done :tick:")];
    let id = app.call(&app.ada, "POST /messages", &message).await.success()["id"].as_i64().unwrap();
    let path = format!("/messages/{id}/reactions");
    app.call(&app.ada, &format!("POST {path}"), &[("emoji_name", "tick")]).await.success();
    app.call(&app.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    let response = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success();
    let source = emoji["source_url"].as_str().unwrap();
    assert!(response["message"]["content"].as_str().unwrap().contains(source), "{response}");
    assert_eq!(response["message"]["reactions"][0]["emoji_name"], "tick");
    assert_eq!(app.fetch_bytes(source, &[]).await.0, 200);
    // It can be taken away, and not given again.
    app.call(
        &app.ada,
        &format!("DELETE {path}"),
        &[("emoji_code", emoji["id"].as_str().unwrap()), ("reaction_type", "realm_emoji")],
    )
    .await
    .success();
    let response = app.call(&app.ada, &format!("POST {path}"), &[("emoji_name", "tick")]).await;
    response.refused("Emoji 'tick' does not exist");
}

#[tokio::test]
async fn an_unknown_name_is_404() {
    let app = TestApp::found().await;
    let response = app.call(&app.ada, "DELETE /realm/emoji/nope", &[]).await;
    assert_eq!(response.error(), (404, "BAD_REQUEST", "Emoji 'nope' does not exist"));
    add(&app, &app.ada, "tick", &png(8, 8)).await.success();
    app.call(&app.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    let response = app.call(&app.ada, "DELETE /realm/emoji/tick", &[]).await;
    assert_eq!(response.error(), (404, "BAD_REQUEST", "Emoji 'tick' does not exist"));
}

#[tokio::test]
async fn who_is_no_administrator_deactivates_only_what_they_added() {
    let app = TestApp::found().await;
    let [amy, max, sam, gus] = people(&app).await;
    add(&app, &sam, "tick", &png(8, 8)).await.success();
    let before = app.realm().log_position();
    for who in [&max, &gus] {
        let response = app.call(who, "DELETE /realm/emoji/tick", &[]).await;
        response.refused("Must be an organization administrator or emoji author");
    }
    assert_eq!(app.realm().log_position(), before);
    app.call(&sam, "DELETE /realm/emoji/tick", &[]).await.success();
    add(&app, &sam, "tick", &png(8, 8)).await.success();
    app.call(&amy, "DELETE /realm/emoji/tick", &[]).await.success();
}

#[tokio::test]
async fn what_is_no_picture_or_no_name_adds_nothing() {
    let app = TestApp::found().await;
    let [_, _, sam, gus] = people(&app).await;
    add(&app, &sam, "taken", &png(8, 8)).await.success();
    let (before, files) = (app.realm().log_position(), app.files.keys());
    let image = |response: &TestResponse| {
        let (status, code, text) = response.error();
        assert_eq!((status, code), (400, "BAD_IMAGE"));
        text.to_owned()
    };
    for svg in ["<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", "hello", ""] {
        assert_eq!(image(&add(&app, &sam, "tick", svg.as_bytes()).await), "Invalid image format", "{svg}");
    }
    let broken = &png(64, 64)[..50];
    let text = "Could not decode image; did you upload an image file?";
    assert_eq!(image(&add(&app, &sam, "tick", broken).await), text);
    let large = vec![0; 5 * 1024 * 1024 + 1];
    add(&app, &sam, "tick", &large).await.refused("Uploaded file is larger than the allowed limit of 5 MiB");
    let picture = png(8, 8);
    let one = ("f", "x.png", "image/png", picture.as_slice());
    for files in [&[][..], &[one, one]] {
        let response = app.call_with_files(&sam, "POST /realm/emoji/tick", form(files)).await;
        response.refused("You must upload exactly one file.");
    }
    for (name, text) in [
        ("Tick", "Emoji names must contain only lowercase English letters, digits, spaces, dashes, and underscores."),
        ("tick_", "Emoji names must end with either a letter or digit."),
        ("%20", "Emoji name is missing"),
        ("taken", "A custom emoji with this name already exists."),
        ("smile", "Only administrators can override default emoji."),
    ] {
        add(&app, &sam, name, &picture).await.refused(text);
    }
    add(&app, &gus, "tick", &picture).await.refused("Not allowed for guest users");
    assert_eq!((app.realm().log_position(), app.files.keys()), (before, files));
    add(&app, &sam, "my%20tick", &picture).await.success();
    let names: Vec<_> = list(&app).await.as_object().unwrap().values().map(|emoji| emoji["name"].clone()).collect();
    assert_eq!(names, ["taken", "my_tick"]);
}

#[tokio::test]
async fn the_realm_says_who_may_add() {
    let app = TestApp::found().await;
    let [amy, _, sam, _] = people(&app).await;
    let realm = app.realm();
    let before = realm.realm().unwrap();
    let mut rules = before.rules.clone();
    rules.add_custom_emoji = SystemGroup::Administrators.into();
    let changes = vec![RealmChange::Realm(Box::new(Realm { rules, ..before.clone() }))];
    let commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    add(&app, &sam, "tick", &png(8, 8)).await.refused("Insufficient permission");
    add(&app, &amy, "smile", &png(8, 8)).await.success();
}

#[tokio::test]
async fn a_picture_that_is_not_there_is_404() {
    let app = TestApp::found().await;
    let absent = format!("/user_avatars/1/emoji/images/{}.png", "a".repeat(32));
    for path in [absent.as_str(), "/user_avatars/1/emoji/images/..%2F..%2Fchat.db", "/user_avatars/1/x.svg"] {
        assert_eq!(app.fetch_bytes(path, &[]).await.0, 404, "{path}");
    }
}
