//! What is unread, and what counts as read; marks on messages out of sight.

use super::*;

/// Sets a flag on messages, or takes it away.
async fn mark(town: &Town, who: &Person, ids: &[i64], (op, flag): (&str, &str)) -> Told {
    let list = json!(ids).to_string();
    town.call(who, "POST /messages/flags", &[("messages", list.as_str()), ("op", op), ("flag", flag)]).await
}

/// What somebody was told of flags since.
async fn heard_of_flags(town: &Town, who: &Person, since: EventId) -> Vec<Value> {
    let mut told = heard(town, who, since).await;
    told.retain(|event| event["type"] == "update_message_flags");
    told
}

#[tokio::test]
async fn a_star_on_a_message_out_of_sight_is_refused_and_reading_one_is_passed_over() {
    let town = Town::found().await;
    let (sam, eve) = (town.person("sam", Role::Member).await, town.person("eve", Role::Member).await);
    let secret = tell(&town, &town.ada, &[&sam], "psst").await;
    let inside = say(&town, &sam, private(&town, "board", &[&sam]).await, ("t", "hi")).await;
    let own = tell(&town, &town.ada, &[&eve], "hi").await;
    let since = town.store.head();
    for hidden in [secret, inside, 999_999] {
        for flag in ["starred", "collapsed"] {
            mark(&town, &eve, &[own, hidden], ("add", flag)).await.refused("Invalid message(s)");
        }
        for change in [("add", "read"), ("remove", "read"), ("remove", "starred")] {
            let told = mark(&town, &eve, &[hidden], change).await.success();
            assert_eq!(told["messages"], json!([hidden]));
        }
    }
    assert_eq!(town.store.head(), since);
    mark(&town, &eve, &[own], ("add", "starred")).await.success();
    assert_eq!(flags(&town, &eve, own).await, [Flag::Starred]);
}

#[tokio::test]
async fn messages_moved_out_of_sight_are_not_named_among_the_starred() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    let board = private(&town, "board", &[&town.ada]).await;
    subscribe(&town, &sam, general).await;
    let (stays, goes) =
        (say(&town, &town.ada, general, ("lunch", "hi")).await, say(&town, &town.ada, general, ("budget", "hi")).await);
    mark(&town, &sam, &[stays, goes], ("add", "starred")).await.success();
    let starred = async || town.call(&sam, "POST /register", &[]).await.success()["starred_messages"].clone();
    assert_eq!(starred().await, json!([stays, goes]));
    let to = board.to_string();
    let moved = [("stream_id", to.as_str()), ("propagate_mode", "change_all")];
    town.call(&town.ada, &format!("PATCH /messages/{goes}"), &moved).await.success();
    assert_eq!(starred().await, json!([stays]));
}

/// The messages that are unread, as a client hears it when it starts, in channels.
async fn unread_in_channels(town: &Town, who: &Person) -> Vec<i64> {
    let state = town.call(who, "POST /register", &[]).await.success();
    let topics = state["unread_msgs"]["streams"].as_array().unwrap();
    let ids = topics.iter().flat_map(|topic| topic["unread_message_ids"].as_array().unwrap());
    ids.map(|id| id.as_i64().unwrap()).collect()
}

/// The anchor of the first unread message.
async fn first_unread(town: &Town, who: &Person) -> i64 {
    let parameters = [("anchor", "first_unread"), ("num_before", "0"), ("num_after", "1")];
    town.call(who, "GET /messages", &parameters).await.success()["anchor"].as_i64().unwrap()
}

#[tokio::test]
async fn what_is_unread_in_a_channel_is_read_for_who_leaves_it_and_stays_so_when_they_come_back() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    for id in [general, sandbox] {
        subscribe(&town, &sam, id).await;
    }
    let left = say(&town, &town.ada, general, ("lunch", "hi")).await;
    let kept = say(&town, &town.ada, sandbox, ("lunch", "hi")).await;
    assert_eq!(first_unread(&town, &sam).await, left);
    let since = town.store.head();
    town.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["general"]"#)]).await.success();
    let told = heard_of_flags(&town, &sam, since).await;
    let short: Vec<_> = told.iter().map(|event| (&event["op"], &event["flag"], &event["messages"])).collect();
    assert_eq!(short, [(&json!("add"), &json!("read"), &json!([left]))]);
    assert_eq!((unread_in_channels(&town, &sam).await, first_unread(&town, &sam).await), (vec![kept], kept));
    // Nor is it unread again by a click or by coming back.
    mark(&town, &sam, &[left], ("remove", "read")).await.success();
    subscribe(&town, &sam, general).await;
    assert_eq!(unread_in_channels(&town, &sam).await, [kept]);
    let new = say(&town, &town.ada, general, ("lunch", "hi")).await;
    assert_eq!(unread_in_channels(&town, &sam).await, [kept, new].into_iter().rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn who_came_back_to_a_channel_can_mark_as_unread_what_they_received_before_they_left() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let general = channel(&town, "general");
    subscribe(&town, &sam, general).await;
    let old = say(&town, &town.ada, general, ("lunch", "hi")).await;
    town.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["general"]"#)]).await.success();
    subscribe(&town, &sam, general).await;
    assert!(unread_in_channels(&town, &sam).await.is_empty());
    mark(&town, &sam, &[old], ("remove", "read")).await.success();
    assert_eq!((unread_in_channels(&town, &sam).await, first_unread(&town, &sam).await), (vec![old], old));
}

#[tokio::test]
async fn what_was_left_unread_in_a_channel_before_counts_as_read_too() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    for id in [general, sandbox] {
        subscribe(&town, &sam, id).await;
        say(&town, &town.ada, id, ("lunch", "hi")).await;
    }
    // As the database has it where nothing was written down when they left.
    let (channel_id, user_id) = (ChannelId(general), UserId(sam.id));
    commit(&town, vec![RealmChange::Unsubscription { channel_id, user_id }]).await;
    let mut archived = town.realm().channel(ChannelId(sandbox)).unwrap().as_ref().clone();
    archived.is_archived = true;
    commit(&town, vec![RealmChange::Channel(Box::new(archived))]).await;
    assert!(unread_in_channels(&town, &sam).await.is_empty());
    assert_eq!(first_unread(&town, &sam).await, 10_000_000_000_000_000);
}

#[tokio::test]
async fn who_is_taken_out_of_a_channel_and_who_was_in_an_archived_one_have_nothing_unread_there() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    for id in [general, sandbox] {
        subscribe(&town, &sam, id).await;
        say(&town, &town.ada, id, ("lunch", "hi")).await;
    }
    let since = town.store.head();
    let sams = format!("[{}]", sam.id);
    let out = [("subscriptions", r#"["general"]"#), ("principals", sams.as_str())];
    town.call(&town.ada, "DELETE /users/me/subscriptions", &out).await.success();
    assert_eq!(heard_of_flags(&town, &sam, since).await.len(), 1);
    town.call(&town.ada, &format!("DELETE /streams/{sandbox}"), &[]).await.success();
    assert!(unread_in_channels(&town, &sam).await.is_empty());
    assert_eq!(first_unread(&town, &sam).await, 10_000_000_000_000_000);
}

#[tokio::test]
async fn what_a_user_wrote_before_they_were_muted_is_read_then() {
    let town = Town::found().await;
    let (sam, eve) = (town.person("sam", Role::Member).await, town.person("eve", Role::Member).await);
    let general = channel(&town, "general");
    subscribe(&town, &sam, general).await;
    let noise = say(&town, &eve, general, ("lunch", "hi")).await;
    let other = say(&town, &town.ada, general, ("lunch", "hi")).await;
    let direct = tell(&town, &eve, &[&sam], "hi").await;
    let since = town.store.head();
    let call = format!("POST /users/me/muted_users/{}", eve.id);
    town.call(&sam, &call, &[]).await.success();
    let told = heard_of_flags(&town, &sam, since).await;
    assert_eq!((told.len(), &told[0]["messages"]), (1, &json!([noise, direct])));
    assert_eq!(unread_in_channels(&town, &sam).await, [other]);
    assert_eq!(flags(&town, &sam, direct).await, [Flag::Read]);
    let head = town.store.head();
    town.call(&sam, &call, &[]).await.refused("User already muted");
    assert_eq!(town.store.head(), head);
    town.call(&sam, &format!("DELETE /users/me/muted_users/{}", eve.id), &[]).await.success();
    assert_eq!(unread_in_channels(&town, &sam).await, [other]);
}

#[tokio::test]
async fn a_newcomer_finds_recent_messages_in_their_feed_and_the_newest_twenty_are_unread() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&town, "general"), channel(&town, "sandbox"));
    let board = private(&town, "board", &[&town.ada]).await;
    let mut said = Vec::new();
    for n in 0..13 {
        said.push(say(&town, &town.ada, general, ("lunch", &n.to_string())).await);
        said.push(say(&town, &town.ada, sandbox, ("play", &n.to_string())).await);
        say(&town, &town.ada, board, ("budget", &n.to_string())).await;
        tell(&town, &town.ada, &[&sam], "psst").await;
    }
    let made = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve")];
    let id = town.call(&town.ada, "POST /users", &made).await.success()["user_id"].as_i64().unwrap();
    let login = [("username", "eve@example.org"), ("password", "correct horse")];
    let key =
        town.call_as_nobody("POST /fetch_api_key", &login).await.success()["api_key"].as_str().unwrap().to_owned();
    let eve = Person { id, email: "eve@example.org".to_owned(), key };
    let feed = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0")];
    let feed = town.call(&eve, "GET /messages", &feed).await.success();
    let shown: Vec<i64> =
        feed["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect();
    assert_eq!(shown, said);
    assert_eq!(feed["messages"][5]["flags"], json!(["read"]));
    let mut unread = unread_in_channels(&town, &eve).await;
    unread.sort_unstable();
    assert_eq!(unread, said[6..]);
    assert_eq!(first_unread(&town, &eve).await, said[6]);
    // What comes later is as for everybody, on another node too, and for who was there nothing has changed.
    said.push(say(&town, &town.ada, general, ("lunch", "welcome")).await);
    mark(&town, &eve, &said[6..10], ("add", "read")).await.success();
    let other = town.another_node().await;
    let mut unread = unread_in_channels(&other, &eve).await;
    unread.sort_unstable();
    assert_eq!(unread, said[10..]);
    assert_eq!(unread_in_channels(&town, &sam).await, Vec::<i64>::new());
}
