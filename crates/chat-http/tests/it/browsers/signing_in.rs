//! `/login/` and `/logout/`.

use super::{Browser, CSRF, SESSION, assert_hardened, with_password};
use crate::test_app::TestApp;

#[tokio::test]
async fn a_password_signs_a_browser_in_and_its_session_opens_the_api() {
    let app = TestApp::with_client().await;
    let browser = Browser::default();
    assert!(!browser.is_in(&app).await);
    let page = browser.get(&app, "/login/?next=/sessions/").await;
    assert_eq!(page.status, 200);
    assert_hardened(&page);
    assert!(page.text.contains("Sign in to Example") && page.text.contains("../password-reset/"), "{}", page.text);
    let fields = [("username", " ADA@Example.org "), ("password", "ada's"), ("next", "/sessions/")];
    let page = browser.fill(&app, "/login/?next=/sessions/", &fields).await;
    assert_eq!((page.status, page.location()), (303, Some("/sessions/")));
    let me = browser.call(&app, "GET /users/me", &[]).await.success();
    assert_eq!(me["user_id"], 9);
    // A browser that is signed in is sent on.
    let page = browser.get(&app, "/login/?next=/sessions/").await;
    assert_eq!((page.status, page.location()), (303, Some("/sessions/")));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_are_answered_alike_and_count() {
    let app = TestApp::with_client().await;
    let before = app.realm().log_position();
    let mut pages = Vec::new();
    for email in ["ada@example.org", "nobody@example.org"] {
        let browser = Browser::default();
        for _ in 0..5 {
            let page = browser.sign_in(&app, email, "wrong").await;
            assert_eq!(page.status, 401);
            assert!(browser.cookie(SESSION).is_none());
            let text = page.text.replace(email, "").replace(page.token(), "");
            pages.push(text);
        }
        let page = browser.sign_in(&app, email, "ada's").await;
        assert_eq!((page.status, page.headers.contains_key("retry-after")), (429, true));
        assert!(browser.cookie(SESSION).is_none());
    }
    assert!(
        pages.iter().all(|page| *page == pages[0] && page.contains("The e-mail address or the password is not right"))
    );
    assert_eq!(app.realm().log_position(), before);
}

#[tokio::test]
async fn a_form_of_another_site_signs_nobody_in() {
    let app = TestApp::with_client().await;
    let browser = Browser::default();
    let token = browser.get(&app, "/login/").await.token().to_owned();
    let form = |token: &str| format!("username=ada%40example.org&password=ada%27s&csrfmiddlewaretoken={token}");
    let other = Browser::default().get(&app, "/login/").await.token().to_owned();
    for (body, site) in [
        (form(""), "same-origin"),
        (form(&other), "same-origin"),
        (form(&token), "cross-site"),
        (form(&token), "same-site"),
    ] {
        let page = browser.send(&app, "POST /login/", &[("sec-fetch-site", site)], Some(body)).await;
        assert_eq!(page.status, 403, "{site}");
        assert!(browser.cookie(SESSION).is_none());
    }
    let without_cookie = Browser::default();
    let page = without_cookie.send(&app, "POST /login/", &[], Some(form(&token))).await;
    assert_eq!(page.status, 403);
    let without_cookie = Browser::default();
    without_cookie.plant(CSRF, "");
    assert_eq!(without_cookie.send(&app, "POST /login/", &[], Some(form(""))).await.status, 403);
    let page = browser.send(&app, "POST /login/", &[], Some(form(&token))).await;
    assert_eq!(page.status, 303);
}

#[tokio::test]
async fn a_session_that_was_planted_is_not_the_one_after_sign_in() {
    let app = TestApp::with_client().await;
    let sam = with_password(&app, "sam").await;
    let attacker = Browser::signed_in(&app, &sam.email, "secret").await;
    let planted = attacker.cookie(SESSION).unwrap();
    let browser = Browser::default();
    browser.plant(SESSION, "9-abcdefghijklmnopqrstuvwxyz012345");
    let page = browser.sign_in(&app, "ada@example.org", "ada's").await;
    assert_eq!(page.status, 303);
    assert_ne!(browser.cookie(SESSION).unwrap(), "9-abcdefghijklmnopqrstuvwxyz012345");
    let unknown = Browser::default();
    unknown.plant(SESSION, "9-abcdefghijklmnopqrstuvwxyz012345");
    assert!(!unknown.is_in(&app).await);
    // Signing in over a session of another account ends that session.
    let victim = Browser::default();
    victim.plant(SESSION, &planted);
    victim.plant(CSRF, &attacker.cookie(CSRF).unwrap());
    let fields = [("username", "ada@example.org"), ("password", "ada's")];
    let token = attacker.cookie(CSRF).unwrap();
    let fields = [&fields[..], &[("csrfmiddlewaretoken", &token)]].concat();
    assert_eq!(victim.post(&app, "/login/", &fields).await.status, 303);
    assert_eq!(victim.call(&app, "GET /users/me", &[]).await.success()["user_id"], 9);
    assert!(!attacker.is_in(&app).await);
}

#[tokio::test]
async fn a_browser_is_sent_to_no_other_server_after_sign_in() {
    let app = TestApp::with_client().await;
    for next in ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", ""] {
        let fields = [("username", "ada@example.org"), ("password", "ada's"), ("next", next)];
        let page = Browser::default().fill(&app, "/login/", &fields).await;
        assert_eq!((page.status, page.location()), (303, Some("/")), "{next}");
    }
}

#[tokio::test]
async fn a_closed_account_and_a_bot_are_not_signed_in() {
    let app = TestApp::with_client().await;
    let sam = with_password(&app, "sam").await;
    let browser = Browser::signed_in(&app, &sam.email, "secret").await;
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    assert!(!browser.is_in(&app).await);
    let page = Browser::default().sign_in(&app, &sam.email, "secret").await;
    assert!(page.status == 401 && page.text.contains("Ask an administrator"), "{}", page.text);
    let page = Browser::default().sign_in(&app, &sam.email, "wrong").await;
    assert!(page.text.contains("The e-mail address or the password is not right"), "{}", page.text);
    app.call(&app.ada, &format!("POST /users/{}/reactivate", sam.id), &[]).await.success();
    assert!(!browser.is_in(&app).await, "a session does not come back with its account");
}

#[tokio::test]
async fn signing_out_needs_the_token_and_ends_the_session() {
    let app = TestApp::with_client().await;
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let (session, token) = (browser.cookie(SESSION).unwrap(), browser.cookie(CSRF).unwrap());
    let page = browser.get(&app, "/logout/").await;
    assert_hardened(&page);
    assert!(page.text.contains("ada@example.org") && page.token() == token);
    assert_eq!(browser.post(&app, "/logout/", &[]).await.status, 403);
    assert!(browser.is_in(&app).await);
    let page = browser.send(&app, "POST /logout/", &[("x-csrftoken", &token)], None).await;
    assert_eq!((page.status, page.location()), (303, Some("/login/")));
    assert_eq!((browser.cookie(SESSION), browser.cookie(CSRF)), (None, None));
    browser.plant(SESSION, &session);
    browser.plant(CSRF, &token);
    assert!(!browser.is_in(&app).await);
}

#[tokio::test]
async fn the_client_is_served_to_who_is_signed_in_and_its_files_to_all() {
    let app = TestApp::with_client().await;
    let page = Browser::default().get(&app, "/").await;
    assert_eq!((page.status, page.location()), (303, Some("/login/")));
    assert!(!page.text.contains("the client"));
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    assert!(browser.get(&app, "/").await.text.contains("the client"));
    let file = Browser::default().get(&app, "/static/web/app-1.js").await;
    assert_eq!((file.status, file.text.as_str()), (200, "start()"));
    assert_eq!(Browser::default().get(&app, "/static/web/other.js").await.status, 404);
}
