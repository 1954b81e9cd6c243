//! A forgotten password.

use super::{Browser, assert_hardened, with_password};
use crate::invites::{letters, path_in};
use crate::test_app::TestApp;

async fn request(app: &TestApp, email: &str) -> super::Page {
    Browser::default().fill(app, "/password-reset/", &[("email", email)]).await
}

#[tokio::test]
async fn a_link_in_a_letter_sets_a_password_once_and_signs_out() {
    let app = TestApp::with_client().await;
    let sam = with_password(&app, "sam").await;
    let browser = Browser::signed_in(&app, &sam.email, "secret").await;
    let page = request(&app, "SAM@example.org").await;
    assert!(page.status == 200 && page.text.contains("Look into your mail"), "{}", page.text);
    let mail = letters(&app).await.pop().unwrap();
    assert_eq!(mail.to, sam.email);
    let path = path_in(&mail);
    let fresh = Browser::default();
    let page = fresh.get(&app, &path).await;
    assert_hardened(&page);
    assert!(page.text.contains("sam@example.org") && page.text.contains("new-password"), "{}", page.text);
    let page = fresh.fill(&app, &path, &[("password", "short")]).await;
    assert!(page.status == 400 && page.text.contains("role=\"alert\""), "{}", page.text);
    let before = app.realm().log_position();
    assert_eq!(fresh.post(&app, &path, &[("password", "correct horse")]).await.status, 403);
    assert_eq!(app.realm().log_position(), before);
    assert!(browser.is_in(&app).await, "opening a link changes nothing");
    let page = fresh.fill(&app, &path, &[("password", "correct horse")]).await;
    assert!(page.status == 200 && page.text.contains("Your new password is set"), "{}", page.text);
    assert!(!browser.is_in(&app).await);
    let notice = letters(&app).await.pop().unwrap();
    assert!(notice.to == sam.email && notice.subject.contains("was changed"));
    let page = fresh.get(&app, &path).await;
    assert!(page.status == 404 && page.text.contains("This link does not work"), "{}", page.text);
    assert_eq!(Browser::default().sign_in(&app, &sam.email, "secret").await.status, 401);
    Browser::signed_in(&app, &sam.email, "correct horse").await;
    // Programs go on.
    app.call(&sam, "GET /users/me", &[]).await.success();
}

#[tokio::test]
async fn a_request_shows_not_whether_there_is_an_account() {
    let app = TestApp::with_client().await;
    let mut pages = Vec::new();
    for email in ["ada@example.org", "stranger@example.org"] {
        let page = request(&app, email).await;
        pages.push((page.status, page.text));
    }
    assert_eq!(pages[0], pages[1]);
    assert_eq!(letters(&app).await.len(), 1);
    let page = request(&app, "no address").await;
    assert!(page.status == 400 && page.text.contains("Please type an e-mail address"), "{}", page.text);
}

#[tokio::test]
async fn letters_are_limited_alike_for_any_address_and_do_not_count_as_sign_ins() {
    let app = TestApp::with_client().await;
    for email in ["ada@example.org", "stranger@example.org"] {
        for _ in 0..5 {
            assert_eq!(request(&app, email).await.status, 200);
        }
        let page = request(&app, email).await;
        assert_eq!((page.status, page.headers.contains_key("retry-after")), (429, true), "{email}");
    }
    // Five clicks within a minute send one letter.
    assert_eq!(letters(&app).await.len(), 1);
    Browser::signed_in(&app, "ada@example.org", "ada's").await;
}

#[tokio::test]
async fn a_link_expires_and_one_that_is_no_link_sets_nothing() {
    let app = TestApp::with_client().await;
    request(&app, "ada@example.org").await;
    let path = path_in(&letters(&app).await.pop().unwrap());
    for wrong in ["/password-reset/x", &path.replace("9-", "8-"), &format!("{path}x")] {
        assert_eq!(Browser::default().get(&app, wrong).await.status, 404, "{wrong}");
    }
    app.wait_s(3_600);
    let page = Browser::default().get(&app, &path).await;
    assert!(page.status == 410 && page.text.contains("has expired"), "{}", page.text);
}

#[tokio::test]
async fn a_form_of_another_site_sends_no_letter() {
    let app = TestApp::with_client().await;
    let browser = Browser::default();
    let page = browser.post(&app, "/password-reset/", &[("email", "ada@example.org")]).await;
    assert_eq!(page.status, 403);
    assert!(letters(&app).await.is_empty());
}
