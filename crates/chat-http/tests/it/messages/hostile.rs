//! Texts and requests made to do harm.

use chat_core::id::UserId;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::user::User;
use http::StatusCode;
use serde_json::Value;

use super::sending::{change, logged_messages};
use crate::checker::check;
use crate::payloads::PAYLOADS;
use crate::test_app::TestApp;

const ALL: [(&str, &str); 3] = [("anchor", "newest"), ("num_before", "5000"), ("num_after", "0")];

#[tokio::test]
async fn no_payload_comes_back_as_more_than_text_and_allowed_elements() {
    let app = TestApp::found().await;
    let mut user = User::clone(app.realm().user(UserId(9)).unwrap());
    user.full_name = "<img src=x onerror=alert(1)>".to_owned();
    change(&app, vec![RealmChange::User(Box::new(user))]).await;
    let mut sent = 0;
    for payload in PAYLOADS {
        let mention =
            format!("{payload}\n\n@**<img src=x onerror=alert(1)>** [x]({payload}) https://a.example/{payload}");
        let topic: String = payload.chars().filter(|character| !character.is_control()).collect();
        for content in [payload, &mention] {
            let parameters = [("type", "channel"), ("to", "general"), ("topic", &topic), ("content", content)];
            app.call(&app.ada, "POST /messages", &parameters).await.success();
            sent += 1;
        }
    }
    assert!(sent >= 80);
    let answer = app.call(&app.ada, "GET /messages", &ALL).await.success();
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(messages.len(), sent);
    for message in messages {
        let html = message["content"].as_str().unwrap();
        assert_eq!(check(html), Ok(()), "{html}");
        for link in message["topic_links"].as_array().unwrap() {
            let url = link["url"].as_str().unwrap();
            assert!(["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)), "{url}");
            assert!(!url.contains(['"', '\'', '<', '>', ' ']), "{url}");
        }
    }
    let ids = serde_json::to_string(&messages.iter().map(|message| &message["id"]).collect::<Vec<_>>()).unwrap();
    let parameters = [("msg_ids", ids.as_str()), ("narrow", "[]")];
    let answer = app.call(&app.ada, "GET /messages/matches_narrow", &parameters).await.success();
    let matches = answer["messages"].as_object().unwrap();
    assert_eq!(matches.len(), sent);
    for found in matches.values() {
        let subject = found["match_subject"].as_str().unwrap();
        assert!(!subject.contains(['<', '>', '"', '\'']), "{subject}");
        assert_eq!(check(found["match_content"].as_str().unwrap()), Ok(()));
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused_by_name() {
    let app = TestApp::found().await;
    for field in ["content", "topic", "to", "queue_id", "local_id"] {
        let mut fields = vec![
            ("type", "channel"),
            ("to", "general"),
            ("topic", "t"),
            ("content", "x"),
            ("queue_id", "q"),
            ("local_id", "1"),
        ];
        fields.retain(|(name, _)| *name != field);
        let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let body = format!("{fields}&{field}=a%FF%FEb").into_bytes();
        let answer = app.call_with_body(&app.ada, "POST /messages", body).await;
        answer.refused(&format!("Bad value for '{field}': a\u{fffd}\u{fffd}b"));
    }
    assert_eq!(logged_messages(&app).await.len(), 0);
}

#[tokio::test]
async fn a_body_of_ten_megabytes_is_too_large() {
    let app = TestApp::found().await;
    let mut body = b"type=channel&to=general&topic=t&content=".to_vec();
    body.resize(10 * 1024 * 1024, b'x');
    for path in ["POST /messages", "POST /messages/render"] {
        let answer = app.call_with_body(&app.ada, path, body.clone()).await;
        assert_eq!((answer.status, answer.error().1), (StatusCode::PAYLOAD_TOO_LARGE, "BAD_REQUEST"));
    }
    assert_eq!(logged_messages(&app).await.len(), 0);
}

#[tokio::test]
async fn a_deep_narrow_is_no_json() {
    let app = TestApp::found().await;
    for depth in [40, 200, 5_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let mut parameters = ALL.to_vec();
        parameters.push(("narrow", &deep));
        app.call(&app.ada, "GET /messages", &parameters).await.refused("narrow is not valid JSON");
    }
    let mut parameters = ALL.to_vec();
    parameters.push(("narrow", r#"[["topic", "a\u0000b"]]"#));
    let answer = app.call(&app.ada, "GET /messages", &parameters).await;
    assert_eq!(answer.error().0, 400);
}

#[tokio::test]
async fn numbers_of_nobody_and_nothing_are_refused_and_never_a_failure() {
    let app = TestApp::found().await;
    for id in ["-1", "0", "9223372036854775807", "-9223372036854775808"] {
        let to = format!("[{id}]");
        let direct = [("type", "direct"), ("to", to.as_str()), ("content", "x")];
        app.call(&app.ada, "POST /messages", &direct).await.refused(&format!("Invalid user ID {id}"));
        let channel = [("type", "channel"), ("to", to.as_str()), ("topic", "t"), ("content", "x")];
        let answer = app.call(&app.ada, "POST /messages", &channel).await;
        assert_eq!(answer.error(), (400, "STREAM_DOES_NOT_EXIST", &*format!("Channel with ID '{id}' does not exist")));
        for operator in ["channel", "sender", "dm-including", "id", "with"] {
            let narrow = format!("[{{\"operator\": \"{operator}\", \"operand\": {id}}}]");
            let mut parameters = ALL.to_vec();
            parameters.push(("narrow", &narrow));
            let answer = app.call(&app.ada, "GET /messages", &parameters).await;
            let empty = answer.status == 200 && answer.body["messages"] == Value::Array(Vec::new());
            assert!(empty || answer.error().1 == "BAD_NARROW", "{narrow}: {}", answer.body);
        }
        let ids = [("msg_ids", to.as_str()), ("narrow", "[]")];
        let answer = app.call(&app.ada, "GET /messages/matches_narrow", &ids).await.success();
        assert_eq!(answer["messages"], serde_json::json!({}));
    }
    assert_eq!(logged_messages(&app).await.len(), 0);
}
