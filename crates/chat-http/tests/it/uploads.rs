//! Files that people upload: who hands them in, who reads them, and what a browser is told of them.

mod keeping;
mod reading;
mod thumbnails;

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::cellar::{form, png};
use crate::town::{Person, Told, Town};

/// What is said of a file that is not there, and of one that is not for the caller.
const NO_FILE: (u16, &str, &str) = (404, "BAD_REQUEST", "This file does not exist or has been deleted.");

async fn send(town: &Town, who: &Person, (name, content): (&str, &[u8])) -> Told {
    town.call_with_files(who, "POST /user_uploads", form(&[("file", name, "text/html", content)])).await
}

/// Uploads a file. Its address.
async fn upload(town: &Town, who: &Person, (name, content): (&str, &[u8])) -> String {
    send(town, who, (name, content)).await.success()["url"].as_str().unwrap().to_owned()
}

async fn status(town: &Town, who: &Person, url: &str) -> u16 {
    town.fetch_as(who, url).await.0
}

/// Links a file to people, in a channel of `general`'s kind or to one of them. The message's number.
async fn link(town: &Town, who: &Person, (to, url): (&Person, &str)) -> i64 {
    let (to, content) = (json!([to.id]).to_string(), format!("look: [it]({url})"));
    let message = [("type", "direct"), ("to", to.as_str()), ("content", &content)];
    town.call(who, "POST /messages", &message).await.success()["id"].as_i64().unwrap()
}

/// What somebody's queue was told of uploads since it was made.
struct Ear {
    who: Person,
    queue: String,
    last: String,
}

async fn listen(town: &Town, who: &Person) -> Ear {
    let told = town.call(who, "POST /register", &[("event_types", r#"["attachment"]"#)]).await.success();
    let queue = told["queue_id"].as_str().unwrap().to_owned();
    Ear { who: who.clone(), queue, last: told["last_event_id"].to_string() }
}

async fn heard(town: &Town, ear: &Ear) -> Vec<Value> {
    let parameters = [("queue_id", ear.queue.as_str()), ("last_event_id", &ear.last), ("dont_block", "true")];
    let mut told = town.call(&ear.who, "GET /events", &parameters).await.success();
    let events = told["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("id").unwrap();
    }
    std::mem::take(events)
}

async fn attachments(town: &Town, who: &Person) -> Value {
    town.call(who, "GET /attachments", &[]).await.success()
}

#[tokio::test]
async fn an_upload_is_answered_with_its_address_under_both_names() {
    let town = Town::found().await;
    let gus = town.person("gus", Role::Guest).await;
    let told = send(&town, &gus, ("my report.pdf", b"%PDF-1.7")).await.success();
    assert_eq!((&told["uri"], &told["filename"]), (&told["url"], &json!("my report.pdf")));
    let url = told["url"].as_str().unwrap();
    assert!(url.starts_with("/user_uploads/1/") && url.ends_with("/my-report.pdf"), "{url}");
    assert_eq!(status(&town, &gus, url).await, 200);
    assert_eq!(town.files.keys().len(), 1);
}

#[tokio::test]
async fn the_field_may_have_any_name_and_what_stands_beside_it_is_reported() {
    let town = Town::found().await;
    let mut body = form(&[("notes.txt", "notes.txt", "text/plain", b"hello")]);
    let more = format!("--{}\r\nContent-Disposition: form-data; name=\"extra\"\r\n\r\n1\r\n", crate::cellar::BOUNDARY);
    body.splice(0..0, more.into_bytes());
    let told = town.call_with_files(&town.ada, "POST /user_uploads", body).await.success();
    assert_eq!(told["ignored_parameters_unsupported"], json!(["extra"]));
}

#[tokio::test]
async fn the_uploader_is_told_of_the_upload_its_uses_and_its_end() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let ear = listen(&town, &sam).await;
    let deaf = listen(&town, &town.ada).await;
    let url = upload(&town, &sam, ("a.png", &png(4, 3))).await;
    let message = link(&town, &sam, (&town.ada, &url)).await;
    let told = attachments(&town, &sam).await;
    let shown = &told["attachments"][0];
    let sent_ms = crate::town::NOW_S * 1000;
    assert_eq!(shown["messages"], json!([{"id": message, "date_sent": sent_ms}]));
    assert_eq!((&shown["name"], &shown["create_time"]), (&json!("a.png"), &json!(sent_ms)));
    assert_eq!(shown["path_id"].as_str().unwrap(), url.strip_prefix("/user_uploads/").unwrap());
    assert_eq!((&shown["size"], &told["upload_space_used"]), (&json!(png(4, 3).len()), &json!(png(4, 3).len())));
    let id = &shown["id"];
    town.call(&sam, &format!("DELETE /attachments/{id}"), &[]).await.success();
    let mut unused = shown.clone();
    unused["messages"] = json!([]);
    let used = told["upload_space_used"].clone();
    let event = |op: &str, attachment: Value, used: &Value| json!({"type": "attachment", "op": op, "attachment": attachment, "upload_space_used": used});
    let expected = [
        event("add", unused, &used),
        event("update", shown.clone(), &used),
        event("remove", json!({"id": id}), &json!(0)),
    ];
    assert_eq!(heard(&town, &ear).await, expected);
    assert_eq!(heard(&town, &deaf).await, Vec::<Value>::new());
}

#[tokio::test]
async fn only_the_uploader_deletes_and_then_the_file_is_gone_for_everybody() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let url = upload(&town, &sam, ("a.txt", b"hello")).await;
    link(&town, &sam, (&town.ada, &url)).await;
    let id = attachments(&town, &sam).await["attachments"][0]["id"].clone();
    assert_eq!(attachments(&town, &town.ada).await["attachments"], json!([]));
    for path in [format!("DELETE /attachments/{id}"), "DELETE /attachments/999999".to_owned()] {
        town.call(&town.ada, &path, &[]).await.refused("Invalid attachment");
    }
    assert_eq!(status(&town, &town.ada, &url).await, 200);
    town.call(&sam, &format!("DELETE /attachments/{id}"), &[]).await.success();
    assert_eq!((status(&town, &town.ada, &url).await, status(&town, &sam, &url).await), (404, 404));
    assert_eq!((town.files.keys(), attachments(&town, &sam).await["upload_space_used"].clone()), (vec![], json!(0)));
    town.call(&sam, &format!("DELETE /attachments/{id}"), &[]).await.refused("Invalid attachment");
}
