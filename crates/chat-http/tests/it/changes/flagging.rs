//! Flags, what was read, and who tells.

use super::*;

#[tokio::test]
async fn flags_of_a_thousand_messages_are_set_and_taken_away_in_one_event() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    let mut ids = Vec::new();
    for _ in 0..1_000 {
        ids.push(say(&app, &app.ada, general, ("lunch", "hi")).await);
    }
    let list = json!(ids).to_string();
    let since = app.store.last_event_id();
    for (op, flag) in [("add", "read"), ("add", "starred"), ("remove", "read"), ("remove", "starred")] {
        let parameters = [("messages", list.as_str()), ("op", op), ("flag", flag)];
        let response = app.call(&sam, "POST /messages/flags", &parameters).await.success();
        assert_eq!(response["messages"], json!(ids));
        // Once more changes nothing, and says nothing.
        app.call(&sam, "POST /messages/flags", &parameters).await.success();
    }
    let events = heard(&app, &sam, since).await;
    let short: Vec<_> = events.iter().map(|event| (&event["op"], &event["operation"], &event["flag"])).collect();
    let named = |op, flag| (json!(op), json!(op), json!(flag));
    let wanted = [named("add", "read"), named("add", "starred"), named("remove", "read"), named("remove", "starred")];
    assert_eq!(short, wanted.iter().map(|(op, same, flag)| (op, same, flag)).collect::<Vec<_>>());
    for event in &events {
        assert_eq!((&event["messages"], &event["all"]), (&json!(ids), &json!(false)));
    }
    let details = &events[2]["message_details"];
    assert_eq!(details.as_object().unwrap().len(), 1_000);
    assert_eq!(
        details[ids[0].to_string()],
        json!({"type": "stream", "stream_id": general, "topic": "lunch", "unmuted_stream_msg": true})
    );
    assert_eq!(events[0].get("message_details"), None);
    assert_eq!(flags(&app, &sam, ids[999]).await, []);
    assert!(heard(&app, &app.ada, since).await.is_empty());
}

#[tokio::test]
async fn a_flag_that_is_none_or_the_servers_is_refused() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "hi")).await.to_string();
    let list = format!("[{id}]");
    let head = app.store.last_event_id();
    let flag = async |op, flag| {
        app.call(&app.ada, "POST /messages/flags", &[("messages", &list), ("op", op), ("flag", flag)]).await
    };
    flag("add", "x").await.refused("Invalid flag: 'x'");
    flag("add", "mentioned").await.refused("Flag not editable: 'mentioned'");
    flag("set", "read").await.refused("Invalid message flag operation: 'set'");
    let parameters = [("messages", "[\"1\"]"), ("op", "add"), ("flag", "read")];
    app.call(&app.ada, "POST /messages/flags", &parameters).await.refused("messages[0] is not an integer");
    assert_eq!(app.store.last_event_id(), head);
}

#[tokio::test]
async fn ones_own_message_can_become_unread_and_says_where_it_is() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = tell(&app, &sam, &[&app.ada], "hi").await;
    let list = format!("[{id}]");
    let since = app.store.last_event_id();
    for op in ["add", "remove"] {
        app.call(&sam, "POST /messages/flags", &[("messages", &list), ("op", op), ("flag", "read")]).await.success();
    }
    let events = heard(&app, &sam, since).await;
    assert_eq!(events[1]["message_details"], json!({id.to_string(): {"type": "private", "user_ids": [9]}}));
    assert_eq!(flags(&app, &sam, id).await, []);
}

#[tokio::test]
async fn a_topic_a_channel_and_everything_become_read() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let (general, sandbox) = (channel(&app, "general"), channel(&app, "sandbox"));
    let before = say(&app, &app.ada, general, ("old", "hi")).await;
    subscribe(&app, &sam, general).await;
    subscribe(&app, &sam, sandbox).await;
    let lunch = say(&app, &app.ada, general, ("Lunch", "hi")).await;
    let dinner = say(&app, &app.ada, general, ("dinner", "hi")).await;
    let elsewhere = say(&app, &app.ada, sandbox, ("lunch", "hi")).await;
    let direct = tell(&app, &app.ada, &[&sam], "hi").await;
    let since = app.store.last_event_id();
    let channel_id = general.to_string();
    let topic = async |channel: &str, topic: &str| {
        app.call(&sam, "POST /mark_topic_as_read", &[("stream_id", channel), ("topic_name", topic)]).await
    };
    topic("999", "lunch").await.refused("Invalid channel ID");
    topic(&channel_id, "old").await.refused("No such topic 'old'");
    topic(&channel_id, "nothing").await.refused("No such topic 'nothing'");
    let missing = app.call(&sam, "POST /mark_topic_as_read", &[("stream_id", &channel_id)]).await;
    missing.refused("Missing 'topic_name' argument");
    assert_eq!(app.store.last_event_id(), since);
    topic(&channel_id, "lunch").await.success();
    topic(&channel_id, "lunch").await.success();
    app.call(&sam, "POST /mark_stream_as_read", &[("stream_id", "999")]).await.refused("Invalid channel ID");
    app.call(&sam, "POST /mark_stream_as_read", &[("stream_id", &channel_id)]).await.success();
    assert_eq!(app.call(&sam, "POST /mark_all_as_read", &[]).await.success()["complete"], true);
    let events = heard(&app, &sam, since).await;
    let ids: Vec<_> = events.iter().map(|event| &event["messages"]).collect();
    assert_eq!(ids, [&json!([lunch]), &json!([dinner]), &json!([elsewhere, direct])]);
    assert!(events.iter().all(|event| event["op"] == "add" && event["flag"] == "read"));
    assert!(flags(&app, &sam, before).await.contains(&MessageFlag::Historical));
}

#[tokio::test]
async fn an_empty_topic_is_the_whole_channel() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    let ids = [say(&app, &app.ada, general, ("a", "hi")).await, say(&app, &app.ada, general, ("b", "hi")).await];
    let since = app.store.last_event_id();
    let parameters = [("stream_id", general.to_string()), ("topic_name", String::new())];
    let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
    app.call(&sam, "POST /mark_topic_as_read", &parameters).await.success();
    assert_eq!(heard(&app, &sam, since).await[0]["messages"], json!(ids));
}

#[tokio::test]
async fn receipts_name_readers_but_not_the_sender_nor_who_hides_or_is_muted() {
    let app = TestApp::found().await;
    let general = channel(&app, "general");
    let mut people = Vec::new();
    for name in ["sam", "hidden", "muted", "away"] {
        let person = app.person(name, Role::Member).await;
        subscribe(&app, &person, general).await;
        people.push(person);
    }
    let id = say(&app, &app.ada, general, ("lunch", "hi")).await;
    for person in &people[..3] {
        let parameters = [("messages", format!("[{id}]")), ("op", "add".to_owned()), ("flag", "read".to_owned())];
        let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
        app.call(person, "POST /messages/flags", &parameters).await.success();
    }
    let item = |user: i64, kind, key: &str, document| RealmChange::UserItem {
        user_id: UserId(user),
        kind,
        key: key.to_owned(),
        document: Some(document),
    };
    let changes = vec![
        item(people[1].id, UserItemKind::Settings, "", json!({"send_read_receipts": false})),
        item(9, UserItemKind::MutedUser, &people[2].id.to_string(), json!({"timestamp": 1})),
    ];
    commit(&app, changes).await;
    let receipts = async |who: &Person| {
        app.call(who, &format!("GET /messages/{id}/read_receipts"), &[]).await.success()["user_ids"].clone()
    };
    assert_eq!(receipts(&app.ada).await, json!([people[0].id]));
    assert_eq!(receipts(&people[0]).await, json!([people[0].id, people[2].id]));
    assert_eq!(receipts(&people[2]).await, json!([people[0].id, people[2].id]));
}

#[tokio::test]
async fn a_stretch_of_a_narrow_is_marked_and_says_where_it_ended() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    let mut lunch = Vec::new();
    for number in 0..6 {
        lunch.push(say(&app, &app.ada, general, ("lunch", "hi")).await);
        say(&app, &app.ada, general, ("dinner", &number.to_string())).await;
    }
    let narrow = r#"[{"operator":"channel","operand":"general"},{"operator":"topic","operand":"Lunch"}]"#;
    let mark = async |anchor: &str, (before, after): (&str, &str), more: &[(&str, &str)]| {
        let mut parameters = vec![("anchor", anchor), ("num_before", before), ("num_after", after)];
        parameters.extend_from_slice(more);
        app.call(&sam, "POST /messages/flags/narrow", &parameters).await
    };
    let read = [("narrow", narrow), ("op", "add"), ("flag", "read")];
    let since = app.store.last_event_id();
    mark("x", ("0", "1"), &read).await.refused("Invalid anchor");
    mark("oldest", ("0", "1"), &read[1..]).await.refused("Missing 'narrow' argument");
    mark("oldest", ("0", "1"), &[read[0], read[1], ("flag", "mentioned")])
        .await
        .refused("Flag not editable: 'mentioned'");
    mark("oldest", ("0", "1"), &[read[0], ("op", "set"), read[2]])
        .await
        .refused("Invalid message flag operation: 'set'");
    let nowhere = [("narrow", r#"[["channel","nowhere"]]"#), read[1], read[2]];
    assert_eq!(mark("oldest", ("0", "1"), &nowhere).await.error().1, "BAD_NARROW");
    assert_eq!(app.store.last_event_id(), since);
    let response = mark("oldest", ("0", "4"), &read).await.success();
    let answer = |response: &Value| {
        let keys = [
            "processed_count",
            "updated_count",
            "first_processed_id",
            "last_processed_id",
            "found_oldest",
            "found_newest",
        ];
        Value::from_iter(keys.map(|key| response[key].clone()))
    };
    assert_eq!(answer(&response), json!([4, 4, lunch[0], lunch[3], true, false]));
    let response = mark("oldest", ("0", "5001"), &read).await.success();
    assert_eq!(answer(&response), json!([6, 2, lunch[0], lunch[5], true, true]));
    let everything = [("narrow", "null"), read[1], ("flag", "starred")];
    let response = mark("newest", ("5001", "5001"), &everything).await.success();
    assert_eq!((&response["processed_count"], &response["found_newest"]), (&json!(12), &json!(true)));
    let nothing = [("narrow", r#"[["sender","sam@example.org"]]"#), read[1], read[2]];
    let response = mark("newest", ("10", "0"), &nothing).await.success();
    assert_eq!(answer(&response), json!([0, 0, null, null, true, true]));
    let events = heard(&app, &sam, since).await;
    let ids: Vec<_> = events.iter().map(|event| event["messages"].clone()).collect();
    assert_eq!((ids.len(), &ids[..2]), (3, [json!(lunch[..4]), json!(lunch[4..])].as_slice()));
    let around = [("narrow", "[]"), ("op", "remove"), ("flag", "read"), ("include_anchor", "false")];
    let response = mark(&lunch[2].to_string(), ("1", "0"), &around).await.success();
    assert_eq!((&response["processed_count"], &response["updated_count"]), (&json!(1), &json!(0)));
}

#[tokio::test]
async fn mark_topic_as_read_asks_for_a_stream_id_and_a_topic_name() {
    let app = TestApp::found().await;
    let general = channel(&app, "general").to_string();
    let head = app.store.last_event_id();
    let mark = async |parameters: &[(&str, &str)]| app.call(&app.ada, "POST /mark_topic_as_read", parameters).await;
    mark(&[("topic_name", "t")]).await.refused("Missing 'stream_id' argument");
    mark(&[("stream_id", &general)]).await.refused("Missing 'topic_name' argument");
    mark(&[("stream_id", "general"), ("topic_name", "t")]).await.refused("stream_id is not valid JSON");
    mark(&[("stream_id", "[1]"), ("topic_name", "t")]).await.refused("stream_id is not an integer");
    app.call(&app.ada, "POST /mark_stream_as_read", &[]).await.refused("Missing 'stream_id' argument");
    assert_eq!(app.store.last_event_id(), head);
}

#[tokio::test]
async fn what_others_have_unread_stays_unread_when_somebody_reads_everything() {
    let app = TestApp::found().await;
    let (sam, bea) = (app.person("sam", Role::Member).await, app.person("bea", Role::Member).await);
    let general = channel(&app, "general");
    subscribe(&app, &sam, general).await;
    subscribe(&app, &bea, general).await;
    let id = say(&app, &app.ada, general, ("lunch", "hi")).await;
    app.call(&sam, "POST /mark_all_as_read", &[]).await.success();
    assert!(flags(&app, &sam, id).await.contains(&MessageFlag::Read));
    assert!(!flags(&app, &bea, id).await.contains(&MessageFlag::Read));
}
