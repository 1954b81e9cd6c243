//! A link that signs a browser in once.

use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::user::{ApiKey, InvitationSecret};
use chat_core::people::sign_in_link;

use super::{Browser, SESSION, assert_hardened};
use crate::test_app::{NOW_S, TestApp};

/// Makes a link, as the operator's command does.
async fn path(app: &TestApp, user_id: i64, seed: u8) -> String {
    let realm = app.realm();
    let mut commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, ..RealmCommit::default() };
    let secret = InvitationSecret::new(ApiKey::from_random(&[seed; 64]).unwrap());
    let path =
        sign_in_link::create_sign_in_link(&realm, realm.user(UserId(user_id)).unwrap(), &secret, &mut commit).unwrap();
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    path
}

#[tokio::test]
async fn the_button_of_a_link_signs_in_once_and_opening_it_does_nothing() {
    let app = TestApp::with_client().await;
    let path = path(&app, app.ada.id, 1).await;
    let browser = Browser::default();
    let page = browser.get(&app, &path).await;
    assert_hardened(&page);
    assert!(page.text.contains("ada@example.org"), "{}", page.text);
    assert!(browser.cookie(SESSION).is_none());
    assert_eq!(browser.post(&app, &path, &[]).await.status, 403);
    let page = browser.fill(&app, &path, &[]).await;
    assert_eq!((page.status, page.location()), (303, Some("/")), "{}", page.text);
    assert!(browser.is_in(&app).await);
    for stranger in [Browser::default(), browser] {
        let page = stranger.get(&app, &path).await;
        assert!(page.status == 404 && page.text.contains("This link does not work"), "{}", page.text);
    }
}

#[tokio::test]
async fn of_two_browsers_that_use_a_link_at_once_one_is_signed_in() {
    let app = TestApp::with_client().await;
    for round in 1..=8 {
        let path = path(&app, app.ada.id, round).await;
        let browsers = [Browser::default(), Browser::default()];
        let mut tokens = Vec::new();
        for browser in &browsers {
            tokens.push(browser.get(&app, &path).await.token().to_owned());
        }
        let use_link = async |at: usize| {
            // Each of the two comes first in half of the rounds.
            if at == usize::from(round % 2) {
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
            }
            browsers[at].post(&app, &path, &[("csrfmiddlewaretoken", &tokens[at])]).await
        };
        let pages = tokio::join!(use_link(0), use_link(1));
        let (won, lost) = if pages.0.status == 303 { pages } else { (pages.1, pages.0) };
        assert_eq!((won.status, won.location()), (303, Some("/")), "{}", won.text);
        assert!(lost.status == 404 && lost.text.contains("This link does not work"), "{} {}", lost.status, lost.text);
        let mut signed_in = 0;
        for browser in &browsers {
            if browser.cookie(SESSION).is_some() {
                signed_in += 1;
                assert!(browser.is_in(&app).await);
            }
        }
        assert_eq!(signed_in, 1);
    }
}

#[tokio::test]
async fn a_link_that_is_old_or_made_up_signs_no_browser_in() {
    let app = TestApp::with_client().await;
    let path = path(&app, app.ada.id, 1).await;
    for other in ["/sign-in/x", "/sign-in/1-abc", &format!("{path}x"), &path.replace('-', "-9")] {
        assert_eq!(Browser::default().get(&app, other).await.status, 404, "{other}");
    }
    let browser = Browser::default();
    let token = browser.get(&app, &path).await.token().to_owned();
    app.wait_s(sign_in_link::SIGN_IN_LINK_VALIDITY_S);
    let page = browser.post(&app, &path, &[("csrfmiddlewaretoken", &token)]).await;
    assert_eq!((page.status, browser.cookie(SESSION)), (404, None));
}
