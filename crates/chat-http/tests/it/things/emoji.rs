//! `/realm/emoji`: custom emoji.

use chat_core::log::commit::{CommitOutcome, RealmCommit};
use chat_core::log::store::RealmStore as _;
use chat_core::model::change::RealmChange;
use chat_core::model::realm::Realm;
use chat_core::model::role::PermissionPolicy;
use serde_json::{Value, json};

use super::{heard, listen, people};
use crate::cellar::{form, gif, png};
use crate::town::{NOW_S, Person, Told, Town};

async fn add(town: &Town, who: &Person, name: &str, file: &[u8]) -> Told {
    let form = form(&[("filename", "x.png", "image/png", file)]);
    town.call_with_files(who, &format!("POST /realm/emoji/{name}"), form).await
}

async fn list(town: &Town) -> Value {
    town.call(&town.ada, "GET /realm/emoji", &[]).await.success()["emoji"].take()
}

/// The one emoji there is.
async fn only(town: &Town) -> Value {
    list(town).await.as_object_mut().unwrap().values_mut().next().unwrap().take()
}

#[tokio::test]
async fn an_emoji_is_listed_with_its_author_and_a_picture_anybody_can_fetch() {
    let town = Town::found().await;
    let [_, _, sam, gus] = people(&town).await;
    assert_eq!(list(&town).await, json!({}));
    add(&town, &sam, "green_tick", &png(300, 100)).await.success();
    let told = list(&town).await;
    let (id, emoji) = told.as_object().unwrap().iter().next().unwrap();
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
    assert_eq!(town.call(&gus, "GET /realm/emoji", &[]).await.success()["emoji"], told);
    let (status, headers, picture) = town.fetch_bytes(source, &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "image/png"));
    assert_eq!(headers["x-content-type-options"], "nosniff");
    let facts = chat_pictures::facts(std::io::Cursor::new(&picture)).unwrap();
    assert_eq!((facts.width, facts.height, facts.is_animated), (64, 64, false));
}

#[tokio::test]
async fn an_emoji_that_moves_has_a_still_picture_too() {
    let town = Town::found().await;
    add(&town, &town.ada, "dance", &gif(3)).await.success();
    let emoji = only(&town).await;
    for (key, media_type, moves) in [("source_url", "image/gif", true), ("still_url", "image/png", false)] {
        let (status, headers, picture) = town.fetch_bytes(emoji[key].as_str().unwrap(), &[]).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, media_type));
        let facts = chat_pictures::facts(std::io::Cursor::new(&picture)).unwrap();
        assert_eq!((facts.width, facts.height, facts.is_animated), (64, 64, moves), "{key}");
    }
}

#[tokio::test]
async fn everybody_is_told_of_a_new_emoji_and_of_one_that_goes() {
    let town = Town::found().await;
    let [_, _, sam, gus] = people(&town).await;
    let ear = listen(&town, &gus, (r#"["realm_emoji"]"#, r#"{"notification_settings_null":true}"#)).await;
    add(&town, &sam, "tick", &png(64, 64)).await.success();
    let added = list(&town).await;
    town.call(&sam, "DELETE /realm/emoji/tick", &[]).await.success();
    let gone = list(&town).await;
    let event = |emoji: &Value| json!({"type": "realm_emoji", "op": "update", "realm_emoji": emoji});
    assert_eq!(heard(&town, &ear).await, [event(&added), event(&gone)]);
    assert_eq!(gone.as_object().unwrap().values().next().unwrap()["deactivated"], true);
}

#[tokio::test]
async fn a_deactivated_emoji_stays_visible_in_old_messages_and_reactions() {
    let town = Town::found().await;
    add(&town, &town.ada, "tick", &png(64, 64)).await.success();
    let emoji = only(&town).await;
    let message = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "done :tick:")];
    let id = town.call(&town.ada, "POST /messages", &message).await.success()["id"].as_i64().unwrap();
    let path = format!("/messages/{id}/reactions");
    town.call(&town.ada, &format!("POST {path}"), &[("emoji_name", "tick")]).await.success();
    town.call(&town.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    let told = town.call(&town.ada, &format!("GET /messages/{id}"), &[]).await.success();
    let source = emoji["source_url"].as_str().unwrap();
    assert!(told["message"]["content"].as_str().unwrap().contains(source), "{told}");
    assert_eq!(told["message"]["reactions"][0]["emoji_name"], "tick");
    assert_eq!(town.fetch_bytes(source, &[]).await.0, 200);
    // It can be taken away, and not given anew.
    town.call(
        &town.ada,
        &format!("DELETE {path}"),
        &[("emoji_code", emoji["id"].as_str().unwrap()), ("reaction_type", "realm_emoji")],
    )
    .await
    .success();
    let told = town.call(&town.ada, &format!("POST {path}"), &[("emoji_name", "tick")]).await;
    told.refused("Emoji 'tick' does not exist");
}

#[tokio::test]
async fn an_unknown_name_is_404() {
    let town = Town::found().await;
    let told = town.call(&town.ada, "DELETE /realm/emoji/nope", &[]).await;
    assert_eq!(told.error(), (404, "BAD_REQUEST", "Emoji 'nope' does not exist"));
    add(&town, &town.ada, "tick", &png(8, 8)).await.success();
    town.call(&town.ada, "DELETE /realm/emoji/tick", &[]).await.success();
    let told = town.call(&town.ada, "DELETE /realm/emoji/tick", &[]).await;
    assert_eq!(told.error(), (404, "BAD_REQUEST", "Emoji 'tick' does not exist"));
}

#[tokio::test]
async fn who_is_no_administrator_deactivates_only_what_they_added() {
    let town = Town::found().await;
    let [amy, max, sam, gus] = people(&town).await;
    add(&town, &sam, "tick", &png(8, 8)).await.success();
    let before = town.realm().at();
    for who in [&max, &gus] {
        let told = town.call(who, "DELETE /realm/emoji/tick", &[]).await;
        told.refused("Must be an organization administrator or emoji author");
    }
    assert_eq!(town.realm().at(), before);
    town.call(&sam, "DELETE /realm/emoji/tick", &[]).await.success();
    add(&town, &sam, "tick", &png(8, 8)).await.success();
    town.call(&amy, "DELETE /realm/emoji/tick", &[]).await.success();
}

#[tokio::test]
async fn what_is_no_picture_or_no_name_adds_nothing() {
    let town = Town::found().await;
    let [_, _, sam, gus] = people(&town).await;
    add(&town, &sam, "taken", &png(8, 8)).await.success();
    let (before, files) = (town.realm().at(), town.files.keys());
    let image = |told: &Told| {
        let (status, code, text) = told.error();
        assert_eq!((status, code), (400, "BAD_IMAGE"));
        text.to_owned()
    };
    for svg in ["<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", "hello", ""] {
        assert_eq!(image(&add(&town, &sam, "tick", svg.as_bytes()).await), "Invalid image format", "{svg}");
    }
    let broken = &png(64, 64)[..50];
    let text = "Could not decode image; did you upload an image file?";
    assert_eq!(image(&add(&town, &sam, "tick", broken).await), text);
    let large = vec![0; 5 * 1024 * 1024 + 1];
    add(&town, &sam, "tick", &large).await.refused("Uploaded file is larger than the allowed limit of 5 MiB");
    let picture = png(8, 8);
    let one = ("f", "x.png", "image/png", picture.as_slice());
    for files in [&[][..], &[one, one]] {
        let told = town.call_with_files(&sam, "POST /realm/emoji/tick", form(files)).await;
        told.refused("You must upload exactly one file.");
    }
    for (name, text) in [
        ("Tick", "Emoji names must contain only lowercase English letters, digits, spaces, dashes, and underscores."),
        ("tick_", "Emoji names must end with either a letter or digit."),
        ("%20", "Emoji name is missing"),
        ("taken", "A custom emoji with this name already exists."),
        ("smile", "Only administrators can override default emoji."),
    ] {
        add(&town, &sam, name, &picture).await.refused(text);
    }
    add(&town, &gus, "tick", &picture).await.refused("Not allowed for guest users");
    assert_eq!((town.realm().at(), town.files.keys()), (before, files));
    add(&town, &sam, "my%20tick", &picture).await.success();
    let names: Vec<_> = list(&town).await.as_object().unwrap().values().map(|emoji| emoji["name"].clone()).collect();
    assert_eq!(names, ["taken", "my_tick"]);
}

#[tokio::test]
async fn the_realm_says_who_may_add() {
    let town = Town::found().await;
    let [amy, _, sam, _] = people(&town).await;
    let realm = town.realm();
    let before = realm.realm().unwrap();
    let mut rules = before.rules.clone();
    rules.add_custom_emoji = PermissionPolicy::Administrators;
    let changes = vec![RealmChange::Realm(Box::new(Realm { rules, ..before.clone() }))];
    let commit = RealmCommit { decided_at: realm.changed(), at_s: NOW_S, changes, ..RealmCommit::default() };
    assert!(matches!(town.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    add(&town, &sam, "tick", &png(8, 8)).await.refused("Insufficient permission");
    add(&town, &amy, "smile", &png(8, 8)).await.success();
}

#[tokio::test]
async fn a_picture_that_is_not_there_is_404() {
    let town = Town::found().await;
    let absent = format!("/user_avatars/1/emoji/images/{}.png", "a".repeat(32));
    for path in [absent.as_str(), "/user_avatars/1/emoji/images/..%2F..%2Fchat.db", "/user_avatars/1/x.svg"] {
        assert_eq!(town.fetch_bytes(path, &[]).await.0, 404, "{path}");
    }
}
