//! `/json`: the API for a browser that is signed in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::event_log::store::RealmStore as _;

use super::{Browser, CSRF, SESSION, with_password};
use crate::test_app::{SESSION_LIFETIME_S, TestApp};

const MESSAGE: [(&str, &str); 4] = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "x")];
const REFUSED: (u16, &str, &str) = (403, "CSRF_FAILED", "CSRF check failed: reload the page");

#[tokio::test]
async fn what_changes_something_needs_the_token_of_the_session() {
    let app = TestApp::with_client().await;
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let other = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let (own, foreign) = (browser.cookie(CSRF).unwrap(), other.cookie(CSRF).unwrap());
    let before = app.realm().log_position();
    for headers in [
        &[][..],
        &[("x-csrftoken", "")],
        &[("x-csrftoken", &foreign)],
        &[("x-csrftoken", &own), ("sec-fetch-site", "cross-site")],
        &[("x-csrftoken", &own), ("sec-fetch-site", "same-site")],
    ] {
        for call in ["POST /messages", "DELETE /users/me", "PATCH /realm", "PUT /bot_storage", "POST /fetch_api_key"] {
            let response = browser.call_with(&app, call, &MESSAGE, headers).await;
            assert_eq!(response.error(), REFUSED, "{call} {headers:?}");
        }
    }
    // The cookie can be planted, the token of the session cannot.
    browser.plant(CSRF, &foreign);
    assert_eq!(browser.call(&app, "POST /messages", &MESSAGE).await.error(), REFUSED);
    browser.plant(CSRF, &own);
    let overridden = [("method", "DELETE"), ("id", "x")];
    let response = browser.call_with(&app, "POST /sessions", &overridden, &[]).await;
    assert_eq!(response.error(), REFUSED);
    assert_eq!(app.realm().log_position(), before);
    let sent = browser.call(&app, "POST /messages", &MESSAGE).await.success();
    assert!(sent["id"].is_i64());
}

#[tokio::test]
async fn each_kind_of_credential_opens_its_own_api_alone() {
    let app = TestApp::with_client().await;
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let response = browser.send(&app, "GET /api/v1/users/me", &[], None).await;
    assert_eq!(response.status, 401);
    assert!(response.headers["www-authenticate"].to_str().unwrap().starts_with("Basic"));
    let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", app.ada.email, app.ada.key)));
    let stranger = Browser::default();
    let page = stranger.send(&app, "GET /json/users/me", &[("authorization", &basic)], None).await;
    assert_eq!(page.status, 401);
    // A browser would ask for a password by itself if it was challenged for one.
    assert!(page.headers["www-authenticate"].to_str().unwrap().starts_with("Session"));
    assert!(page.text.contains("UNAUTHORIZED") && !page.headers.contains_key("access-control-allow-origin"));
    assert_eq!(
        (&page.headers["cache-control"], &page.headers["x-content-type-options"]),
        (&"no-store".parse().unwrap(), &"nosniff".parse().unwrap())
    );
    assert_eq!(stranger.send(&app, "GET /api/v1/users/me", &[("authorization", &basic)], None).await.status, 200);
}

#[tokio::test]
async fn a_session_opens_files_and_no_key_is_in_it() {
    let app = TestApp::with_client().await;
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let form = crate::file_store::form(&[("filename", "a.txt", "text/plain", b"hello")]);
    let response = app.call_with_files(&app.ada, "POST /user_uploads", form).await.success();
    let path = response["uri"].as_str().unwrap();
    assert_eq!(browser.get(&app, path).await.text, "hello");
    let page = Browser::default().get(&app, path).await;
    assert_eq!(page.status, 401);
    let session = browser.cookie(SESSION).unwrap();
    assert!(!session.contains(&app.ada.key) && session.starts_with("9-"));
}

#[tokio::test]
async fn a_session_that_is_not_used_expires_and_one_that_is_used_does_not() {
    let app = TestApp::with_client().await;
    let (used, unused) = (
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
    );
    app.wait_s(SESSION_LIFETIME_S - 1);
    assert!(used.is_in(&app).await);
    app.wait_s(1);
    assert!(used.is_in(&app).await && !unused.is_in(&app).await);
    app.wait_s(SESSION_LIFETIME_S);
    assert!(!used.is_in(&app).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_ended_on_one_node_opens_nothing_on_another_from_the_answer_on() {
    let here = TestApp::with_client().await;
    let there = here.another_node().await;
    for _ in 0..5 {
        let browser = Browser::signed_in(&here, "ada@example.org", "ada's").await;
        assert!(browser.is_in(&there).await, "a session that one node began is known to the other");
        assert!(browser.get(&there, "/").await.text.contains("the client"));
        let (session, token) = (browser.cookie(SESSION).unwrap(), browser.cookie(CSRF).unwrap());
        let page = browser.send(&here, "POST /logout/", &[("x-csrftoken", &token)], None).await;
        assert_eq!(page.status, 303);
        browser.plant(SESSION, &session);
        if !here.is_on_postgres() {
            // Where a second node is not supported it is not told either.
            there.store.refresh_realm().await.unwrap();
        }
        assert!(!browser.is_in(&there).await);
    }
}

#[tokio::test]
async fn a_poll_is_answered_and_ends_with_its_session() {
    let app = TestApp::with_client().await;
    let sam = with_password(&app, "sam").await;
    let browser = Browser::signed_in(&app, &sam.email, "secret").await;
    let queue = browser.call(&app, "POST /register", &[("event_types", r#"["realm"]"#)]).await.success();
    let queue_id = queue["queue_id"].as_str().unwrap();
    app.call(&app.ada, "PATCH /realm", &[("description", "new")]).await.success();
    let poll = [("queue_id", queue_id), ("last_event_id", "-1")];
    let events = browser.call(&app, "GET /events", &poll).await.success();
    let last = events["events"][0]["id"].to_string();
    let poll = [("queue_id", queue_id), ("last_event_id", last.as_str())];
    let ending = async {
        tokio::task::yield_now().await;
        app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
        app.call(&app.ada, "PATCH /realm", &[("description", "newer")]).await.success();
    };
    let (response, ()) = tokio::join!(browser.call(&app, "GET /events", &poll), ending);
    assert!(!response.status.is_success(), "{}", response.body);
}
