//! Messages: read by their numbers, edited and moved.

use chat_core::model::role::Role;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::personal::{heard, listen, mark};
use crate::test_app::{Person, TestApp};

async fn say(app: &TestApp, who: &Person, topic: &str, content: &str) -> i64 {
    let message = [("type", "channel"), ("to", "general"), ("topic", topic), ("content", content)];
    app.call(who, "POST /messages", &message).await.success()["id"].as_i64().unwrap()
}

/// The names of an object's members, sorted.
fn keys(object: &Value) -> String {
    let mut names: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names.join(" ")
}

async fn enter(app: &TestApp, who: &Person) {
    app.call(who, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "general"}]"#)]).await.success();
}

fn ids(response: &Value) -> Vec<i64> {
    response["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn level_284_an_edit_history_has_no_versions_and_the_event_keeps_its_own() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["update_message"]"#, &[]).await;
    let id = say(&app, &app.ada, "lunch", "soup").await;
    app.call(&app.ada, &format!("PATCH /messages/{id}"), &[("content", "salad")]).await.success();
    let message = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success()["message"].clone();
    assert_eq!(keys(&message["edit_history"][0]), "prev_content prev_rendered_content timestamp user_id");
    assert_eq!(heard(&app, &queue).await[0]["prev_rendered_content_version"], 1);
}

#[tokio::test]
async fn level_285_an_edit_names_the_uploads_that_only_the_history_refers_to() {
    let app = TestApp::found().await;
    let mut links = Vec::new();
    for name in ["a.txt", "b.txt"] {
        let form = crate::file_store::form(&[("file", name, "text/plain", b"x")]);
        let url = app.call_with_files(&app.ada, "POST /user_uploads", form).await.success()["url"].clone();
        links.push(format!("[{name}]({})", url.as_str().unwrap()));
    }
    let first = say(&app, &app.ada, "lunch", &links.join(" ")).await;
    say(&app, &app.ada, "lunch", &links[1]).await;
    let edit = async |content: &str| {
        let response = app.call(&app.ada, &format!("PATCH /messages/{first}"), &[("content", content)]).await;
        response.success()["detached_uploads"].clone()
    };
    assert_eq!(edit(&format!("{} more", links.join(" "))).await, json!([]));
    let detached = edit("nothing").await;
    let path = links[0].split_once("/user_uploads/").unwrap().1.trim_end_matches(')');
    let expected = json!([{"id": detached[0]["id"], "name": "a.txt", "path_id": path, "size": 1,
        "create_time": crate::test_app::NOW_S * 1_000, "messages": []}]);
    assert_eq!(detached, expected);
    let listed = app.call(&app.ada, "GET /attachments", &[]).await.success()["attachments"].clone();
    assert!(listed.as_array().unwrap().contains(&expected[0]), "{listed}");
    assert_eq!(edit("nothing again").await, json!([]));
}

#[tokio::test]
async fn level_327_a_conversation_of_two_has_one_number_on_both_sides_and_in_both_directions() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let queue = listen(&app, &sam, r#"["message"]"#, &[]).await;
    let send = async |from: &Person, to: &[i64]| {
        let note = [("type", "direct"), ("to", &json!(to).to_string()), ("content", "hi")];
        app.call(from, "POST /messages", &note).await.success();
    };
    send(&app.ada, &[sam.id]).await;
    send(&sam, &[app.ada.id]).await;
    send(&app.ada, &[sam.id, eve.id]).await;
    send(&eve, &[sam.id]).await;
    let numbers = |messages: Vec<Value>| -> Vec<i64> {
        messages.iter().map(|message| message["recipient_id"].as_i64().unwrap()).collect()
    };
    let events = heard(&app, &queue).await.iter().map(|event| event["message"].clone()).collect();
    let told = numbers(events);
    assert_eq!(told[0], told[1]);
    assert!(told[0] != told[2] && told[0] != told[3] && told[2] != told[3], "{told:?}");
    for (who, seen) in [(&sam, told.clone()), (&app.ada, told[..3].to_vec()), (&eve, told[2..].to_vec())] {
        let narrow = ("narrow", r#"[{"operator": "is", "operand": "dm"}]"#);
        let window = [("anchor", "newest"), ("num_before", "9"), ("num_after", "0"), narrow];
        let response = app.call(who, "GET /messages", &window).await.success();
        assert_eq!(numbers(response["messages"].as_array().unwrap().clone()), seen);
    }
}

#[tokio::test]
async fn level_328_a_reaction_of_a_message_names_its_user_by_number_and_still_by_the_older_object() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, "lunch", "soup").await;
    app.call(&app.ada, &format!("POST /messages/{id}/reactions"), &[("emoji_name", "smile")]).await.success();
    let message = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success()["message"].clone();
    let reaction = &message["reactions"][0];
    assert_eq!((&reaction["user_id"], &reaction["user"]["id"]), (&json!(app.ada.id), &json!(app.ada.id)));
}

#[tokio::test]
async fn level_339_the_event_of_a_new_message_has_no_users_of_reactions() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["message", "reaction"]"#, &[]).await;
    let id = say(&app, &app.ada, "lunch", "soup").await;
    app.call(&app.ada, &format!("POST /messages/{id}/reactions"), &[("emoji_name", "smile")]).await.success();
    let events = heard(&app, &queue).await;
    assert_eq!(events[0]["message"]["reactions"], json!([]));
    let reaction = &events[1];
    assert_eq!((&reaction["user_id"], &reaction["user"]["user_id"]), (&json!(app.ada.id), &json!(app.ada.id)));
}

#[tokio::test]
async fn level_358_the_organization_shows_all_earlier_states_or_moves_or_none() {
    let app = TestApp::found().await;
    let name = "message_edit_history_visibility_policy";
    let id = say(&app, &app.ada, "lunch", "soup").await;
    let path = format!("/messages/{id}");
    for change in [vec![("content", "salad")], vec![("content", "stew"), ("topic", "dinner")], vec![("topic", "tea")]] {
        app.wait_s(10);
        app.call(&app.ada, &format!("PATCH {path}"), &change).await.success();
    }
    let (moved_s, edited_s) = (crate::test_app::NOW_S + 30, crate::test_app::NOW_S + 20);
    let queue = listen(&app, &app.ada, r#"["realm"]"#, &[]).await;
    let choose = async |policy: &str| {
        let answer = app.call(&app.ada, "PATCH /realm", &[(name, policy)]).await.success();
        assert_eq!(answer[name], policy);
        let register = [("event_types", r#"["realm"]"#)];
        let state = app.call(&app.ada, "POST /register", &register).await.success();
        assert_eq!(state["realm_message_edit_history_visibility_policy"], policy);
        assert_eq!(state["realm_allow_edit_history"], policy != "none");
    };
    let seen = async || {
        let message = app.call(&app.ada, &format!("GET {path}"), &[]).await.success()["message"].clone();
        assert_eq!(
            (&message["last_edit_timestamp"], &message["last_moved_timestamp"]),
            (&json!(edited_s), &json!(moved_s))
        );
        message.get("edit_history").map(|edits| edits.as_array().unwrap().iter().map(keys).collect::<Vec<_>>())
    };
    let moved = "prev_topic timestamp topic user_id".to_owned();
    let both = "prev_content prev_rendered_content prev_topic timestamp topic user_id".to_owned();
    let edited = "prev_content prev_rendered_content timestamp user_id".to_owned();
    assert_eq!(seen().await, Some(vec![moved.clone(), both, edited]));
    choose("moves").await;
    assert_eq!(seen().await, Some(vec![moved.clone(), moved]));
    let history = app.call(&app.ada, &format!("GET {path}/history"), &[]).await.success()["message_history"].clone();
    let topics: Vec<_> = history.as_array().unwrap().iter().map(|state| state["topic"].as_str().unwrap()).collect();
    assert_eq!(topics, ["lunch", "dinner", "tea"]);
    for hidden in ["soup", "salad", "prev_content", "content_html_diff"] {
        assert!(!history.to_string().contains(hidden), "{history}");
    }
    choose("none").await;
    assert_eq!(seen().await, None);
    let refused = app.call(&app.ada, &format!("GET {path}/history"), &[]).await;
    refused.refused("Message edit history is disabled in this organization");
    app.call(&app.ada, "PATCH /realm", &[(name, "some")]).await.refused(&format!("Invalid {name}"));
    choose("all").await;
    let event =
        |property: &str, value: Value| json!({"type": "realm", "op": "update", "property": property, "value": value});
    let told = [
        event(name, json!("moves")),
        event(name, json!("none")),
        event("allow_edit_history", json!(false)),
        event(name, json!("all")),
        event("allow_edit_history", json!(true)),
    ];
    assert_eq!(heard(&app, &queue).await, told);
}

#[tokio::test]
async fn level_300_messages_are_read_by_their_numbers_as_far_as_they_are_there_and_readable() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (one, two) = (say(&app, &app.ada, "lunch", "soup").await, say(&app, &app.ada, "lunch", "salad").await);
    let note = [("type", "direct"), ("to", "[9]"), ("content", "hi")];
    let hidden = app.call(&app.ada, "POST /messages", &note).await.success()["id"].as_i64().unwrap();
    let wanted = json!([two, 999_999, hidden, one]).to_string();
    let response = app.call(&sam, "GET /messages", &[("message_ids", &wanted)]).await.success();
    assert_eq!(ids(&response), [one, two]);
    let found = ["history_limited", "found_anchor", "found_oldest", "found_newest"].map(|key| response[key].clone());
    assert_eq!((found, response.get("anchor")), ([false; 4].map(Value::from), None));
    let narrow = ("narrow", r#"[{"operator": "search", "operand": "salad"}]"#);
    let response = app.call(&sam, "GET /messages", &[("message_ids", &wanted), narrow]).await.success();
    assert_eq!((ids(&response), &response["messages"][0]["match_subject"]), (vec![two], &json!("lunch")));
}

#[tokio::test]
async fn level_300_numbers_and_an_anchor_exclude_each_other_and_5000_are_the_most() {
    let app = TestApp::found().await;
    let combination = "Unsupported parameter combination: num_before, num_after, anchor, message_ids, include_anchor, \
        use_first_unread_anchor";
    for more in [("anchor", "newest"), ("num_before", "1"), ("num_after", "1"), ("use_first_unread_anchor", "true")] {
        let response = app.call(&app.ada, "GET /messages", &[("message_ids", "[1]"), more]).await;
        response.refused(combination);
        assert_eq!(response.body["parameters"], combination.split_once(": ").unwrap().1);
    }
    let none = [("message_ids", "[1]"), ("num_before", "0"), ("num_after", "0")];
    app.call(&app.ada, "GET /messages", &none).await.success();
    let many = json!(vec![1; 5_001]).to_string();
    let response = app.call(&app.ada, "GET /messages", &[("message_ids", &many)]).await;
    response.refused("Too many messages requested (maximum 5000).");
}

#[tokio::test]
async fn level_351_that_a_message_is_edited_is_reported_to_those_who_have_it() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    enter(&app, &sam).await;
    let mut queues = Vec::new();
    for who in [&app.ada, &sam, &eve] {
        queues.push(listen(&app, who, r#"["typing_edit_message"]"#, &[]).await);
    }
    let message = say(&app, &app.ada, "lunch", "soup").await;
    let general = app.realm().channel_by_name("general").unwrap().id;
    let path = format!("POST /messages/{message}/typing");
    app.call(&app.ada, &path, &[("op", "start")]).await.success();
    let place = json!({"type": "channel", "channel_id": general, "topic": "lunch"});
    let event = |op: &str, message: &Value, recipient: &Value| {
        json!({"type": "typing_edit_message", "op": op, "sender_id": app.ada.id, "message_id": message,
            "recipient": recipient})
    };
    let told = vec![event("start", &json!(message), &place)];
    for (queue, expected) in queues.iter().zip([told.clone(), told, Vec::new()]) {
        assert_eq!(heard(&app, queue).await, expected);
    }
    let to = json!([sam.id]).to_string();
    let note = [("type", "direct"), ("to", to.as_str()), ("content", "hi")];
    let note = app.call(&app.ada, "POST /messages", &note).await.success()["id"].clone();
    app.call(&app.ada, &format!("POST /messages/{note}/typing"), &[("op", "stop")]).await.success();
    let users = json!({"type": "direct", "user_ids": [app.ada.id, sam.id]});
    assert_eq!(heard(&app, &queues[1]).await, [event("stop", &note, &users)]);
}

#[tokio::test]
async fn level_361_who_may_not_edit_or_hides_typing_is_refused() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let message = say(&app, &app.ada, "lunch", "soup").await;
    let path = format!("POST /messages/{message}/typing");
    let start = [("op", "start")];
    app.call(&sam, &path, &start).await.refused("You don't have permission to edit this message");
    app.call(&sam, "POST /messages/999999/typing", &start).await.refused("Invalid message(s)");
    app.call(&app.ada, &path, &[("op", "x")]).await.refused("Invalid op");
    app.call(&app.ada, "PATCH /settings", &[("send_stream_typing_notifications", "false")]).await.success();
    let hidden = "User has disabled typing notifications for channel messages";
    app.call(&app.ada, &path, &start).await.refused(hidden);
    app.call(&app.ada, "PATCH /settings", &[("send_stream_typing_notifications", "true")]).await.success();
    app.call(&app.ada, "PATCH /realm", &[("allow_message_editing", "false")]).await.success();
    app.call(&app.ada, &path, &start).await.refused("Your organization has turned off message editing");
}

#[tokio::test]
async fn level_355_channels_whose_messages_stay_read_are_named() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    enter(&app, &sam).await;
    let message = json!([say(&app, &app.ada, "lunch", "soup").await]).to_string();
    let general = app.realm().channel_by_name("general").unwrap().id;
    let key = "ignored_because_not_subscribed_channels";
    let mark = async |op: &str| {
        let change = [("messages", message.as_str()), ("op", op), ("flag", "read")];
        app.call(&sam, "POST /messages/flags", &change).await.success()[key].clone()
    };
    assert_eq!([mark("add").await, mark("remove").await, mark("add").await], [json!([]), json!([]), json!([])]);
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["general"]"#)]).await.success();
    assert_eq!(mark("remove").await, json!([general]));
    let narrow = json!([{"operator": "channel", "operand": "general"}]).to_string();
    let stretch = [("anchor", "newest"), ("num_before", "5"), ("num_after", "0"), ("narrow", narrow.as_str())];
    let stretch: Vec<_> = stretch.into_iter().chain([("op", "remove"), ("flag", "read")]).collect();
    let response = app.call(&sam, "POST /messages/flags/narrow", &stretch).await.success();
    assert_eq!((&response[key], &response["updated_count"]), (&json!([general]), &json!(0)));
}

#[tokio::test]
async fn level_365_a_move_has_its_time_and_resolving_a_topic_is_none() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, "lunch", "soup").await;
    let path = format!("/messages/{id}");
    let times = async || {
        let message = app.call(&app.ada, &format!("GET {path}"), &[]).await.success()["message"].clone();
        ["last_edit_timestamp", "last_moved_timestamp"].map(|key| message.get(key).cloned())
    };
    let [first_s, moved_s, last_s] = [10, 30, 40].map(|after_s| Some(json!(crate::test_app::NOW_S + after_s)));
    let edit = async |change: (&str, &str)| {
        app.wait_s(10);
        app.call(&app.ada, &format!("PATCH {path}"), &[change]).await.success();
    };
    assert_eq!(times().await, [None, None]);
    edit(("content", "salad")).await;
    edit(("topic", "✔ lunch")).await;
    assert_eq!(times().await, [first_s.clone(), None]);
    edit(("topic", "dinner")).await;
    assert_eq!(times().await, [first_s, moved_s.clone()]);
    edit(("content", "stew")).await;
    edit(("topic", "✔ dinner")).await;
    assert_eq!(times().await, [last_s, moved_s]);
}

#[tokio::test]
async fn level_366_muted_messages_and_the_others_are_all_messages() {
    let app = TestApp::found().await;
    let all = [
        say(&app, &app.ada, "lunch", "a").await,
        say(&app, &app.ada, "work", "b").await,
        say(&app, &app.ada, "rest", "c").await,
    ];
    let read = async |negated: bool| {
        let narrow = json!([{"operator": "is", "operand": "muted", "negated": negated}]).to_string();
        let asked = [("anchor", "newest"), ("num_before", "9"), ("num_after", "0"), ("narrow", narrow.as_str())];
        ids(&app.call(&app.ada, "GET /messages", &asked).await.success())
    };
    assert_eq!((read(false).await, read(true).await), (Vec::new(), all.to_vec()));
    let general = app.realm().channel_by_name("general").unwrap().id.to_string();
    let policy = async |topic: &str, policy: &str| {
        let choice = [("stream_id", general.as_str()), ("topic", topic), ("visibility_policy", policy)];
        app.call(&app.ada, "POST /user_topics", &choice).await.success();
    };
    policy("work", "1").await;
    assert_eq!((read(false).await, read(true).await), (vec![all[1]], vec![all[0], all[2]]));
    let channel = format!(r#"[{{"stream_id": {general}, "property": "is_muted", "value": true}}]"#);
    app.call(&app.ada, "POST /users/me/subscriptions/properties", &[("subscription_data", &channel)]).await.success();
    policy("lunch", "2").await;
    policy("rest", "3").await;
    assert_eq!((read(false).await, read(true).await), (vec![all[1]], vec![all[0], all[2]]));
    policy("rest", "0").await;
    assert_eq!((read(false).await, read(true).await), (vec![all[1], all[2]], vec![all[0]]));
    let queue = listen(&app, &app.ada, r#"["message"]"#, &[("narrow", r#"[["is", "muted"]]"#)]).await;
    say(&app, &app.ada, "lunch", "d").await;
    assert_eq!(heard(&app, &queue).await.len(), 1);
}

#[tokio::test]
async fn level_379_an_edit_of_another_text_than_the_client_has_is_refused() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, "lunch", "soup").await;
    let path = format!("PATCH /messages/{id}");
    let (before, other) = (mark(&app), sha256("soup "));
    for change in [("content", "stew"), ("topic", "dinner")] {
        let refused = app.call(&app.ada, &path, &[change, ("prev_content_sha256", &other)]).await;
        let text = "'prev_content_sha256' value does not match the expected value.";
        assert_eq!(refused.error(), (400, "EXPECTATION_MISMATCH", text));
        assert_eq!(refused.body["field_name"], "prev_content_sha256");
    }
    assert_eq!(mark(&app), before);
    let right = [("content", "stew"), ("prev_content_sha256", &sha256("soup"))];
    app.call(&app.ada, &path, &right).await.success();
    let right = [("topic", "dinner"), ("prev_content_sha256", &sha256("stew"))];
    app.call(&app.ada, &path, &right).await.success();
}

#[tokio::test]
async fn level_393_the_numbers_of_moved_and_deleted_messages_ascend() {
    let app = TestApp::found().await;
    let queue =
        listen(&app, &app.ada, r#"["update_message", "delete_message"]"#, &[("client_capabilities", BULK)]).await;
    let mut sent = Vec::new();
    for number in 0..4 {
        sent.push(say(&app, &app.ada, "lunch", &number.to_string()).await);
    }
    let change = [("topic", "dinner"), ("propagate_mode", "change_all")];
    app.call(&app.ada, &format!("PATCH /messages/{}", sent[2]), &change).await.success();
    let general = app.realm().channel_by_name("general").unwrap().id;
    app.call(&app.ada, &format!("POST /streams/{general}/delete_topic"), &[("topic_name", "dinner")]).await.success();
    let told: Vec<_> = heard(&app, &queue).await.iter().map(|event| event["message_ids"].clone()).collect();
    assert_eq!(told, [json!(sent), json!(sent)]);
}

const BULK: &str = r#"{"notification_settings_null": true, "bulk_message_deletion": true}"#;

/// The SHA-256 of a text in hexadecimal.
fn sha256(text: &str) -> String {
    let digits = Sha256::digest(text).iter().flat_map(|byte| [byte >> 4, byte & 15]).collect::<Vec<_>>();
    digits.into_iter().map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect()
}
