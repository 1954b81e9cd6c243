//! What is unread, and what counts as read; marks on messages out of sight.

use super::*;

/// Sets a flag on messages, or takes it away.
async fn mark(app: &TestApp, who: &Person, ids: &[i64], (op, flag): (&str, &str)) -> TestResponse {
    let list = json!(ids).to_string();
    app.call(who, "POST /messages/flags", &[("messages", list.as_str()), ("op", op), ("flag", flag)]).await
}

/// What a user was told of flags since.
async fn heard_of_flags(app: &TestApp, who: &Person, since: EventId) -> Vec<Value> {
    let mut events = heard(app, who, since).await;
    events.retain(|event| event["type"] == "update_message_flags");
    events
}

#[tokio::test]
async fn a_star_on_a_message_out_of_sight_is_refused_and_reading_one_is_passed_over() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let secret = tell(&app, &app.ada, &[&sam], "psst").await;
    let inside = say(&app, &sam, private(&app, "board", &[&sam]).await, ("t", "hi")).await;
    let own = tell(&app, &app.ada, &[&eve], "hi").await;
    let since = app.store.last_event_id();
    for hidden in [secret, inside, 999_999] {
        for flag in ["starred", "collapsed"] {
            mark(&app, &eve, &[own, hidden], ("add", flag)).await.refused("Invalid message(s)");
        }
        for change in [("add", "read"), ("remove", "read"), ("remove", "starred")] {
            let response = mark(&app, &eve, &[hidden], change).await.success();
            assert_eq!(response["messages"], json!([hidden]));
        }
    }
    assert_eq!(app.store.last_event_id(), since);
    mark(&app, &eve, &[own], ("add", "starred")).await.success();
    assert_eq!(flags(&app, &eve, own).await, [MessageFlag::Starred]);
}

#[tokio::test]
async fn messages_moved_out_of_sight_are_not_named_among_the_starred() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    let board = private(&app, "board", &[&app.ada]).await;
    subscribe(&app, &sam, general).await;
    let (stays, goes) =
        (say(&app, &app.ada, general, ("lunch", "hi")).await, say(&app, &app.ada, general, ("budget", "hi")).await);
    mark(&app, &sam, &[stays, goes], ("add", "starred")).await.success();
    let starred = async || app.call(&sam, "POST /register", &[]).await.success()["starred_messages"].clone();
    assert_eq!(starred().await, json!([stays, goes]));
    let to = board.to_string();
    let moved = [("stream_id", to.as_str()), ("propagate_mode", "change_all")];
    app.call(&app.ada, &format!("PATCH /messages/{goes}"), &moved).await.success();
    assert_eq!(starred().await, json!([stays]));
}

/// The messages that are unread, as a client hears it when it starts, in channels.
async fn unread_in_channels(app: &TestApp, who: &Person) -> Vec<i64> {
    let state = app.call(who, "POST /register", &[]).await.success();
    let topics = state["unread_msgs"]["streams"].as_array().unwrap();
    let ids = topics.iter().flat_map(|topic| topic["unread_message_ids"].as_array().unwrap());
    ids.map(|id| id.as_i64().unwrap()).collect()
}

/// The anchor of the first unread message.
async fn first_unread(app: &TestApp, who: &Person) -> i64 {
    let parameters = [("anchor", "first_unread"), ("num_before", "0"), ("num_after", "1")];
    app.call(who, "GET /messages", &parameters).await.success()["anchor"].as_i64().unwrap()
}

#[tokio::test]
async fn what_is_unread_in_a_channel_is_read_for_who_leaves_it_and_stays_so_when_they_come_back() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    for id in [general, sandbox] {
        subscribe(&app, &sam, id).await;
    }
    let left = say(&app, &app.ada, general, ("lunch", "hi")).await;
    let kept = say(&app, &app.ada, sandbox, ("lunch", "hi")).await;
    assert_eq!(first_unread(&app, &sam).await, left);
    let since = app.store.last_event_id();
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["general"]"#)]).await.success();
    let events = heard_of_flags(&app, &sam, since).await;
    let short: Vec<_> = events.iter().map(|event| (&event["op"], &event["flag"], &event["messages"])).collect();
    assert_eq!(short, [(&json!("add"), &json!("read"), &json!([left]))]);
    assert_eq!((unread_in_channels(&app, &sam).await, first_unread(&app, &sam).await), (vec![kept], kept));
    // Nor is it unread again by a click or by coming back.
    mark(&app, &sam, &[left], ("remove", "read")).await.success();
    subscribe(&app, &sam, general).await;
    assert_eq!(unread_in_channels(&app, &sam).await, [kept]);
    let new = say(&app, &app.ada, general, ("lunch", "hi")).await;
    assert_eq!(unread_in_channels(&app, &sam).await, [kept, new].into_iter().rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn who_came_back_to_a_channel_can_mark_as_unread_what_they_received_before_they_left() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    let old = say(&app, &app.ada, general, ("lunch", "hi")).await;
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["general"]"#)]).await.success();
    subscribe(&app, &sam, general).await;
    assert!(unread_in_channels(&app, &sam).await.is_empty());
    mark(&app, &sam, &[old], ("remove", "read")).await.success();
    assert_eq!((unread_in_channels(&app, &sam).await, first_unread(&app, &sam).await), (vec![old], old));
}

#[tokio::test]
async fn what_was_left_unread_in_a_channel_before_counts_as_read_too() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    for id in [general, sandbox] {
        subscribe(&app, &sam, id).await;
        say(&app, &app.ada, id, ("lunch", "hi")).await;
    }
    // As the database has it where nothing was written down when they left.
    let (channel_id, user_id) = (ChannelId(general), UserId(sam.id));
    commit(&app, vec![RealmChange::Unsubscription { channel_id, user_id }]).await;
    let mut archived = app.realm().channel(ChannelId(sandbox)).unwrap().as_ref().clone();
    archived.is_archived = true;
    commit(&app, vec![RealmChange::Channel(Box::new(archived))]).await;
    assert!(unread_in_channels(&app, &sam).await.is_empty());
    assert_eq!(first_unread(&app, &sam).await, 10_000_000_000_000_000);
}

#[tokio::test]
async fn who_is_taken_out_of_a_channel_and_who_was_in_an_archived_one_have_nothing_unread_there() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    for id in [general, sandbox] {
        subscribe(&app, &sam, id).await;
        say(&app, &app.ada, id, ("lunch", "hi")).await;
    }
    let since = app.store.last_event_id();
    let sams = format!("[{}]", sam.id);
    let out = [("subscriptions", r#"["general"]"#), ("principals", sams.as_str())];
    app.call(&app.ada, "DELETE /users/me/subscriptions", &out).await.success();
    assert_eq!(heard_of_flags(&app, &sam, since).await.len(), 1);
    app.call(&app.ada, &format!("DELETE /streams/{sandbox}"), &[]).await.success();
    assert!(unread_in_channels(&app, &sam).await.is_empty());
    assert_eq!(first_unread(&app, &sam).await, 10_000_000_000_000_000);
}

#[tokio::test]
async fn what_a_user_wrote_before_they_were_muted_is_read_then() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    let noise = say(&app, &eve, general, ("lunch", "hi")).await;
    let other = say(&app, &app.ada, general, ("lunch", "hi")).await;
    let direct = tell(&app, &eve, &[&sam], "hi").await;
    let since = app.store.last_event_id();
    let call = format!("POST /users/me/muted_users/{}", eve.id);
    app.call(&sam, &call, &[]).await.success();
    let events = heard_of_flags(&app, &sam, since).await;
    assert_eq!((events.len(), &events[0]["messages"]), (1, &json!([noise, direct])));
    assert_eq!(unread_in_channels(&app, &sam).await, [other]);
    assert_eq!(flags(&app, &sam, direct).await, [MessageFlag::Read]);
    let head = app.store.last_event_id();
    app.call(&sam, &call, &[]).await.refused("User already muted");
    assert_eq!(app.store.last_event_id(), head);
    app.call(&sam, &format!("DELETE /users/me/muted_users/{}", eve.id), &[]).await.success();
    assert_eq!(unread_in_channels(&app, &sam).await, [other]);
}

#[tokio::test]
async fn a_newcomer_finds_recent_messages_in_their_feed_and_the_newest_twenty_are_unread() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    let board = private(&app, "board", &[&app.ada]).await;
    let mut said = Vec::new();
    for n in 0..13 {
        said.push(say(&app, &app.ada, general, ("lunch", &n.to_string())).await);
        said.push(say(&app, &app.ada, sandbox, ("play", &n.to_string())).await);
        say(&app, &app.ada, board, ("budget", &n.to_string())).await;
        tell(&app, &app.ada, &[&sam], "psst").await;
    }
    let made = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve")];
    let id = app.call(&app.ada, "POST /users", &made).await.success()["user_id"].as_i64().unwrap();
    let login = [("username", "eve@example.org"), ("password", "correct horse")];
    let key = app.call_as_nobody("POST /fetch_api_key", &login).await.success()["api_key"].as_str().unwrap().to_owned();
    let eve = Person { id, email: "eve@example.org".to_owned(), key };
    let feed = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0")];
    let feed = app.call(&eve, "GET /messages", &feed).await.success();
    let shown: Vec<i64> =
        feed["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect();
    assert_eq!(shown, said);
    assert_eq!(feed["messages"][5]["flags"], json!(["read"]));
    let mut unread = unread_in_channels(&app, &eve).await;
    unread.sort_unstable();
    assert_eq!(unread, said[6..]);
    assert_eq!(first_unread(&app, &eve).await, said[6]);
    // What comes later is as for everybody, on another node too, and for who was there nothing has changed.
    said.push(say(&app, &app.ada, general, ("lunch", "welcome")).await);
    mark(&app, &eve, &said[6..10], ("add", "read")).await.success();
    let other = app.another_node().await;
    let mut unread = unread_in_channels(&other, &eve).await;
    unread.sort_unstable();
    assert_eq!(unread, said[10..]);
    assert_eq!(unread_in_channels(&app, &sam).await, Vec::<i64>::new());
}
