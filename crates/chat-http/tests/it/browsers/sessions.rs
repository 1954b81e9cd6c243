//! The list of sessions, and what ends them.

use super::{Browser, assert_hardened, with_password};
use crate::town::Town;

/// The ids of the sessions, the current one first.
async fn ids(town: &Town, browser: &Browser) -> Vec<String> {
    let told = browser.call(town, "GET /sessions", &[]).await.success();
    let mut sessions = told["sessions"].as_array().unwrap().clone();
    sessions.sort_by_key(|session| session["is_current"] != true);
    assert_eq!(sessions[0]["is_current"], true);
    assert_eq!(sessions[0]["user_agent"], "Firefox/150 Linux");
    sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_person_lists_their_sessions_and_ends_one_or_all_others() {
    let town = Town::with_client().await;
    let sam = with_password(&town, "sam").await;
    let mut browsers = Vec::new();
    for _ in 0..4 {
        browsers.push(Browser::signed_in(&town, &sam.email, "secret").await);
    }
    let ada = Browser::signed_in(&town, "ada@example.org", "ada's").await;
    let listed = ids(&town, &browsers[0]).await;
    assert_eq!(listed.len(), 4);
    // Another person ends none of them.
    let told = ada.call(&town, &format!("DELETE /sessions/{}", listed[1]), &[]).await;
    assert_eq!(told.error(), (400, "BAD_REQUEST", "No such session"));
    browsers[0].call(&town, &format!("DELETE /sessions/{}", ids(&town, &browsers[1]).await[0]), &[]).await.success();
    assert!(!browsers[1].is_in(&town).await && browsers[2].is_in(&town).await);
    browsers[0].call(&town, "DELETE /sessions", &[]).await.success();
    assert!(browsers[0].is_in(&town).await && ada.is_in(&town).await);
    assert!(!browsers[2].is_in(&town).await && !browsers[3].is_in(&town).await);
}

#[tokio::test]
async fn the_page_of_sessions_ends_them_without_script() {
    let town = Town::with_client().await;
    let page = Browser::default().get(&town, "/sessions/").await;
    assert_eq!((page.status, page.location()), (303, Some("/login/?next=/sessions/")));
    let (here, there, third) = (
        Browser::signed_in(&town, "ada@example.org", "ada's").await,
        Browser::signed_in(&town, "ada@example.org", "ada's").await,
        Browser::signed_in(&town, "ada@example.org", "ada's").await,
    );
    let page = here.get(&town, "/sessions/").await;
    assert_hardened(&page);
    assert!(page.text.contains("Firefox on Linux") && page.text.contains("(this browser)"), "{}", page.text);
    let id = ids(&town, &there).await.remove(0);
    assert_eq!(here.post(&town, "/sessions/", &[("id", &id)]).await.status, 403);
    assert!(there.is_in(&town).await);
    assert_eq!(here.fill(&town, "/sessions/", &[("id", &id)]).await.status, 303);
    assert!(!there.is_in(&town).await && third.is_in(&town).await);
    assert_eq!(here.fill(&town, "/sessions/", &[]).await.status, 303);
    assert!(here.is_in(&town).await && !third.is_in(&town).await);
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_but_the_one_that_set_it() {
    let town = Town::with_client().await;
    let (here, there) = (
        Browser::signed_in(&town, "ada@example.org", "ada's").await,
        Browser::signed_in(&town, "ada@example.org", "ada's").await,
    );
    let wrong = [("old_password", "x"), ("new_password", "correct horse")];
    here.call(&town, "PATCH /settings", &wrong).await.refused("Wrong password!");
    assert!(there.is_in(&town).await);
    let change = [("old_password", "ada's"), ("new_password", "correct horse")];
    here.call(&town, "PATCH /settings", &change).await.success();
    assert!(here.is_in(&town).await && !there.is_in(&town).await);
    let change = [("old_password", "correct horse"), ("new_password", "battery staple")];
    town.call(&town.ada, "PATCH /settings", &change).await.success();
    assert!(!here.is_in(&town).await, "a program that sets a password has no session to spare");
    Browser::signed_in(&town, "ada@example.org", "battery staple").await;
}

#[tokio::test]
async fn a_session_is_no_setting_that_anyone_is_shown() {
    let town = Town::with_client().await;
    let browser = Browser::signed_in(&town, "ada@example.org", "ada's").await;
    let id = ids(&town, &browser).await.remove(0);
    for path in ["/users", "/users/me", "/settings"] {
        let told = town.call(&town.ada, &format!("GET {path}"), &[]).await;
        assert!(!told.body.to_string().contains(&id), "{path}");
    }
    let state = town.call(&town.ada, "POST /register", &[]).await.success();
    assert!(!state.to_string().contains(&id));
}
