//! Several nodes on one database, and a database that is gone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::model::role::Role;
use serde_json::json;

use crate::test_app::TestApp;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_made_on_one_node_is_written_to_on_another_at_once() {
    let here = TestApp::found().await;
    let there = here.another_node().await;
    for round in 0..8 {
        // Each is the first to know once.
        let (first, second) = if round % 2 == 0 { (&here, &there) } else { (&there, &here) };
        let name = format!("made {round}");
        let made = json!([{"name": name}]).to_string();
        first.call(&here.ada, "POST /users/me/subscriptions", &[("subscriptions", &made)]).await.success();
        let message = [("type", "channel"), ("to", &name), ("topic", "t"), ("content", "x")];
        second.call(&here.ada, "POST /messages", &message).await.success();
        first.call(&here.ada, "DELETE /messages/1", &[]).await.refused("Invalid message(s)");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_made_on_one_node_is_let_in_by_another_at_once() {
    let here = TestApp::found().await;
    let there = here.another_node().await;
    for name in ["ann", "ben", "cleo"] {
        let person = here.person(name, Role::Member).await;
        let me = there.call(&person, "GET /users/me", &[]).await.success();
        assert_eq!(me["user_id"], person.id);
    }
    let stranger = crate::test_app::Person { key: "x".repeat(32), ..here.ada.clone() };
    assert_eq!(there.call(&stranger, "GET /users/me", &[]).await.error(), (401, "UNAUTHORIZED", "Invalid API key"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_gone_reads_and_writes_are_503_and_say_when_to_try_again() {
    let app = TestApp::found().await;
    let registered = app.call(&app.ada, "POST /register", &[]).await.success();
    let queue_id = registered["queue_id"].as_str().unwrap();
    app.store.flush_and_close().await;
    let gone = (503, "SERVICE_UNAVAILABLE", "Service temporarily unavailable");
    let message = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "x")];
    let made = json!([{"name": "new"}]).to_string();
    for (call, parameters) in [
        ("POST /messages", &message[..]),
        ("POST /users/me/subscriptions", &[("subscriptions", &*made)]),
        ("GET /messages", &[("anchor", "newest"), ("num_before", "5"), ("num_after", "0")]),
        ("POST /register", &[]),
        ("DELETE /events", &[("queue_id", queue_id)]),
        ("POST /fetch_api_key", &[("username", "ada@example.org"), ("password", "ada's")]),
    ] {
        assert_eq!(app.call(&app.ada, call, parameters).await.error(), gone, "{call}");
    }
    let basic = STANDARD.encode(format!("{}:{}", app.ada.email, app.ada.key));
    let credentials = [("authorization", &*format!("Basic {basic}"))];
    let (status, headers, _) = app.fetch_bytes("/api/v1/drafts", &credentials).await;
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (503, "5"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_a_left_channel_are_reported_read_while_another_node_changes_the_realm() {
    let here = TestApp::found().await;
    let there = here.another_node().await;
    let bea = here.person("bea", Role::Member).await;
    let enter = [("subscriptions", r#"[{"name": "general"}]"#)];
    let leave = [("subscriptions", r#"["general"]"#)];
    let message = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "x")];
    let types = [("event_types", r#"["update_message_flags"]"#)];
    here.call(&here.ada, "POST /users/me/subscriptions", &enter).await.success();
    for round in 0..20 {
        here.call(&bea, "POST /users/me/subscriptions", &enter).await.success();
        let queue = here.call(&bea, "POST /register", &types).await.success();
        let sent = here.call(&here.ada, "POST /messages", &message).await.success();
        let changing = async {
            for change in 0..4 {
                let description = format!("change {change} of round {round}");
                there.call(&there.ada, "PATCH /realm", &[("description", &description)]).await.success();
            }
        };
        let leaving = async { here.call(&bea, "DELETE /users/me/subscriptions", &leave).await.success() };
        tokio::join!(changing, leaving);
        let queue_id = queue["queue_id"].as_str().unwrap();
        let poll = [("queue_id", queue_id), ("last_event_id", "-1"), ("dont_block", "true")];
        let events = here.call(&bea, "GET /events", &poll).await.success();
        assert_eq!(events["events"][0]["messages"], json!([sent["id"]]), "round {round}: {events}");
    }
}
