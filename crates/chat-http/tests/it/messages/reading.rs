//! Which messages are read back, and how they look.

use chat_core::event_log::event::{EventAudience, NewEvent};
use chat_core::event_log::store::EventLog as _;
use chat_core::id::{EventId, MessageId, UserId};
use chat_core::messages::store::{
    FlagWriteGuard, MessageEdit, MessageEditOutcome, MessageStore as _, MessageWriteGuard, MessageWriteOutcome,
};
use chat_core::model::channel::ChannelPrivacy;
use chat_core::model::flag_change::FlagOp;
use chat_core::model::message::{MessageFlag, Reaction, ReactionType};
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use chat_core::wire_format::MessageFormat;
use serde_json::{Value, json};

use super::sending::{change, channel_id, join, logged_messages, make_channel};
use crate::test_app::{NOW_S, Person, TestApp};

const ALL: [(&str, &str); 3] = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0")];

async fn send(app: &TestApp, who: &Person, (to, topic): (&str, &str), content: &str) -> i64 {
    let parameters = [("type", "channel"), ("to", to), ("topic", topic), ("content", content)];
    app.call(who, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
}

async fn send_direct(app: &TestApp, who: &Person, to: &[&Person], content: &str) -> i64 {
    let to = json!(to.iter().map(|person| person.id).collect::<Vec<_>>()).to_string();
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", content)];
    app.call(who, "POST /messages", &parameters).await.success()["id"].as_i64().unwrap()
}

/// What a change of flags of these messages is decided on.
fn decided_copies(app: &TestApp, messages: &[MessageId]) -> FlagWriteGuard {
    FlagWriteGuard { realm: app.realm().changed_at(), log: app.store.last_event_id(), messages: messages.to_vec() }
}

/// The answer to `GET /messages` with all there is, and these parameters.
async fn read(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> Value {
    let mut all: Vec<_> =
        ALL.into_iter().filter(|(name, _)| parameters.iter().all(|(given, _)| given != name)).collect();
    all.extend_from_slice(parameters);
    app.call(who, "GET /messages", &all).await.success()
}

fn ids(answer: &Value) -> Vec<i64> {
    answer["messages"].as_array().unwrap().iter().map(|message| message["id"].as_i64().unwrap()).collect()
}

async fn narrowed(app: &TestApp, who: &Person, narrow: &Value) -> Vec<i64> {
    ids(&read(app, who, &[("narrow", &narrow.to_string())]).await)
}

fn member_names(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_message_has_the_keys_clients_know_and_no_other() {
    let app = TestApp::found().await;
    let id = send(&app, &app.ada, ("general", "lunch"), "**soup** https://a.example").await;
    let answer = read(&app, &app.ada, &[]).await;
    let mut names = member_names(&answer);
    names.retain(|name| !["result", "msg"].contains(name));
    assert_eq!(names, ["anchor", "found_anchor", "found_newest", "found_oldest", "history_limited", "messages"]);
    let message = &answer["messages"][0];
    let expected = json!({
        "id": id, "sender_id": 9, "type": "stream", "stream_id": channel_id(&app, "general").0,
        "recipient_id": channel_id(&app, "general").0 * 2, "display_recipient": "general", "subject": "lunch",
        "content": "<p><strong>soup</strong> <a href=\"https://a.example\">https://a.example</a></p>",
        "content_type": "text/html", "timestamp": NOW_S, "client": "Test", "is_me_message": false,
        "sender_email": "ada@example.org", "sender_full_name": "Ada Lovelace", "sender_realm_str": "",
        "avatar_url": null, "topic_links": [], "reactions": [], "submessages": [], "flags": [],
    });
    assert_eq!(*message, expected);
}

#[tokio::test]
async fn what_was_told_and_what_is_read_agree_byte_for_byte() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    send(&app, &app.ada, ("general", "see https://a.example"), "/me *waves*").await;
    send_direct(&app, &app.ada, &[&sam], "hi").await;
    for (html, client_gravatar) in [(true, true), (true, false), (false, true), (false, false)] {
        let form = [("apply_markdown", html.to_string()), ("client_gravatar", client_gravatar.to_string())];
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = read(&app, &app.ada, &form).await;
        for (event, message) in logged_messages(&app).await.iter().zip(answer["messages"].as_array().unwrap()) {
            let mut object = event.to_wire_json(MessageFormat { html, client_gravatar });
            assert_eq!(object.pop(), Some('}'));
            assert_eq!(format!("{object},\"flags\":[]}}"), message.to_string());
        }
        assert_eq!(answer["messages"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_direct_message_names_all_its_people() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    send_direct(&app, &sam, &[&app.ada], "hi").await;
    let answer = read(&app, &app.ada, &[("apply_markdown", "false")]).await;
    let message = &answer["messages"][0];
    let user = |person: &Person, name: &str| json!({"id": person.id, "email": person.email, "full_name": name, "is_mirror_dummy": false});
    assert_eq!(message["display_recipient"], json!([user(&app.ada, "Ada Lovelace"), user(&sam, "sam")]));
    assert_eq!((&message["type"], &message["subject"]), (&json!("private"), &json!("")));
    assert_eq!((&message["content"], &message["content_type"]), (&json!("hi"), &json!("text/x-markdown")));
    assert!(message.get("stream_id").is_none());
}

#[tokio::test]
async fn an_anchor_is_a_place_a_word_or_the_first_unread() {
    let app = TestApp::found().await;
    let mut sent = Vec::new();
    for place in 0..6 {
        sent.push(send(&app, &app.ada, ("general", "t"), &place.to_string()).await);
    }
    let event = || (NOW_S, NewEvent::same_for_everyone(EventAudience::from_users([UserId(9)]), json!({"type": "x"})));
    let first = [MessageId(sent[0]), MessageId(sent[1])];
    app.store
        .change_flag(UserId(9), (MessageFlag::Read, FlagOp::Add), &decided_copies(&app, &first), event())
        .await
        .unwrap();
    let around = async |anchor: &str, before: &str, after: &str| {
        let answer = read(&app, &app.ada, &[("anchor", anchor), ("num_before", before), ("num_after", after)]).await;
        let found = ["found_anchor", "found_oldest", "found_newest"].map(|key| answer[key].as_bool().unwrap());
        (ids(&answer), answer["anchor"].as_i64().unwrap(), found)
    };
    let third = sent[2].to_string();
    assert_eq!(around(&third, "1", "1").await, (sent[1..4].to_vec(), sent[2], [true, false, false]));
    assert_eq!(around(&third, "5", "5").await, (sent.clone(), sent[2], [true, true, true]));
    assert_eq!(around("newest", "2", "0").await, (sent[4..].to_vec(), 10_000_000_000_000_000, [false, false, true]));
    assert_eq!(around("oldest", "0", "2").await, (sent[..2].to_vec(), 0, [false, true, false]));
    assert_eq!(around("first_unread", "1", "0").await.1, sent[2]);
    assert_eq!(around("-4", "0", "1").await.1, 0);
    assert_eq!(around("99999999999999999999", "1", "0").await.0, sent[5..]);
    let older = [("anchor", "0"), ("use_first_unread_anchor", "true"), ("num_before", "0"), ("num_after", "0")];
    assert_eq!(ids(&read(&app, &app.ada, &older).await), [sent[2]]);
    let without = [("anchor", third.as_str()), ("include_anchor", "false"), ("num_before", "1"), ("num_after", "0")];
    assert_eq!(ids(&read(&app, &app.ada, &without).await), [sent[1]]);
}

#[tokio::test]
async fn nothing_unread_is_the_anchor_after_the_last() {
    let app = TestApp::found().await;
    let answer = read(&app, &app.ada, &[("anchor", "first_unread")]).await;
    assert_eq!(answer["anchor"], 10_000_000_000_000_000_i64);
    assert_eq!(answer["messages"], json!([]));
}

#[tokio::test]
async fn a_stretch_that_cannot_be_is_refused_by_the_parameter() {
    let app = TestApp::found().await;
    let cases: [(&[(&str, &str)], &str); 12] = [
        (&[("num_before", "1"), ("num_after", "1")], "Missing 'anchor' argument."),
        (&[("anchor", "soon"), ("num_before", "1"), ("num_after", "1")], "Invalid anchor"),
        (&[("anchor", "1"), ("num_after", "1")], "Missing 'num_before' argument"),
        (&[("anchor", "1"), ("num_before", "1")], "Missing 'num_after' argument"),
        (&[("anchor", "1"), ("num_before", "x"), ("num_after", "1")], "num_before is not valid JSON"),
        (&[("anchor", "1"), ("num_before", "-1"), ("num_after", "1")], "num_before is too small"),
        (&[("anchor", "1"), ("num_before", "\"1\""), ("num_after", "1")], "num_before is not an integer"),
        (
            &[("anchor", "1"), ("num_before", "2500"), ("num_after", "2501")],
            "Too many messages requested (maximum 5000).",
        ),
        (
            &[("anchor", "1"), ("num_before", "9223372036854775807"), ("num_after", "9223372036854775807")],
            "Too many messages requested (maximum 5000).",
        ),
        (
            &[("anchor", "1"), ("num_before", "1"), ("num_after", "1"), ("include_anchor", "false")],
            "The anchor can only be excluded at an end of the range",
        ),
        (
            &[("anchor", "1"), ("num_before", "1"), ("num_after", "1"), ("apply_markdown", "yes")],
            "apply_markdown is not valid JSON",
        ),
        (&[("anchor", "1"), ("num_before", "1"), ("num_after", "1"), ("narrow", "{}")], "narrow is not a list"),
    ];
    for (parameters, text) in cases {
        app.call(&app.ada, "GET /messages", parameters).await.refused(text);
    }
}

#[tokio::test]
async fn a_narrow_selects_by_each_of_its_operators() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    join(&app, "general", &[&sam]).await;
    let general = channel_id(&app, "general").0;
    let lunch = send(&app, &sam, ("general", "Lunch"), "@**Ada Lovelace** https://a.example").await;
    let done = send(&app, &app.ada, ("general", "✔ Lunch"), "x").await;
    let sand = send(&app, &app.ada, ("sandbox", "lunch"), "x").await;
    let direct = send_direct(&app, &app.ada, &[&sam], "x").await;
    let own = send_direct(&app, &app.ada, &[&app.ada], "x").await;
    let all = [lunch, done, sand, direct, own];
    let event = (NOW_S, NewEvent::same_for_everyone(EventAudience::from_users([UserId(9)]), json!({"type": "x"})));
    app.store
        .change_flag(UserId(9), (MessageFlag::Starred, FlagOp::Add), &decided_copies(&app, &[MessageId(done)]), event)
        .await
        .unwrap();
    let cases: [(&str, Value, &[i64]); 24] = [
        ("channel", json!("GENERAL"), &[lunch, done]),
        ("stream", json!(general), &[lunch, done]),
        ("channel", json!("sandbox"), &[sand]),
        ("channels", json!("public"), &[lunch, done, sand]),
        ("topic", json!("lunch"), &[lunch, sand]),
        ("dm", json!([sam.id]), &[direct]),
        ("dm", json!([sam.id, 9]), &[direct]),
        ("dm", json!("sam@example.org"), &[direct]),
        ("pm-with", json!("sam@example.org,ada@example.org"), &[direct]),
        ("dm", json!([9]), &[own]),
        ("dm", json!([]), &[own]),
        ("dm-including", json!(sam.id), &[direct]),
        ("dm-including", json!("ada@example.org"), &[direct, own]),
        ("sender", json!("sam@example.org"), &[lunch]),
        ("sender", json!(sam.id), &[lunch]),
        ("id", json!(sand), &[sand]),
        ("id", json!(sand.to_string()), &[sand]),
        ("is", json!("dm"), &[direct, own]),
        ("is", json!("private"), &[direct, own]),
        ("is", json!("starred"), &[done]),
        ("is", json!("mentioned"), &[lunch]),
        ("is", json!("resolved"), &[done]),
        ("has", json!("link"), &[lunch]),
        ("near", json!("anything"), &all),
    ];
    for (operator, operand, found) in cases {
        let narrow = json!([{"operator": operator, "operand": operand}]);
        assert_eq!(narrowed(&app, &app.ada, &narrow).await, found, "{narrow}");
        if operator != "near" {
            let rest: Vec<i64> = all.iter().copied().filter(|id| !found.contains(id)).collect();
            let negated = json!([{"operator": operator, "operand": operand, "negated": true}]);
            assert_eq!(narrowed(&app, &app.ada, &negated).await, rest, "{negated}");
        }
    }
    assert_eq!(narrowed(&app, &app.ada, &json!([["stream", "general"], ["topic", "lunch"]])).await, [lunch]);
    assert_eq!(narrowed(&app, &app.ada, &json!([])).await, all);
    assert_eq!(narrowed(&app, &app.ada, &Value::Null).await, all);
}

#[tokio::test]
async fn with_follows_a_conversation_the_reader_may_read() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    join(&app, "general", &[&sam]).await;
    let moved = send(&app, &app.ada, ("sandbox", "new home"), "x").await;
    let old = send(&app, &app.ada, ("general", "old home"), "x").await;
    let hidden = send_direct(&app, &app.ada, &[&app.ada], "x").await;
    let with = |id: i64| {
        json!([
            {"operator": "channel", "operand": "general"}, {"operator": "topic", "operand": "old home"},
            {"operator": "with", "operand": id},
        ])
    };
    assert_eq!(narrowed(&app, &app.ada, &with(moved)).await, [moved]);
    assert_eq!(narrowed(&app, &app.ada, &with(hidden)).await, [hidden]);
    assert_eq!(narrowed(&app, &sam, &with(hidden)).await, [old]);
    assert_eq!(narrowed(&app, &sam, &with(99_999)).await, [old]);
}

#[tokio::test]
async fn a_narrow_that_cannot_be_is_refused_with_what_is_wrong() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    make_channel(&app, "secret", |channel| channel.privacy = ChannelPrivacy::PrivateSharedHistory).await;
    let cases = [
        (json!([["stream", "nowhere"]]), "unknown channel nowhere"),
        (json!([["stream", "secret"]]), "unknown channel secret"),
        (json!([{"operator": "channel", "operand": 4711}]), "unknown channel 4711"),
        (json!([["sender", "me"]]), "unknown user me"),
        (json!([{"operator": "dm", "operand": [4711]}]), "unknown user in [4711]"),
        (json!([["is", "odd"]]), "unknown 'is' operand odd"),
        (json!([["has", "odd"]]), "unknown 'has' operand odd"),
        (json!([["id", "-1"]]), "Invalid message ID"),
        (json!([["with", "x"]]), "Invalid 'with' operator"),
        (json!([["odd", "x"]]), "unknown operator odd"),
        (json!([["channel", "general"], ["is", "dm"]]), "No message can be both a channel message and direct message"),
    ];
    for (narrow, desc) in cases {
        let mut parameters = ALL.to_vec();
        let text = narrow.to_string();
        parameters.push(("narrow", &text));
        let response = app.call(&sam, "GET /messages", &parameters).await;
        assert_eq!(response.error(), (400, "BAD_NARROW", format!("Invalid narrow operator: {desc}").as_str()));
        assert_eq!(response.body["desc"], desc);
    }
}

#[tokio::test]
async fn a_narrow_of_another_form_is_refused_where_it_differs() {
    let app = TestApp::found().await;
    let cases = [
        ("x", "narrow is not valid JSON"),
        (r#"["x"]"#, "Invalid narrow[0]: Value error, dict or list required"),
        (r#"[["a"]]"#, "Invalid narrow[0]: Value error, element is not a string pair"),
        (r#"[["is", "dm"], ["a", 1]]"#, "Invalid narrow[1]: Value error, element is not a string pair"),
        (r#"[{"operator": "is"}]"#, "Invalid narrow[0]: Value error, operand is missing"),
        (r#"[{"operand": "is"}]"#, "Invalid narrow[0]: Value error, operator is missing"),
        (r#"[{"operator": 1, "operand": "x"}]"#, "narrow[0][\"operator\"] is not a string"),
        (r#"[{"operator": "is", "operand": "dm", "negated": 1}]"#, "narrow[0][\"negated\"] is not a boolean"),
        (r#"[{"operator": "is", "operand": 1}]"#, "operand is not a string"),
        (r#"[{"operator": "channel", "operand": 1.5}]"#, "operand is not a string or integer"),
        (r#"[{"operator": "channel", "operand": [1]}]"#, "operand is not a string or integer"),
        (r#"[{"operator": "dm", "operand": {}}]"#, "operand is not a string or an integer list"),
        (r#"[{"operator": "dm", "operand": ["x"]}]"#, "operand[0] is not an integer"),
    ];
    for (narrow, text) in cases {
        let mut parameters = ALL.to_vec();
        parameters.push(("narrow", narrow));
        app.call(&app.ada, "GET /messages", &parameters).await.refused(text);
    }
    let many = json!(vec![["is", "dm"]; 51]).to_string();
    let mut parameters = ALL.to_vec();
    parameters.push(("narrow", &many));
    let refusal = "Invalid narrow: Value error, too many terms (limit: 50)";
    app.call(&app.ada, "GET /messages", &parameters).await.refused(refusal);
}

#[tokio::test]
async fn words_of_all_searches_of_a_narrow_have_a_bound_negated_ones_too() {
    let app = TestApp::found().await;
    let searches = |words: usize, negated: bool| {
        let text: Vec<_> = (0..words).map(|word| format!("word{word}")).collect();
        let (first, second) = text.split_at(words / 2);
        let term = |words: &[String]| json!({"operator": "search", "operand": words.join(" "), "negated": negated});
        json!([term(first), term(second), {"operator": "search", "operand": "last", "negated": negated}]).to_string()
    };
    for negated in [false, true] {
        for (words, refused) in [(126, false), (128, true)] {
            let narrow = searches(words, negated);
            let mut parameters = ALL.to_vec();
            parameters.push(("narrow", narrow.as_str()));
            let listed = app.call(&app.ada, "GET /messages", &parameters).await;
            let by_id = [("msg_ids", "[1]"), ("narrow", narrow.as_str())];
            let matched = app.call(&app.ada, "GET /messages/matches_narrow", &by_id).await;
            for response in [listed, matched] {
                if refused {
                    let refusal = "Invalid narrow operator: too many words to search for (limit: 128)";
                    assert_eq!(response.error(), (400, "BAD_NARROW", refusal));
                } else {
                    response.success();
                }
            }
        }
    }
}

#[tokio::test]
async fn what_was_said_before_is_history_to_who_asks_for_the_channel() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let before = send(&app, &app.ada, ("general", "t"), "@**all** before").await;
    join(&app, "general", &[&sam]).await;
    let after = send(&app, &app.ada, ("general", "t"), "after").await;
    assert_eq!(narrowed(&app, &sam, &json!([])).await, [after]);
    let narrow = json!([["channel", "general"]]);
    let answer = read(&app, &sam, &[("narrow", &narrow.to_string())]).await;
    assert_eq!(ids(&answer), [before, after]);
    assert_eq!(answer["messages"][0]["flags"], json!(["read", "historical"]));
    assert_eq!(answer["messages"][1]["flags"], json!([]));
    let unread = json!([["channel", "general"], ["is", "unread"]]);
    assert_eq!(narrowed(&app, &sam, &unread).await, [after]);
}

#[tokio::test]
async fn nobody_reads_what_is_not_for_them() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let kim = app.person("kim", Role::Guest).await;
    make_channel(&app, "secret", |channel| channel.privacy = ChannelPrivacy::PrivateSharedHistory).await;
    join(&app, "secret", &[&app.ada]).await;
    let secret = send(&app, &app.ada, ("secret", "t"), "x").await;
    let public = send(&app, &app.ada, ("general", "t"), "x").await;
    let direct = send_direct(&app, &app.ada, &[&sam], "x").await;
    let open = json!([["channels", "public"]]);
    assert_eq!(narrowed(&app, &sam, &open).await, [public]);
    assert_eq!(narrowed(&app, &kim, &open).await, [0_i64; 0]);
    assert_eq!(narrowed(&app, &kim, &json!([])).await, [0_i64; 0]);
    let one = async |who: &Person, id: i64| app.call(who, &format!("GET /messages/{id}"), &[]).await;
    for (who, id) in [(&sam, secret), (&kim, secret), (&kim, public), (&kim, direct), (&kim, 99_999)] {
        one(who, id).await.refused("Invalid message(s)");
    }
    assert_eq!(one(&sam, public).await.success()["message"]["flags"], json!(["read", "historical"]));
    assert_eq!(one(&sam, direct).await.success()["message"]["id"], direct);
    assert_eq!(one(&sam, secret + 1_000_000).await.error().0, 400);
    for path in ["GET /messages/x", "GET /messages/-1"] {
        assert_eq!(app.call(&sam, path, &[]).await.error().0, 404);
    }
    let narrow = json!([{"operator": "id", "operand": secret}]).to_string();
    assert_eq!(ids(&read(&app, &sam, &[("narrow", &narrow)]).await), [0_i64; 0]);
}

/// The node keeps the end of a channel with its texts, so each step is read before and after.
#[tokio::test]
async fn a_history_in_memory_follows_edits_and_names_and_keeps_each_readers_flags_apart() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    join(&app, "general", &[&sam]).await;
    let id = send(&app, &app.ada, ("general", "t"), "@**all** *first*").await;
    let narrow = json!([["channel", "general"]]).to_string();
    let shown = async |who: &Person, more: &[(&str, &str)]| {
        let parameters = [&[("narrow", narrow.as_str())], more].concat();
        let answer = read(&app, who, &parameters).await;
        answer["messages"].as_array().unwrap().last().unwrap().clone()
    };
    let ids_json = json!([id]).to_string();
    let star = [("messages", ids_json.as_str()), ("op", "add"), ("flag", "starred")];
    app.call(&sam, "POST /messages/flags", &star).await.success();
    for _ in 0..2 {
        let flags = async |who| shown(who, &[]).await["flags"].clone();
        assert_eq!(flags(&sam).await, json!(["starred", "stream_wildcard_mentioned", "wildcard_mentioned"]));
        assert_eq!(flags(&app.ada).await, json!(["stream_wildcard_mentioned", "wildcard_mentioned"]));
    }
    let typed = [("apply_markdown", "false"), ("client_gravatar", "false")];
    assert_eq!(shown(&sam, &typed).await["content"], "@**all** *first*");
    assert!(shown(&sam, &typed).await["avatar_url"].is_string());
    assert!(shown(&sam, &[]).await["content"].as_str().unwrap().contains("<em>first</em>"));
    let path = format!("PATCH /messages/{id}");
    app.call(&app.ada, &path, &[("content", "*second*")]).await.success();
    assert_eq!(shown(&sam, &[]).await["content"], "<p><em>second</em></p>");
    assert_eq!(shown(&sam, &typed).await["content"], "*second*");
    app.call(&app.ada, "PATCH /settings", &[("full_name", "Ada Countess")]).await.success();
    assert_eq!(shown(&sam, &[]).await["sender_full_name"], "Ada Countess");
    assert_eq!(shown(&sam, &[]).await["flags"], json!(["starred"]));
}

#[tokio::test]
async fn one_message_comes_with_its_text_as_typed() {
    let app = TestApp::found().await;
    let id = send(&app, &app.ada, ("general", "t"), "**x**").await;
    let path = format!("GET /messages/{id}");
    let answer = app.call(&app.ada, &path, &[]).await.success();
    assert_eq!(
        (&answer["raw_content"], &answer["message"]["content"]),
        (&json!("**x**"), &json!("<p><strong>x</strong></p>"))
    );
    let answer = app.call(&app.ada, &path, &[("apply_markdown", "false")]).await.success();
    assert_eq!((&answer["raw_content"], &answer["message"]["content"]), (&json!("**x**"), &json!("**x**")));
}

#[tokio::test]
async fn mentions_of_everybody_have_their_older_name_too() {
    let app = TestApp::found().await;
    send(&app, &app.ada, ("general", "t"), "@**all**").await;
    let answer = read(&app, &app.ada, &[]).await;
    assert_eq!(answer["messages"][0]["flags"], json!(["stream_wildcard_mentioned", "wildcard_mentioned"]));
}

#[tokio::test]
async fn an_edited_message_tells_its_earlier_states_and_its_reactions() {
    let app = TestApp::found().await;
    let id = MessageId(send(&app, &app.ada, ("general", "t"), "first").await);
    let event = || NewEvent::same_for_everyone(EventAudience::from_users([UserId(9)]), json!({"type": "x"}));
    let edit = MessageEdit {
        decided_at: app.realm().changed_at(),
        id,
        revision: EventId(id.0),
        content: Some((
            "second".to_owned(),
            "<p>second</p>".to_owned(),
            chat_core::model::message::ContentFlags::default(),
        )),
        attachments: Vec::new(),
        to: Some((channel_id(&app, "general"), "u".to_owned())),
        moves: vec![id],
        flags: Vec::new(),
        user_id: Some(UserId(9)),
        at_s: NOW_S + 5,
        events: vec![event()],
    };
    assert!(matches!(app.store.edit_message(edit).await.unwrap(), MessageEditOutcome::Done { .. }));
    let reaction = Reaction {
        user_id: UserId(9),
        emoji_name: "smile".to_owned(),
        emoji_code: "1f642".to_owned(),
        reaction_type: ReactionType::UnicodeEmoji,
    };
    let (message, _) = app.store.find_messages(UserId(9), &[id]).await.unwrap().remove(0);
    let decided = MessageWriteGuard::new(&app.realm(), [&message]);
    assert!(matches!(
        app.store.add_reaction(&decided, &reaction, (NOW_S, event())).await.unwrap(),
        MessageWriteOutcome::Done(_)
    ));
    let answer = read(&app, &app.ada, &[]).await;
    let message = &answer["messages"][0];
    assert_eq!(message["last_edit_timestamp"], NOW_S + 5);
    assert_eq!(
        message["edit_history"],
        json!([{
            "timestamp": NOW_S + 5, "user_id": 9, "prev_content": "first", "prev_rendered_content": "<p>first</p>",
            "prev_topic": "t", "topic": "u",
        }])
    );
    assert_eq!(
        message["reactions"],
        json!([{
            "emoji_name": "smile", "emoji_code": "1f642", "reaction_type": "unicode_emoji", "user_id": 9,
            "user": {"id": 9, "email": "ada@example.org", "full_name": "Ada Lovelace"},
        }])
    );
}

#[tokio::test]
async fn a_name_is_shown_as_it_is_now() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    send(&app, &sam, ("general", "t"), "x").await;
    let mut user = chat_core::model::user::User::clone(app.realm().user(UserId(sam.id)).unwrap());
    user.full_name = "Samuel".to_owned();
    change(&app, vec![RealmChange::User(Box::new(user))]).await;
    assert_eq!(read(&app, &app.ada, &[]).await["messages"][0]["sender_full_name"], "Samuel");
}

#[tokio::test]
async fn those_of_some_messages_that_match_are_told_with_their_text() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let history = send(&app, &app.ada, ("general", "t"), "x").await;
    join(&app, "general", &[&sam]).await;
    let first = send(&app, &app.ada, ("general", "a <b> & \"c'"), "**x**").await;
    let other = send(&app, &app.ada, ("general", "t"), "x").await;
    let ids = json!([history, first, other, 99_999]).to_string();
    let narrow = json!([["topic", "A <B> & \"C'"]]).to_string();
    let parameters = [("msg_ids", ids.as_str()), ("narrow", narrow.as_str())];
    let answer = app.call(&sam, "GET /messages/matches_narrow", &parameters).await.success();
    let one = json!({"match_content": "<p><strong>x</strong></p>", "match_subject": "a &lt;b&gt; &amp; &quot;c&#x27;"});
    assert_eq!(answer["messages"], json!({first.to_string(): one}));
    let everything = [("msg_ids", ids.as_str()), ("narrow", "[]")];
    let answer = app.call(&sam, "GET /messages/matches_narrow", &everything).await.success();
    assert_eq!(member_names(&answer["messages"]).len(), 2);
    let refused = async |parameters: &[(&str, &str)], text: &str| {
        app.call(&sam, "GET /messages/matches_narrow", parameters).await.refused(text);
    };
    refused(&[("msg_ids", "[1]")], "Missing 'narrow' argument").await;
    refused(&[("narrow", "[]")], "Missing 'msg_ids' argument").await;
    refused(&[("msg_ids", "[1, \"x\"]"), ("narrow", "[]")], "msg_ids[1] is not an integer").await;
}

#[tokio::test]
async fn a_text_is_rendered_without_being_sent() {
    let app = TestApp::found().await;
    let render = async |content: &str| {
        let answer = app.call(&app.ada, "POST /messages/render", &[("content", content)]).await;
        answer.success()["rendered"].clone()
    };
    assert_eq!(
        render("**x** @**Ada Lovelace**").await,
        json!("<p><strong>x</strong> <span class=\"user-mention\" data-user-id=\"9\">@Ada Lovelace</span></p>")
    );
    assert_eq!(render("").await, json!(""));
    assert_eq!(render("test  ").await, json!("<p>test  </p>"));
    let nul = app.call(&app.ada, "POST /messages/render", &[("content", "a\0")]).await;
    nul.refused("Message must not contain null bytes");
    app.call(&app.ada, "POST /messages/render", &[]).await.refused("Missing 'content' argument");
    assert_eq!(logged_messages(&app).await.len(), 0);
}
