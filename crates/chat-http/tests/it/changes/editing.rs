//! Edits and moves.

use super::*;

async fn edit(app: &TestApp, who: &Person, id: i64, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, &format!("PATCH /messages/{id}"), parameters).await
}

async fn history(app: &TestApp, who: &Person, id: i64) -> Vec<Value> {
    let response = app.call(who, &format!("GET /messages/{id}/history"), &[]).await.success();
    response["message_history"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_edit_is_rendered_told_and_kept_in_the_history() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    let id = say(&app, &app.ada, general, ("lunch", "hi")).await;
    let since = app.store.last_event_id();
    app.wait_s(5);
    edit(&app, &app.ada, id, &[("content", "**hi** @**sam**\n")]).await.success();
    let html =
        format!("<p><strong>hi</strong> <span class=\"user-mention\" data-user-id=\"{}\">@sam</span></p>", sam.id);
    let changed = message(&app, id).await.unwrap();
    assert_eq!((changed.content.as_str(), changed.html.as_str()), ("**hi** @**sam**", html.as_str()));
    assert_eq!(
        heard(&app, &sam, since).await,
        [json!({
            "type": "update_message", "user_id": 9, "rendering_only": false, "message_id": id, "message_ids": [id],
            "edit_timestamp": NOW_S + 5, "stream_id": general, "stream_name": "general", "flags": ["mentioned"],
            "orig_content": "hi", "orig_rendered_content": "<p>hi</p>", "prev_rendered_content_version": 1,
            "content": "**hi** @**sam**", "rendered_content": html, "is_me_message": false,
        })]
    );
    let states = history(&app, &sam, id).await;
    assert_eq!(
        states[0],
        json!({"topic": "lunch", "content": "hi", "rendered_content": "<p>hi</p>", "timestamp": NOW_S, "user_id": 9})
    );
    assert_eq!((&states[1]["prev_content"], &states[1]["rendered_content"]), (&json!("hi"), &json!(html)));
    assert_eq!(states.len(), 2);
    edit(&app, &app.ada, id, &[("content", " ")]).await.success();
    assert_eq!(message(&app, id).await.unwrap().content, "(deleted)");
    assert_eq!(flags(&app, &sam, id).await, []);
}

#[tokio::test]
async fn an_edit_that_may_not_be_changes_nothing() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let eve = app.person("eve", Role::Guest).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    subscribe(&app, &eve, general).await;
    let hidden = private(&app, "hidden", &[]).await;
    let id = say(&app, &app.ada, general, ("lunch", "hi")).await;
    let own = say(&app, &sam, general, ("lunch", "hi")).await;
    let direct = tell(&app, &sam, &[&app.ada], "hi").await;
    let head = app.store.last_event_id();
    let (sandbox, hidden) = (sandbox.to_string(), hidden.to_string());
    let not_yours = "You don't have permission to edit this message";
    edit(&app, &sam, id, &[("content", "x")]).await.refused(not_yours);
    edit(&app, &sam, own, &[]).await.refused("Nothing to change");
    edit(&app, &sam, own, &[("content", "hi"), ("topic", "lunch")]).await.refused("Nothing to change");
    edit(&app, &sam, own, &[("topic", " ")]).await.refused("Topic can't be empty!");
    edit(&app, &sam, own, &[("topic", "a\u{7}")]).await.refused("Invalid character in topic, at position 2!");
    edit(&app, &sam, own, &[("propagate_mode", "x")]).await.refused("Invalid propagate_mode");
    let alone = [("content", "x"), ("propagate_mode", "change_all")];
    edit(&app, &sam, own, &alone).await.refused("Invalid propagate_mode without topic edit");
    edit(&app, &sam, direct, &[("topic", "x")]).await.refused("Direct messages cannot have topics.");
    let to_channel = [("stream_id", sandbox.as_str())];
    edit(&app, &sam, direct, &to_channel).await.refused("Direct messages cannot be moved to channels.");
    edit(&app, &sam, own, &[("stream_id", &hidden)]).await.refused("Invalid channel ID");
    edit(&app, &eve, own, &to_channel).await.refused("You don't have permission to move this message");
    let both = [("stream_id", sandbox.as_str()), ("content", "x")];
    edit(&app, &sam, own, &both).await.refused("Cannot change message content while changing channel");
    edit(&app, &sam, 999_999, &[("content", "x")]).await.refused("Invalid message(s)");
    app.wait_s(10_000);
    edit(&app, &sam, own, &[("content", "x")]).await.refused("The time limit for editing this message has passed");
    assert_eq!(app.store.last_event_id(), head);
    assert_eq!(history(&app, &sam, own).await.len(), 1);
}

#[tokio::test]
async fn a_topic_is_moved_whole_and_resolved() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    let first = say(&app, &app.ada, general, ("lunch", "a")).await;
    let second = say(&app, &sam, general, ("Lunch", "b")).await;
    let third = say(&app, &app.ada, general, ("lunch", "c")).await;
    let since = app.store.last_event_id();
    edit(&app, &sam, second, &[("topic", "✔ lunch"), ("propagate_mode", "change_later")]).await.success();
    edit(&app, &sam, first, &[("subject", "dinner https://a.example")]).await.success();
    let events = heard(&app, &sam, since).await;
    assert_eq!(events.len(), 2);
    let (later, one) = (&events[0], &events[1]);
    assert_eq!(later["message_ids"], json!([second, third]));
    assert_eq!((&later["orig_subject"], &later["subject"]), (&json!("Lunch"), &json!("✔ lunch")));
    assert_eq!((&later["propagate_mode"], later.get("content")), (&json!("change_later"), None));
    assert_eq!(one["message_ids"], json!([first]));
    assert_eq!(one["propagate_mode"], "change_one");
    assert_eq!(one["topic_links"], json!([{"text": "https://a.example", "url": "https://a.example"}]));
    for (id, topic) in [(first, "dinner https://a.example"), (second, "✔ lunch"), (third, "✔ lunch")] {
        assert_eq!(message(&app, id).await.unwrap().topic, topic);
    }
    assert_eq!(history(&app, &sam, third).await[1]["prev_topic"], "lunch");
}

#[tokio::test]
async fn who_cannot_follow_a_moved_topic_hears_it_is_gone() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let eve = app.person("eve", Role::Member).await;
    let general = channel(&app, "general");
    for person in [&sam, &eve] {
        subscribe(&app, person, general).await;
    }
    let hidden = private(&app, "hidden", &[&sam]).await;
    let ids = [say(&app, &sam, general, ("lunch", "a")).await, say(&app, &sam, general, ("lunch", "b")).await];
    let since = app.store.last_event_id();
    let to = hidden.to_string();
    edit(&app, &sam, ids[0], &[("stream_id", &to), ("propagate_mode", "change_all")]).await.success();
    let events = heard_of_messages(&app, &sam, since).await;
    assert_eq!((events.len(), &events[0]["new_stream_id"]), (1, &json!(hidden)));
    assert_eq!((events[0].get("subject"), &events[0]["orig_subject"]), (None, &json!("lunch")));
    assert_eq!(events[0]["message_ids"], json!(ids));
    assert_eq!(
        heard_of_messages(&app, &eve, since).await,
        [json!({
            "type": "delete_message", "message_ids": ids, "message_type": "stream", "stream_id": general,
            "topic": "lunch",
        })]
    );
    let mut one_by_one = heard_by(&app, &eve, (since, false)).await;
    one_by_one.retain(|event| event["type"] == "delete_message");
    assert_eq!(one_by_one.len(), 2);
    app.call(&eve, &format!("GET /messages/{}/history", ids[0]), &[]).await.refused("Invalid message(s)");
    assert_eq!(history(&app, &sam, ids[1]).await[1]["prev_stream"], general);
}

#[tokio::test]
async fn a_topic_too_old_to_move_whole_says_how_much_of_it_may() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    let old = say(&app, &sam, general, ("lunch", "a")).await;
    app.wait_s(604_000);
    let parameters = [("type", "channel"), ("to", "general"), ("topic", "lunch"), ("content", "b")];
    let young = app.call(&sam, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap();
    app.wait_s(1_000);
    let head = app.store.last_event_id();
    let response = edit(&app, &sam, young, &[("topic", "dinner"), ("propagate_mode", "change_all")]).await;
    let text = "You only have permission to move the 1/2 most recent messages in this topic.";
    assert_eq!(response.error(), (400, "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED", text));
    assert_eq!(response.body["first_message_id_allowed_to_move"], young);
    assert_eq!(app.store.last_event_id(), head);
    edit(&app, &app.ada, young, &[("topic", "dinner"), ("propagate_mode", "change_all")]).await.success();
    assert_eq!(message(&app, old).await.unwrap().topic, "dinner");
}

#[tokio::test]
async fn two_edits_at_once_both_stand_in_the_history() {
    let app = Arc::new(TestApp::found().await);
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "hi")).await;
    let mut editing = tokio::task::JoinSet::new();
    for number in 0..20 {
        let app = Arc::clone(&app);
        editing.spawn(async move {
            let text = format!("edit {number}");
            edit(&app, &app.ada, id, &[("content", &text)]).await.success();
        });
    }
    editing.join_all().await;
    let states = history(&app, &app.ada, id).await;
    assert_eq!(states.len(), 21);
    for pair in states.windows(2) {
        assert_eq!(pair[1]["prev_content"], pair[0]["content"]);
    }
    assert_eq!(message(&app, id).await.unwrap().content, states[20]["content"]);
}

#[tokio::test]
async fn a_message_that_is_edited_and_deleted_at_once_is_gone() {
    let app = Arc::new(TestApp::found().await);
    let general = channel(&app, "general");
    for _ in 0..10 {
        let id = say(&app, &app.ada, general, ("lunch", "hi")).await;
        let mut deleting = tokio::task::JoinSet::new();
        let other = Arc::clone(&app);
        deleting.spawn(async move { other.call(&other.ada, &format!("DELETE /messages/{id}"), &[]).await });
        let response = edit(&app, &app.ada, id, &[("content", "x"), ("topic", "dinner")]).await;
        deleting.join_next().await.unwrap().unwrap().success();
        if !response.status.is_success() {
            response.refused("Invalid message(s)");
        }
        assert_eq!(message(&app, id).await, None);
        let gone = heard_of_messages(&app, &app.ada, EventId(id)).await.pop().unwrap();
        let topic = if response.status.is_success() { "dinner" } else { "lunch" };
        assert_eq!((&gone["message_ids"], &gone["topic"]), (&json!([id]), &json!(topic)));
    }
}
