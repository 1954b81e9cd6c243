//! What script of other sites may read.

use axum::body::Body;
use http::Request;

use super::Browser;
use crate::test_app::TestApp;

#[tokio::test]
async fn every_site_may_call_the_api_with_a_key_and_never_with_cookies() {
    let app = TestApp::with_client().await;
    let origin = [("origin", "https://other.example")];
    let (_, headers, _) = app.fetch("/api/v1/server_settings", &origin).await;
    assert_eq!(headers["access-control-allow-origin"], "*");
    assert!(headers["access-control-expose-headers"].to_str().unwrap().contains("X-RateLimit-Remaining"));
    // Refusals too, or script could not say why.
    let (status, headers, _) = app.fetch("/api/v1/users/me", &origin).await;
    assert_eq!((status, &headers["access-control-allow-origin"]), (401, &"*".parse().unwrap()));
    let preflight = Request::options("/api/v1/messages")
        .header("origin", "https://other.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization");
    let (status, headers, _) = app.respond(preflight.body(Body::empty()).unwrap()).await;
    assert_eq!(status, 204);
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(text("access-control-allow-origin"), "*");
    assert!(text("access-control-allow-headers").contains("Authorization"));
    for method in ["GET", "POST", "PATCH", "PUT", "DELETE"] {
        assert!(text("access-control-allow-methods").contains(method), "{method}");
    }
    assert!(!headers.contains_key("access-control-allow-credentials"));
}

#[tokio::test]
async fn no_other_site_reads_what_the_session_of_a_browser_opens() {
    let app = TestApp::with_client().await;
    let browser = Browser::signed_in(&app, "ada@example.org", "ada's").await;
    let origin = [("origin", "https://other.example")];
    for path in ["/json/users/me", "/", "/sessions/", "/login/", "/static/web/app-1.js"] {
        let page = browser.send(&app, &format!("GET {path}"), &origin, None).await;
        assert!(page.headers.keys().all(|name| !name.as_str().starts_with("access-control-")), "{path}");
    }
    let preflight = [("origin", "https://other.example"), ("access-control-request-method", "POST")];
    let page = browser.send(&app, "OPTIONS /json/messages", &preflight, None).await;
    assert!(page.headers.keys().all(|name| !name.as_str().starts_with("access-control-")));
}

#[tokio::test]
async fn what_a_preview_of_a_link_is_shown_holds_no_messages() {
    let app = TestApp::with_client().await;
    let message = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "the secret plan")];
    app.call(&app.ada, "POST /messages", &message).await.success();
    let preview = Browser::default();
    for path in ["/", "/login/", "/login/?next=/", "/api/v1/server_settings", "/sessions/"] {
        let page = preview.get(&app, path).await;
        assert!(!page.text.contains("the secret plan") && !page.text.contains("general"), "{path}");
        assert!(!page.text.contains("Ada"), "{path}");
    }
    assert!(preview.get(&app, "/login/").await.text.contains("noindex"));
}
