//! Who sees which channel.

use serde_json::{Value, json};

use super::{enter, found, names, people};
use crate::test_app::{NOW_S, TestApp};
use chat_core::model::role::Role;

#[tokio::test]
async fn a_channel_is_shown_with_every_field() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let parameters = [
        ("subscriptions", r#"[{"name": "news", "description": "All\nthe **news**"}]"#),
        ("stream_post_policy", "2"),
        ("is_default_stream", "true"),
        ("message_retention_days", "30"),
    ];
    app.call(&app.ada, "POST /users/me/subscriptions", &parameters).await.success();
    let response = app.call(&sam, "GET /streams", &[("include_default", "true")]).await.success();
    let shown = response["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == "news").unwrap();
    let realm = app.realm();
    let id = realm.channel_by_name("news").unwrap().id;
    let expected = json!({
        "stream_id": id, "name": "news", "description": "All the **news**",
        "rendered_description": "<p>All the <strong>news</strong></p>", "date_created": NOW_S, "creator_id": 9,
        "first_message_id": null, "invite_only": false, "is_web_public": false, "is_default": true,
        "is_archived": false, "is_announcement_only": true, "history_public_to_subscribers": true,
        "message_retention_days": 30,
        "stream_post_policy": 2, "stream_weekly_traffic": null, "can_remove_subscribers_group": 3,
        "folder_id": null, "is_recently_active": true, "subscriber_count": 1,
    });
    assert_eq!(*shown, expected);
    let one = app.call(&sam, &format!("GET /streams/{id}"), &[]).await.success();
    assert_eq!(one["stream"].get("is_default"), None);
    assert_eq!(one["stream"]["name"], "news");
}

#[tokio::test]
async fn a_private_channel_is_not_there_for_who_is_not_in_it() {
    let app = TestApp::found().await;
    let [sam, bea, gus] = people(&app).await;
    let id = found(&app, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    for stranger in [&bea, &gus] {
        assert!(!names(&app, stranger, &[]).await.contains(&"secret".to_owned()));
        for path in ["", "/members", "/email_address"] {
            app.call(stranger, &format!("GET /streams/{id}{path}"), &[]).await.refused("Invalid channel ID");
        }
        app.call(stranger, &format!("GET /users/me/{id}/topics"), &[]).await.refused("Invalid channel ID");
        app.call(stranger, &format!("GET /users/{}/subscriptions/{id}", sam.id), &[])
            .await
            .refused("Invalid channel ID");
        app.call(stranger, "GET /get_stream_id", &[("stream", "Secret")])
            .await
            .refused("Invalid channel name 'Secret'");
    }
    assert_eq!(app.call(&sam, "GET /get_stream_id", &[("stream", "Secret")]).await.success()["stream_id"], id);
    assert!(names(&app, &sam, &[]).await.contains(&"secret".to_owned()));
    // An administrator sees that it is there, and reads nothing in it.
    assert!(names(&app, &app.ada, &[("include_all_active", "true")]).await.contains(&"secret".to_owned()));
    assert!(!names(&app, &app.ada, &[]).await.contains(&"secret".to_owned()));
    app.call(&app.ada, &format!("GET /users/me/{id}/topics"), &[]).await.refused("Invalid channel ID");
}

#[tokio::test]
async fn a_guest_sees_the_channels_they_were_put_into_and_those_open_to_all() {
    let app = TestApp::found().await;
    let [_, _, gus] = people(&app).await;
    found(&app, &app.ada, "open", (&[&app.ada], &[("is_web_public", "true")])).await;
    assert_eq!(names(&app, &gus, &[]).await, Vec::<String>::new());
    assert_eq!(names(&app, &gus, &[("include_web_public", "true")]).await, ["open"]);
    enter(&app, &app.ada, "general", &[("principals", &json!([gus.email]).to_string())]).await.success();
    assert_eq!(names(&app, &gus, &[]).await, ["general"]);
    let open = app.realm().channel_by_name("open").unwrap().id;
    app.call(&gus, &format!("GET /streams/{open}/members"), &[]).await.refused("Invalid channel ID");
}

#[tokio::test]
async fn which_channels_are_listed_follows_from_what_is_asked() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    found(&app, &sam, "den", (&[&sam], &[("invite_only", "true")])).await;
    assert_eq!(names(&app, &sam, &[]).await, ["general", "sandbox", "den"]);
    assert_eq!(names(&app, &sam, &[("include_public", "false")]).await, ["den"]);
    assert_eq!(names(&app, &sam, &[("include_subscribed", "false")]).await, ["general", "sandbox"]);
    let all = [("include_all_active", "true")];
    app.call(&sam, "GET /streams", &all).await.refused("User not authorized for this query");
    let typed = [("include_public", "yes")];
    app.call(&sam, "GET /streams", &typed).await.refused("include_public is not valid JSON");
    app.call(&sam, "GET /streams", &[("include_default", "1")]).await.refused("include_default is not a boolean");
}

#[tokio::test]
async fn who_is_in_a_channel_can_be_asked_by_who_sees_it() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    let id = found(&app, &sam, "club", (&[&sam, &bea], &[])).await;
    let response = app.call(&app.ada, &format!("GET /streams/{id}/members"), &[]).await.success();
    assert_eq!(response["subscribers"], json!([sam.id, bea.id]));
    for (who, inside) in [(sam.id, true), (app.ada.id, false)] {
        let response = app.call(&bea, &format!("GET /users/{who}/subscriptions/{id}"), &[]).await.success();
        assert_eq!(response["is_subscribed"], json!(inside));
    }
    app.call(&bea, &format!("GET /users/999/subscriptions/{id}"), &[]).await.refused("No such user");
    let response = app.call(&bea, &format!("GET /streams/{id}/email_address"), &[]).await.success();
    assert_eq!(response["email"], "");
}

#[tokio::test]
async fn topics_are_listed_the_newest_first_and_the_first_message_is_known() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let general = app.realm().channel_by_name("general").unwrap().id;
    let mut ids = Vec::new();
    for topic in ["tea", "cake", "TEA"] {
        let parameters = [("type", "stream"), ("to", "general"), ("topic", topic), ("content", "x")];
        ids.push(app.call(&app.ada, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap());
    }
    let response = app.call(&sam, &format!("GET /users/me/{general}/topics"), &[]).await.success();
    assert_eq!(response["topics"], json!([{"name": "TEA", "max_id": ids[2]}, {"name": "cake", "max_id": ids[1]}]));
    let one = app.call(&sam, &format!("GET /streams/{general}"), &[]).await.success();
    assert_eq!(one["stream"]["first_message_id"], json!(ids[0]));
    assert_eq!(one["stream"]["stream_weekly_traffic"], Value::Null);
    app.wait_s(10 * 86_400);
    let one = app.call(&sam, &format!("GET /streams/{general}"), &[]).await.success();
    assert_eq!(one["stream"]["stream_weekly_traffic"], json!(2));
}

#[tokio::test]
async fn a_subscription_is_shown_with_what_its_owner_chose() {
    let app = TestApp::found().await;
    let ann = app.person("ann", Role::Member).await;
    let subscriptions = r##"[{"name": "b", "color": "#ABC123"}, {"name": "A"}]"##;
    app.call(&ann, "POST /users/me/subscriptions", &[("subscriptions", subscriptions)]).await.success();
    let response = app.call(&ann, "GET /users/me/subscriptions", &[]).await.success();
    let shown = response["subscriptions"].as_array().unwrap();
    assert_eq!(shown.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), ["A", "b"]);
    assert_eq!(shown[1]["color"], "#ABC123");
    assert_eq!(shown[1]["push_notifications"], Value::Null);
    assert_eq!(shown[1].get("subscribers"), None);
    let with = [("include_subscribers", "true")];
    let response = app.call(&ann, "GET /users/me/subscriptions", &with).await.success();
    assert_eq!(response["subscriptions"][0]["subscribers"], json!([ann.id]));
}
