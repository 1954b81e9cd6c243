//! `/accounts/find`, which the desktop app opens.

use super::{Browser, assert_hardened};
use crate::test_app::TestApp;

#[tokio::test]
async fn the_desktop_app_opens_a_page_that_tells_which_organization_is_here() {
    let app = TestApp::with_client().await;
    let browser = Browser::default();
    let page = browser.get(&app, "/accounts/find").await;
    assert_eq!(page.status, 200);
    assert_hardened(&page);
    for told in ["Example is the organization at this address.", "../login/", "../password-reset/"] {
        assert!(page.text.contains(told), "{told}: {}", page.text);
    }
    assert!(!page.text.contains("<form"), "the page sends nothing: {}", page.text);
    let page = browser.get(&app, "/accounts/find/").await;
    assert_eq!((page.status, page.location()), (303, Some("/accounts/find")));
}

#[tokio::test]
async fn the_page_is_one_for_everyone_and_changes_nothing() {
    let app = TestApp::with_client().await;
    let stranger = Browser::default().get(&app, "/accounts/find?email=ada@example.org").await;
    let member = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let before = app.realm().log_position();
    assert_eq!(member.get(&app, "/accounts/find").await.text, stranger.text);
    assert_eq!(app.realm().log_position(), before);
}
