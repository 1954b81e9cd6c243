//! The first page of an empty installation.

use serde_json::json;

use super::{Browser, SESSION, assert_hardened};
use crate::test_app::TestApp;

fn form<'a>(code: &'a str, email: &'a str) -> [(&'a str, &'a str); 5] {
    let name = ("realm_name", " Acme ");
    [("code", code), name, ("full_name", "Grace Hopper"), ("email", email), ("password", "correct horse")]
}

#[tokio::test]
async fn an_empty_installation_gets_its_organization_and_owner_by_the_code() {
    let app = TestApp::empty().await;
    let code = app.setup_code().to_owned();
    let browser = Browser::default();
    let page = browser.get(&app, "/").await;
    assert_eq!(page.status, 200);
    assert_hardened(&page);
    assert!(page.text.contains("Set up your chat") && !page.text.contains(&code), "{}", page.text);
    for (code, email, status) in [("", "g@example.org", 403), ("x", "g@example.org", 403), (&*code, "none", 400)] {
        let page = browser.fill(&app, "/", &form(code, email)).await;
        assert!(page.status == status && page.text.contains("role=\"alert\""), "{}: {}", page.status, page.text);
    }
    assert_eq!(browser.post(&app, "/", &form(&code, "g@example.org")).await.status, 403, "without the token");
    assert!(app.realm().realm().is_none());
    let page = browser.fill(&app, "/", &form(&format!(" {code} "), "g@example.org")).await;
    assert_eq!((page.status, page.location()), (303, Some("/")), "{}", page.text);
    assert!(browser.get(&app, "/").await.text.contains("the client"));
    let me = browser.call(&app, "GET /users/me", &[]).await.success();
    assert_eq!((&me["full_name"], &me["is_owner"]), (&json!("Grace Hopper"), &json!(true)));
    assert_eq!(app.realm().realm().unwrap().name, "Acme");
}

#[tokio::test]
async fn the_code_opens_nothing_once_there_is_an_organization() {
    let app = TestApp::empty().await;
    let code = app.setup_code().to_owned();
    let late = Browser::default();
    let token = late.get(&app, "/").await.token().to_owned();
    let browser = Browser::default();
    assert_eq!(browser.fill(&app, "/", &form(&code, "g@example.org")).await.status, 303);
    let before = app.realm().log_position();
    let fields = [&form(&code, "eve@example.org")[..], &[("csrfmiddlewaretoken", &token)]].concat();
    let page = late.post(&app, "/", &fields).await;
    assert_eq!((page.status, page.location()), (303, Some("/login/")));
    assert!(late.cookie(SESSION).is_none());
    assert_eq!(app.realm().log_position(), before);
    assert_eq!(Browser::default().get(&app, "/").await.location(), Some("/login/"));
}

#[tokio::test]
async fn a_weak_password_and_a_missing_name_make_no_organization() {
    let app = TestApp::empty().await;
    let code = app.setup_code().to_owned();
    for (field, value) in [("password", "short"), ("realm_name", " "), ("full_name", ""), ("realm_name", "a\u{200b}b")]
    {
        let fields =
            form(&code, "g@example.org").map(|(name, given)| (name, if name == field { value } else { given }));
        let page = Browser::default().fill(&app, "/", &fields).await;
        assert!(page.status == 400 && page.text.contains("role=\"alert\""), "{field}: {} {}", page.status, page.text);
    }
    assert!(app.realm().realm().is_none());
}
