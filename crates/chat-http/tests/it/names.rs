//! Names of all kinds, and characters that no screen shows or that turn the text around.

use chat_core::event_log::store::EventLog as _;
use chat_core::model::role::Role;

use crate::test_app::{NOW_S, TestApp};

/// A call, its parameters, and the text of its refusal.
type Refused<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[tokio::test]
async fn no_name_has_characters_that_no_screen_shows() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let head = app.realm().changed_at();
    for hidden in ["\u{200b}", "\u{202e}", "\u{2066}", "\u{feff}", "\u{ad}", "\u{e000}"] {
        let name = format!("ab{hidden}cd");
        let subscriptions = serde_json::json!([{"name": name}]).to_string();
        let user = format!("PATCH /users/{}", sam.id);
        let name = name.as_str();
        let field = [("field_type", "1"), ("name", name)];
        let play = [("name", name), ("pygments_language", "rust"), ("url_template", "https://x/{code}")];
        let filter = [("pattern", name), ("url_template", "https://x.example")];
        let said = [("type", "channel"), ("to", "general"), ("topic", name), ("content", "hi")];
        let bot = [("full_name", name), ("short_name", "helper")];
        let team = [("name", name), ("description", ""), ("members", "[]")];
        let calls: [Refused<'_>; 11] = [
            (&user, &[("full_name", name)], "Invalid characters in name!"),
            ("PATCH /settings", &[("full_name", name)], "Invalid characters in name!"),
            ("POST /bots", &bot, "Invalid characters in name!"),
            ("PATCH /realm", &[("name", name)], "Invalid characters in name!"),
            (
                "POST /users/me/subscriptions",
                &[("subscriptions", &subscriptions)],
                "Invalid character in channel name, at position 3!",
            ),
            ("POST /user_groups/create", &team, "Invalid character in user group name, at position 3!"),
            ("POST /messages", &said, "Invalid character in topic, at position 3!"),
            ("POST /users/me/status", &[("status_text", name)], "Invalid characters in status_text!"),
            ("POST /realm/profile_fields", &field, "Invalid characters in name!"),
            ("POST /realm/playgrounds", &play, "Invalid characters in name!"),
            ("POST /realm/filters", &filter, "Invalid characters in pattern!"),
        ];
        for (call, parameters, text) in calls {
            let response = app.call(&app.ada, call, parameters).await;
            assert_eq!((response.error().0, response.error().2), (400, text), "{call} {hidden:?}");
        }
    }
    assert_eq!(app.realm().changed_at(), head);
}

#[tokio::test]
async fn no_name_is_changed_to_one_with_characters_that_no_screen_shows() {
    let app = TestApp::found().await;
    let said = [("type", "channel"), ("to", "general"), ("topic", "lunch"), ("content", "hi")];
    let message = app.call(&app.ada, "POST /messages", &said).await.success()["id"].clone();
    let bot = [("full_name", "Clock"), ("short_name", "clock")];
    let bot = app.call(&app.ada, "POST /bots", &bot).await.success()["user_id"].clone();
    let team = [("name", "crew"), ("description", ""), ("members", "[]")];
    app.call(&app.ada, "POST /user_groups/create", &team).await.success();
    let group = app.realm().groups().find(|group| group.name == "crew").unwrap().id;
    let field = [("field_type", "1"), ("name", "Pronouns")];
    let field = app.call(&app.ada, "POST /realm/profile_fields", &field).await.success()["id"].clone();
    let general = app.realm().channel_by_name("general").unwrap().id;
    let (of_channel, of_group) = (format!("PATCH /streams/{general}"), format!("PATCH /user_groups/{group}"));
    let (of_field, of_bot) = (format!("PATCH /realm/profile_fields/{field}"), format!("PATCH /bots/{bot}"));
    let of_message = format!("PATCH /messages/{message}");
    let head = app.store.last_event_id();
    for hidden in ["\u{200b}", "\u{202e}", "\u{e000}"] {
        let name = format!("ab{hidden}cd");
        let name = name.as_str();
        let user = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", name)];
        let (to, at) = (general.to_string(), (NOW_S + 3_600).to_string());
        let later = [
            ("type", "channel"),
            ("to", to.as_str()),
            ("topic", name),
            ("content", "hi"),
            ("scheduled_delivery_timestamp", at.as_str()),
        ];
        let of_topic = "Invalid character in topic, at position 3!";
        let renamed = [("name", name)];
        let calls: [Refused<'_>; 7] = [
            ("POST /users", &user, "Invalid characters in name!"),
            (&of_channel, &[("new_name", name)], "Invalid character in channel name, at position 3!"),
            (&of_group, &renamed, "Invalid character in user group name, at position 3!"),
            (&of_field, &renamed, "Invalid characters in name!"),
            (&of_bot, &[("full_name", name)], "Invalid characters in name!"),
            (&of_message, &[("topic", name)], of_topic),
            ("POST /scheduled_messages", &later, of_topic),
        ];
        for (call, parameters, text) in calls {
            let response = app.call(&app.ada, call, parameters).await;
            assert_eq!((response.error().0, response.error().2), (400, text), "{call} {hidden:?}");
        }
    }
    assert_eq!(app.store.last_event_id(), head);
}

#[tokio::test]
async fn nobody_is_named_as_everybody_is_mentioned() {
    let app = TestApp::found().await;
    for (name, text) in [
        ("@all", "Invalid characters in name!"),
        ("ada@home", "Invalid characters in name!"),
        ("all", "Invalid format!"),
        ("Everyone", "Invalid format!"),
        ("channel", "Invalid format!"),
    ] {
        app.call(&app.ada, "PATCH /settings", &[("full_name", name)]).await.refused(text);
    }
    let topic = [("type", "channel"), ("to", "general"), ("topic", "crew 👩\u{200d}🚀"), ("content", "hi")];
    app.call(&app.ada, "POST /messages", &topic).await.success();
}
