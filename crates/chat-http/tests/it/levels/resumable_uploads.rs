//! Uploads that come in several requests.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chat_core::files::{MAX_RESUMABLE_UPLOADS_PER_USER, RESUMABLE_UPLOAD_LIFETIME_S, UPLOAD_PART_BYTES};
use chat_core::model::role::Role;
use http::{HeaderMap, Request};
use http_body::Frame;
use serde_json::{Value, json};

use crate::test_app::{Person, TestApp};

/// A body that breaks off after these pieces.
struct BrokenBody(VecDeque<Bytes>);

impl http_body::Body for BrokenBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let piece = self.0.pop_front().map(Frame::data);
        Poll::Ready(Some(piece.ok_or_else(|| std::io::Error::other("gone"))))
    }
}

/// A response: its status, headers and body.
type Reply = (u16, HeaderMap, Value);

async fn send(app: &TestApp, who: Option<&Person>, call: &str, headers: &[(&str, &str)], body: Body) -> Reply {
    let (method, path) = call.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path).header("tus-resumable", "1.0.0");
    if let Some(who) = who {
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", who.email, who.key)));
        request = request.header("authorization", basic);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (status, headers, body) = app.respond(request.body(body).unwrap()).await;
    (status.as_u16(), headers, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}

async fn begin(app: &TestApp, who: &Person, length: &str, name: &str) -> Reply {
    let metadata = format!("filename {},filetype {}", STANDARD.encode(name), STANDARD.encode("text/plain"));
    let headers = [("upload-length", length), ("upload-metadata", metadata.as_str())];
    send(app, Some(who), "POST /api/v1/tus/", &headers, Body::empty()).await
}

/// Begins an upload. Where it is.
async fn begun(app: &TestApp, who: &Person, length: usize) -> String {
    let (status, headers, _) = begin(app, who, &length.to_string(), "notes.txt").await;
    assert_eq!(status, 201);
    header(&headers, "location").to_owned()
}

async fn put(app: &TestApp, who: &Person, place: &str, (at, content): (usize, impl Into<Body>)) -> Reply {
    let at = at.to_string();
    let headers = [("content-type", "application/offset+octet-stream"), ("upload-offset", at.as_str())];
    send(app, Some(who), &format!("PATCH {place}"), &headers, content.into()).await
}

async fn offset(app: &TestApp, who: &Person, place: &str) -> (u16, String) {
    let (status, headers, _) = send(app, Some(who), &format!("HEAD {place}"), &[], Body::empty()).await;
    (status, header(&headers, "upload-offset").to_owned())
}

async fn listed(app: &TestApp, who: &Person) -> Vec<Value> {
    app.call(who, "GET /attachments", &[]).await.success()["attachments"].as_array().unwrap().clone()
}

#[tokio::test]
async fn level_295_an_upload_goes_on_after_a_break_and_becomes_a_file_like_any_other() {
    let app = TestApp::found().await;
    let (status, headers, _) = begin(&app, &app.ada, "11", "my notes.txt").await;
    assert_eq!((status, header(&headers, "tus-resumable")), (201, "1.0.0"));
    let place = header(&headers, "location").to_owned();
    assert!(place.starts_with("/api/v1/tus/"), "{place}");
    assert_eq!(header(&headers, "upload-expires"), "Sat, 16 Jan 2027 08:00:00 GMT");
    assert_eq!(offset(&app, &app.ada, &place).await, (200, "0".to_owned()));
    let (status, headers, _) = put(&app, &app.ada, &place, (0, "hello ")).await;
    assert_eq!((status, header(&headers, "upload-offset")), (204, "6"));
    let (status, headers, _) = send(&app, Some(&app.ada), &format!("HEAD {place}"), &[], Body::empty()).await;
    assert_eq!((status, header(&headers, "upload-offset"), header(&headers, "upload-length")), (200, "6", "11"));
    assert_eq!(header(&headers, "cache-control"), "no-store");
    assert!(header(&headers, "upload-metadata").starts_with("filename "), "{headers:?}");
    assert!(listed(&app, &app.ada).await.is_empty());
    let (status, headers, body) = put(&app, &app.ada, &place, (6, "world")).await;
    assert_eq!((status, header(&headers, "upload-offset")), (200, "11"));
    assert_eq!(body["filename"], "my notes.txt");
    let url = body["url"].as_str().unwrap();
    assert!(url.starts_with("/user_uploads/1/") && url.ends_with("/my-notes.txt"), "{url}");
    let (status, headers, bytes) = app.fetch_as(&app.ada, url).await;
    assert_eq!((status, bytes.as_slice()), (200, &b"hello world"[..]));
    assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
    let listed = listed(&app, &app.ada).await;
    assert_eq!((listed.len(), &listed[0]["name"], &listed[0]["size"]), (1, &json!("my notes.txt"), &json!(11)));
    // Nothing of the parts stays, and the upload is over.
    assert_eq!(app.files.keys().len(), 1);
    assert_eq!(offset(&app, &app.ada, &place).await.0, 404);
    let message = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", &*format!("[x]({url})"))];
    app.call(&app.ada, "POST /messages", &message).await.success();
    let used = app.call(&app.ada, "GET /attachments", &[]).await.success();
    assert_eq!(used["attachments"][0]["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn level_295_a_large_body_is_stored_in_parts_and_what_came_before_it_broke_off_stays() {
    let app = TestApp::found().await;
    let part = usize::try_from(UPLOAD_PART_BYTES).unwrap();
    let whole: Vec<u8> = (0..part + 1_000).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let place = begun(&app, &app.ada, whole.len()).await;
    let (first, rest) = whole.split_at(part + 10);
    let body = Body::new(BrokenBody(first.chunks(100_000).map(Bytes::copy_from_slice).collect()));
    assert_eq!(put(&app, &app.ada, &place, (0, body)).await.0, 400);
    assert_eq!(offset(&app, &app.ada, &place).await, (200, (part + 10).to_string()));
    assert_eq!(app.files.keys().len(), 2);
    let (status, _, answer) = put(&app, &app.ada, &place, (part + 10, rest.to_vec())).await;
    assert_eq!(status, 200);
    assert_eq!(app.fetch_as(&app.ada, answer["url"].as_str().unwrap()).await.2, whole);
}

#[tokio::test]
async fn level_295_of_two_requests_that_go_on_at_one_place_one_is_too_late() {
    let app = TestApp::found().await;
    let place = begun(&app, &app.ada, 9).await;
    for (at, last) in [(0, false), (3, false), (6, true)] {
        let (one, other) =
            tokio::join!(put(&app, &app.ada, &place, (at, "abc")), put(&app, &app.ada, &place, (at, "abc")));
        let mut statuses = [one.0, other.0];
        statuses.sort_unstable();
        let late = if last && statuses[1] == 404 { 404 } else { 409 };
        assert_eq!(statuses, if last { [200, late] } else { [204, 409] }, "at {at}");
    }
    assert_eq!((listed(&app, &app.ada).await.len(), app.files.keys().len()), (1, 1));
    assert_eq!(put(&app, &app.ada, &place, (9, "x")).await.0, 404);
}

#[tokio::test]
async fn level_295_an_upload_is_ended_by_its_user_and_is_not_there_for_others() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    let place = begun(&app, &sam, 9).await;
    put(&app, &sam, &place, (0, "abc")).await;
    assert_eq!(offset(&app, &app.ada, &place).await.0, 404);
    assert_eq!(put(&app, &app.ada, &place, (3, "abc")).await.0, 404);
    assert_eq!(send(&app, Some(&app.ada), &format!("DELETE {place}"), &[], Body::empty()).await.0, 404);
    assert_eq!(app.files.keys().len(), 1);
    assert_eq!(send(&app, Some(&sam), &format!("DELETE {place}"), &[], Body::empty()).await.0, 204);
    assert_eq!((app.files.keys().len(), offset(&app, &sam, &place).await.0), (0, 404));
    let (status, headers, body) = send(&app, None, "POST /api/v1/tus", &[("upload-length", "1")], Body::empty()).await;
    assert_eq!((status, body), (401, json!({"message": "Unauthenticated upload"})));
    assert!(header(&headers, "www-authenticate").starts_with("Basic"), "{headers:?}");
}

#[tokio::test]
async fn level_295_what_the_protocol_does_not_allow_has_its_status() {
    let app = TestApp::found().await;
    let create = async |headers: &[(&str, &str)]| {
        let (status, _, body) = send(&app, Some(&app.ada), "POST /api/v1/tus", headers, Body::empty()).await;
        (status, body["message"].as_str().unwrap_or_default().to_owned())
    };
    let refused = |status: u16, text: &str| (status, text.to_owned());
    assert_eq!(create(&[]).await, refused(400, "Missing or invalid Upload-Length header"));
    assert_eq!(create(&[("upload-length", "-1")]).await.0, 400);
    assert_eq!(create(&[("upload-defer-length", "1")]).await, refused(411, "SizeIsDeferred is not supported"));
    assert_eq!(create(&[("upload-length", "1"), ("upload-metadata", "filename !")]).await.0, 400);
    let large = "File is larger than this server's configured maximum upload size (2 MiB).";
    assert_eq!(create(&[("upload-length", "9000000000")]).await, refused(413, large));
    let place = begun(&app, &app.ada, 5).await;
    let patch = async |headers: &[(&str, &str)], body: &'static str| {
        send(&app, Some(&app.ada), &format!("PATCH {place}"), headers, body.into()).await.0
    };
    let (kind, at) = (("content-type", "application/offset+octet-stream"), ("upload-offset", "0"));
    assert_eq!(patch(&[at], "abc").await, 415);
    assert_eq!(patch(&[kind], "abc").await, 400);
    assert_eq!(patch(&[kind, ("upload-offset", "1")], "abc").await, 409);
    assert_eq!(patch(&[kind, at], "abcdef").await, 413);
    assert_eq!(offset(&app, &app.ada, &place).await, (200, "0".to_owned()));
    let post = format!("POST {place}");
    let method = ("x-http-method-override", "PATCH");
    assert_eq!(send(&app, Some(&app.ada), &post, &[method, kind, at], "abc".into()).await.0, 204);
    assert_eq!(send(&app, Some(&app.ada), "HEAD /api/v1/tus/../x", &[], Body::empty()).await.0, 404);
    let other = Request::head(&place).header("tus-resumable", "0.2.2").body(Body::empty()).unwrap();
    let (status, headers, _) = app.respond(other).await;
    assert_eq!((status.as_u16(), header(&headers, "tus-version")), (412, "1.0.0"));
    let (status, headers, _) = app.respond(Request::options("/api/v1/tus").body(Body::empty()).unwrap()).await;
    let said = ["tus-resumable", "tus-version", "tus-extension"].map(|name| header(&headers, name));
    assert_eq!((status.as_u16(), said), (204, ["1.0.0", "1.0.0", "creation,expiration,termination"]));
    assert!(header(&headers, "tus-max-size").parse::<u64>().unwrap() > 0);
}

#[tokio::test]
async fn level_295_uploads_have_limits_in_number_size_and_time() {
    let app = TestApp::with_quota(1_000).await;
    let sam = app.person("sam", Role::Member).await;
    let (status, _, body) = begin(&app, &app.ada, "1001", "a").await;
    let text = "Upload would exceed your organization's upload quota.";
    assert_eq!((status, body), (413, json!({"message": text})));
    let place = begun(&app, &app.ada, 600).await;
    assert_eq!(begin(&app, &sam, "401", "a").await.0, 413);
    put(&app, &app.ada, &place, (0, "abc")).await;
    for _ in 1..MAX_RESUMABLE_UPLOADS_PER_USER {
        begun(&app, &app.ada, 1).await;
    }
    let (status, _, body) = begin(&app, &app.ada, "1", "a").await;
    assert_eq!((status, body), (429, json!({"message": "Too many unfinished uploads (maximum 20)."})));
    begun(&app, &sam, 1).await;
    app.wait_s(RESUMABLE_UPLOAD_LIFETIME_S - 1);
    assert_eq!(put(&app, &app.ada, &place, (3, "d")).await.0, 204);
    app.wait_s(RESUMABLE_UPLOAD_LIFETIME_S - 1);
    assert_eq!((offset(&app, &app.ada, &place).await.0, app.files.keys().len()), (200, 2));
    app.wait_s(1);
    assert_eq!((offset(&app, &app.ada, &place).await.0, app.files.keys().len()), (404, 2));
    begun(&app, &app.ada, 1_000).await;
    app.end_abandoned_uploads().await;
    assert!(app.files.keys().is_empty());
}

#[tokio::test]
async fn level_295_an_empty_file_is_whole_at_once_and_one_without_a_name_has_one() {
    let app = TestApp::found().await;
    let (status, headers, body) = begin(&app, &app.ada, "0", "").await;
    assert_eq!((status, &body["filename"]), (201, &json!("uploaded-file")));
    assert!(!header(&headers, "location").is_empty());
    assert_eq!(app.fetch_as(&app.ada, body["url"].as_str().unwrap()).await.2, b"");
}
