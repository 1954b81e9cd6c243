//! Who reads a file, and how.

use chat_core::model::role::Role;
use http::HeaderMap;
use serde_json::json;

use super::{NO_FILE, link, status, upload};
use crate::file_store::png;
use crate::test_app::{Person, TestApp};

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
}

/// A private channel of these people.
async fn private(app: &TestApp, name: &str, people: &[&Person]) {
    let subscriptions = json!([{"name": name}]).to_string();
    let principals = json!(people.iter().map(|person| person.id).collect::<Vec<_>>()).to_string();
    let parameters = [("subscriptions", subscriptions.as_str()), ("principals", &principals), ("invite_only", "true")];
    app.call(people[0], "POST /users/me/subscriptions", &parameters).await.success();
}

async fn say(app: &TestApp, who: &Person, (channel, content): (&str, &str)) -> i64 {
    let message = [("type", "channel"), ("to", channel), ("topic", "t"), ("content", content)];
    app.call(who, "POST /messages", &message).await.success()["id"].as_i64().unwrap()
}

#[tokio::test]
async fn a_file_is_read_by_who_may_read_a_message_that_uses_it() {
    let app = TestApp::found().await;
    let [sam, bea, gus] = [
        app.person("sam", Role::Member).await,
        app.person("bea", Role::Member).await,
        app.person("gus", Role::Guest).await,
    ];
    let url = upload(&app, &sam, ("a.txt", b"secret")).await;
    let read = async || [&sam, &bea, &app.ada, &gus].map(|who| (who, &url));
    let mut seen = Vec::new();
    for (who, url) in read().await {
        seen.push(status(&app, who, url).await);
    }
    assert_eq!(seen, [200, 404, 404, 404]);
    private(&app, "circle", &[&sam, &bea]).await;
    say(&app, &sam, ("circle", &format!("[a]({url})"))).await;
    let mut seen = Vec::new();
    for (who, url) in read().await {
        seen.push(status(&app, who, url).await);
    }
    // The owner of the organization is in no circle.
    assert_eq!(seen, [200, 200, 404, 404]);
    say(&app, &bea, ("general", &format!("https://chat.example.org{url}"))).await;
    let mut seen = Vec::new();
    for (who, url) in read().await {
        seen.push(status(&app, who, url).await);
    }
    assert_eq!(seen, [200, 200, 200, 404]);
}

#[tokio::test]
async fn a_file_that_is_not_there_and_one_that_is_not_for_the_caller_look_the_same() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let url = upload(&app, &sam, ("a.txt", b"secret")).await;
    let absent = url.replace("a.txt", "b.txt");
    for url in [url.as_str(), &absent, "/user_uploads/1/aa/x", "/user_uploads/..%2F..%2Fchat.db"] {
        let (status, _, body) = app.fetch_as(&app.ada, url).await;
        let response: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (status, response["code"].as_str(), response["msg"].as_str()),
            (404, Some(NO_FILE.1), Some(NO_FILE.2))
        );
    }
    assert_eq!(app.fetch_bytes(&url, &[]).await.0, 401);
    for url in [url.as_str(), &absent] {
        let response = app.call(&app.ada, &format!("GET {url}"), &[]).await;
        assert_eq!(response.error(), NO_FILE);
    }
}

#[tokio::test]
async fn who_may_not_read_a_file_does_not_open_it_to_others_by_linking_it() {
    let app = TestApp::found().await;
    let [sam, bea] = [app.person("sam", Role::Member).await, app.person("bea", Role::Member).await];
    let url = upload(&app, &app.ada, ("a.txt", b"secret")).await;
    link(&app, &sam, (&bea, &url)).await;
    let message = say(&app, &sam, ("general", "later")).await;
    let content = format!("[it]({url})");
    app.call(&sam, &format!("PATCH /messages/{message}"), &[("content", &content)]).await.success();
    assert_eq!((status(&app, &sam, &url).await, status(&app, &bea, &url).await), (404, 404));
}

#[tokio::test]
async fn a_file_closes_with_the_last_message_that_uses_it() {
    let app = TestApp::found().await;
    let bea = app.person("bea", Role::Member).await;
    let url = upload(&app, &app.ada, ("a.txt", b"hello")).await;
    let [first, second] = [link(&app, &app.ada, (&bea, &url)).await, link(&app, &app.ada, (&bea, &url)).await];
    app.call(&app.ada, &format!("PATCH /messages/{first}"), &[("content", "nothing here")]).await.success();
    assert_eq!(status(&app, &bea, &url).await, 200);
    app.call(&app.ada, &format!("DELETE /messages/{second}"), &[]).await.success();
    assert_eq!((status(&app, &bea, &url).await, status(&app, &app.ada, &url).await), (404, 200));
    let again = format!("again [a]({url})");
    app.call(&app.ada, &format!("PATCH /messages/{first}"), &[("content", &again)]).await.success();
    assert_eq!(status(&app, &bea, &url).await, 200);
}

#[tokio::test]
async fn nothing_that_is_uploaded_runs_in_a_browser() {
    let app = TestApp::found().await;
    let script = b"<script>alert(1)</script>";
    for (name, content) in [
        ("page.html", &script[..]),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>"),
        ("code.js", b"alert(1)"),
        ("page.xhtml", b"<html xmlns='http://www.w3.org/1999/xhtml'/>"),
        ("blob", b"\0\x01\x02"),
    ] {
        let url = upload(&app, &app.ada, (name, content)).await;
        let (status, headers, body) = app.fetch_as(&app.ada, &url).await;
        assert_eq!((status, body), (200, content.to_vec()), "{name}");
        assert!(header(&headers, "content-disposition").starts_with("attachment;"), "{name}");
        let media_type = header(&headers, "content-type");
        assert!(["text/plain; charset=utf-8", "application/octet-stream"].contains(&media_type), "{media_type}");
        assert_eq!(header(&headers, "x-content-type-options"), "nosniff");
        let policy = header(&headers, "content-security-policy");
        assert!(policy.starts_with("default-src 'none';") && policy.ends_with("sandbox"), "{policy}");
        assert!(header(&headers, "cache-control").starts_with("private"));
    }
}

#[tokio::test]
async fn pictures_and_plain_texts_are_shown_in_place_and_kept_when_asked_for() {
    let app = TestApp::found().await;
    let picture = png(4, 3);
    for (name, content, media_type) in
        [("a.html", picture.as_slice(), "image/png"), ("notes.txt", b"<b>", "text/plain; charset=utf-8")]
    {
        let url = upload(&app, &app.ada, (name, content)).await;
        let (_, headers, _) = app.fetch_as(&app.ada, &url).await;
        assert_eq!(header(&headers, "content-type"), media_type);
        assert!(header(&headers, "content-disposition").starts_with("inline;"), "{name}");
        let kept = url.replace("/user_uploads/", "/user_uploads/download/");
        let (_, headers, body) = app.fetch_as(&app.ada, &kept).await;
        assert!(header(&headers, "content-disposition").starts_with("attachment;") && body == content);
    }
}

#[tokio::test]
async fn a_file_keeps_the_name_it_came_with_whatever_its_address_says() {
    let app = TestApp::found().await;
    let url = upload(&app, &app.ada, ("Résumé \u{202e} %E2%82%AC.pdf", b"%PDF-1.7")).await;
    assert!(url.is_ascii(), "{url}");
    let (_, headers, _) = app.fetch_as(&app.ada, &url).await;
    let response = header(&headers, "content-disposition");
    assert!(
        response.contains("filename*=UTF-8''R%C3%A9sum%C3%A9%20%20%E2%82%AC.pdf"),
        "without what changes direction: {response}"
    );
    assert!(!header(&headers, "content-security-policy").contains("sandbox"));
}

#[tokio::test]
async fn a_part_of_a_file_is_sent_alone() {
    let app = TestApp::found().await;
    let content: Vec<u8> = (0..20_000).map(|place| u8::try_from(place % 251).unwrap()).collect();
    let url = upload(&app, &app.ada, ("a.bin", &content)).await;
    let (status, headers, body) = app.fetch_range(&app.ada, &url, "bytes=9990-10009").await;
    assert_eq!((status, header(&headers, "content-range")), (206, "bytes 9990-10009/20000"));
    assert_eq!((header(&headers, "content-length"), body.as_slice()), ("20", &content[9990..10010]));
    let (status, headers, body) = app.fetch_range(&app.ada, &url, "bytes=20000-").await;
    assert_eq!((status, header(&headers, "content-range"), body.len()), (416, "bytes */20000", 0));
    let (status, headers, body) = app.fetch_as(&app.ada, &url).await;
    assert_eq!((status, header(&headers, "content-length"), body == content), (200, "20000", true));
    assert_eq!(header(&headers, "accept-ranges"), "bytes");
}

#[tokio::test]
async fn a_temporary_address_opens_a_file_for_a_minute_to_who_has_it() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let url = upload(&app, &app.ada, ("a.txt", b"hello")).await;
    let response = app.call(&app.ada, &format!("GET {url}"), &[]).await.success();
    let temporary = response["url"].as_str().unwrap();
    assert!(temporary.starts_with("/user_uploads/temporary/") && temporary.ends_with("/a.txt"), "{temporary}");
    assert_eq!(app.call(&sam, &format!("GET {url}"), &[]).await.error(), NO_FILE);
    for _ in 0..2 {
        let (status, headers, body) = app.fetch_bytes(temporary, &[]).await;
        assert_eq!((status, body.as_slice()), (200, &b"hello"[..]));
        assert_eq!(header(&headers, "x-content-type-options"), "nosniff");
    }
    assert_eq!(app.fetch_bytes(&temporary.replace("a.txt", "b.txt"), &[]).await.0, 404);
    app.wait_s(61);
    assert_eq!(app.fetch_bytes(temporary, &[]).await.0, 404);
}
