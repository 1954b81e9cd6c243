//! The list of sessions, and what ends them.

use super::{Browser, assert_hardened, with_password};
use crate::test_app::TestApp;

/// The ids of the sessions, the current one first.
async fn ids(app: &TestApp, browser: &Browser) -> Vec<String> {
    let response = browser.call(app, "GET /sessions", &[]).await.success();
    let mut sessions = response["sessions"].as_array().unwrap().clone();
    sessions.sort_by_key(|session| session["is_current"] != true);
    assert_eq!(sessions[0]["is_current"], true);
    assert_eq!(sessions[0]["user_agent"], "Firefox/150 Linux");
    sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_person_lists_their_sessions_and_ends_one_or_all_others() {
    let app = TestApp::with_client().await;
    let sam = with_password(&app, "sam").await;
    let mut browsers = Vec::new();
    for _ in 0..4 {
        browsers.push(Browser::signed_in(&app, &sam.email, "secret").await);
    }
    let ada = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let listed = ids(&app, &browsers[0]).await;
    assert_eq!(listed.len(), 4);
    // Another person ends none of them.
    let response = ada.call(&app, &format!("DELETE /sessions/{}", listed[1]), &[]).await;
    assert_eq!(response.error(), (400, "BAD_REQUEST", "No such session"));
    browsers[0].call(&app, &format!("DELETE /sessions/{}", ids(&app, &browsers[1]).await[0]), &[]).await.success();
    assert!(!browsers[1].is_in(&app).await && browsers[2].is_in(&app).await);
    browsers[0].call(&app, "DELETE /sessions", &[]).await.success();
    assert!(browsers[0].is_in(&app).await && ada.is_in(&app).await);
    assert!(!browsers[2].is_in(&app).await && !browsers[3].is_in(&app).await);
}

#[tokio::test]
async fn the_page_of_sessions_ends_them_without_script() {
    let app = TestApp::with_client().await;
    let page = Browser::default().get(&app, "/sessions/").await;
    assert_eq!((page.status, page.location()), (303, Some("/login/?next=/sessions/")));
    let (here, there, third) = (
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
    );
    let page = here.get(&app, "/sessions/").await;
    assert_hardened(&page);
    assert!(page.text.contains("Firefox on Linux") && page.text.contains("(this browser)"), "{}", page.text);
    let id = ids(&app, &there).await.remove(0);
    assert_eq!(here.post(&app, "/sessions/", &[("id", &id)]).await.status, 403);
    assert!(there.is_in(&app).await);
    assert_eq!(here.fill(&app, "/sessions/", &[("id", &id)]).await.status, 303);
    assert!(!there.is_in(&app).await && third.is_in(&app).await);
    assert_eq!(here.fill(&app, "/sessions/", &[]).await.status, 303);
    assert!(here.is_in(&app).await && !third.is_in(&app).await);
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_but_the_one_that_set_it() {
    let app = TestApp::with_client().await;
    let (here, there) = (
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
        Browser::signed_in(&app, "ada@example.org", "ada's").await,
    );
    let wrong = [("old_password", "x"), ("new_password", "correct horse")];
    here.call(&app, "PATCH /settings", &wrong).await.refused("Wrong password!");
    assert!(there.is_in(&app).await);
    let change = [("old_password", "ada's"), ("new_password", "correct horse")];
    here.call(&app, "PATCH /settings", &change).await.success();
    assert!(here.is_in(&app).await && !there.is_in(&app).await);
    let change = [("old_password", "correct horse"), ("new_password", "battery staple")];
    app.call(&app.ada, "PATCH /settings", &change).await.success();
    assert!(!here.is_in(&app).await, "a program that sets a password has no session to spare");
    Browser::signed_in(&app, "ada@example.org", "battery staple").await;
}

#[tokio::test]
async fn a_session_is_no_setting_that_anyone_is_shown() {
    let app = TestApp::with_client().await;
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let id = ids(&app, &browser).await.remove(0);
    for path in ["/users", "/users/me", "/settings"] {
        let response = app.call(&app.ada, &format!("GET {path}"), &[]).await;
        assert!(!response.body.to_string().contains(&id), "{path}");
    }
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    assert!(!state.to_string().contains(&id));
}
