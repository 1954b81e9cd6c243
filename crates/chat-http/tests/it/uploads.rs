//! Files that people upload: who hands them in, who reads them, and what a browser is notified of them.

mod keeping;
mod reading;
mod thumbnails;

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::file_store::{form, png};
use crate::test_app::{Person, TestApp, TestResponse};

/// What is said of a file that is not there, and of one that is not for the caller.
const NO_FILE: (u16, &str, &str) = (404, "BAD_REQUEST", "This file does not exist or has been deleted.");

async fn send(app: &TestApp, who: &Person, (name, content): (&str, &[u8])) -> TestResponse {
    app.call_with_files(who, "POST /user_uploads", form(&[("file", name, "text/html", content)])).await
}

/// Uploads a file. Its address.
async fn upload(app: &TestApp, who: &Person, (name, content): (&str, &[u8])) -> String {
    send(app, who, (name, content)).await.success()["url"].as_str().unwrap().to_owned()
}

async fn status(app: &TestApp, who: &Person, url: &str) -> u16 {
    app.fetch_as(who, url).await.0
}

/// Links a file to people, in a channel of `general`'s kind or to one of them. The message's number.
async fn link(app: &TestApp, who: &Person, (to, url): (&Person, &str)) -> i64 {
    let (to, content) = (json!([to.id]).to_string(), format!("look: [it]({url})"));
    let message = [("type", "direct"), ("to", to.as_str()), ("content", &content)];
    app.call(who, "POST /messages", &message).await.success()["id"].as_i64().unwrap()
}

/// What a user's queue was told of uploads since it was made.
struct TestQueue {
    who: Person,
    queue: String,
    last: String,
}

async fn listen(app: &TestApp, who: &Person) -> TestQueue {
    let response = app.call(who, "POST /register", &[("event_types", r#"["attachment"]"#)]).await.success();
    let queue = response["queue_id"].as_str().unwrap().to_owned();
    TestQueue { who: who.clone(), queue, last: response["last_event_id"].to_string() }
}

async fn heard(app: &TestApp, test_queue: &TestQueue) -> Vec<Value> {
    let parameters =
        [("queue_id", test_queue.queue.as_str()), ("last_event_id", &test_queue.last), ("dont_block", "true")];
    let mut response = app.call(&test_queue.who, "GET /events", &parameters).await.success();
    let events = response["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("id").unwrap();
    }
    std::mem::take(events)
}

async fn attachments(app: &TestApp, who: &Person) -> Value {
    app.call(who, "GET /attachments", &[]).await.success()
}

#[tokio::test]
async fn an_upload_is_answered_with_its_address_under_both_names() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let response = send(&app, &gus, ("my report.pdf", b"%PDF-1.7")).await.success();
    assert_eq!((&response["uri"], &response["filename"]), (&response["url"], &json!("my report.pdf")));
    let url = response["url"].as_str().unwrap();
    assert!(url.starts_with("/user_uploads/1/") && url.ends_with("/my-report.pdf"), "{url}");
    assert_eq!(status(&app, &gus, url).await, 200);
    assert_eq!(app.files.keys().len(), 1);
}

#[tokio::test]
async fn the_field_may_have_any_name_and_what_stands_beside_it_is_reported() {
    let app = TestApp::found().await;
    let mut body = form(&[("notes.txt", "notes.txt", "text/plain", b"hello")]);
    let more =
        format!("--{}\r\nContent-Disposition: form-data; name=\"extra\"\r\n\r\n1\r\n", crate::file_store::BOUNDARY);
    body.splice(0..0, more.into_bytes());
    let response = app.call_with_files(&app.ada, "POST /user_uploads", body).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["extra"]));
}

#[tokio::test]
async fn the_uploader_is_told_of_the_upload_its_uses_and_its_end() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let test_queue = listen(&app, &sam).await;
    let deaf = listen(&app, &app.ada).await;
    let url = upload(&app, &sam, ("a.png", &png(4, 3))).await;
    let message = link(&app, &sam, (&app.ada, &url)).await;
    let response = attachments(&app, &sam).await;
    let shown = &response["attachments"][0];
    let sent_ms = crate::test_app::NOW_S * 1000;
    assert_eq!(shown["messages"], json!([{"id": message, "date_sent": sent_ms}]));
    assert_eq!((&shown["name"], &shown["create_time"]), (&json!("a.png"), &json!(sent_ms)));
    assert_eq!(shown["path_id"].as_str().unwrap(), url.strip_prefix("/user_uploads/").unwrap());
    assert_eq!((&shown["size"], &response["upload_space_used"]), (&json!(png(4, 3).len()), &json!(png(4, 3).len())));
    let id = &shown["id"];
    app.call(&sam, &format!("DELETE /attachments/{id}"), &[]).await.success();
    let mut unused = shown.clone();
    unused["messages"] = json!([]);
    let used = response["upload_space_used"].clone();
    let event = |op: &str, attachment: Value, used: &Value| json!({"type": "attachment", "op": op, "attachment": attachment, "upload_space_used": used});
    let expected = [
        event("add", unused, &used),
        event("update", shown.clone(), &used),
        event("remove", json!({"id": id}), &json!(0)),
    ];
    assert_eq!(heard(&app, &test_queue).await, expected);
    assert_eq!(heard(&app, &deaf).await, Vec::<Value>::new());
}

#[tokio::test]
async fn only_the_uploader_deletes_and_then_the_file_is_gone_for_everybody() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let url = upload(&app, &sam, ("a.txt", b"hello")).await;
    link(&app, &sam, (&app.ada, &url)).await;
    let id = attachments(&app, &sam).await["attachments"][0]["id"].clone();
    assert_eq!(attachments(&app, &app.ada).await["attachments"], json!([]));
    for path in [format!("DELETE /attachments/{id}"), "DELETE /attachments/999999".to_owned()] {
        app.call(&app.ada, &path, &[]).await.refused("Invalid attachment");
    }
    assert_eq!(status(&app, &app.ada, &url).await, 200);
    app.call(&sam, &format!("DELETE /attachments/{id}"), &[]).await.success();
    assert_eq!((status(&app, &app.ada, &url).await, status(&app, &sam, &url).await), (404, 404));
    assert_eq!((app.files.keys(), attachments(&app, &sam).await["upload_space_used"].clone()), (vec![], json!(0)));
    app.call(&sam, &format!("DELETE /attachments/{id}"), &[]).await.refused("Invalid attachment");
}
