//! The page a link opens, and the account it makes.

use chat_core::model::role::Role;
use serde_json::json;

use super::{invite, letters, path_in, seen};
use crate::test_app::TestApp;

const FORM: [(&str, &str); 2] = [("full_name", "Eve Moneypenny"), ("password", "correct horse")];

/// A test app with a user invited, and the path of their link.
async fn invited() -> (TestApp, String) {
    let app = TestApp::found().await;
    invite(&app, &app.ada, &[]).await.success();
    let path = path_in(&letters(&app).await.pop().unwrap());
    (app, path)
}

#[tokio::test]
async fn a_link_shows_who_invites_where_and_as_which_address() {
    let (app, path) = invited().await;
    let (status, headers, page) = app.browse(&format!("GET {path}"), &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    for part in
        ["Join Example", "Ada Lovelace invites you", "new@example.org", "name=\"full_name\"", "name=\"password\""]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn the_address_of_the_server_says_what_runs_there_and_where_to_go() {
    let (app, _) = invited().await;
    let (status, headers, page) = app.browse("GET /", &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'; style-src 'self'"));
    for part in ["This is a chat server", "https://chat.example.org", "an administrator of Example"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let links: Vec<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let own = links.iter().filter(|link| !link.starts_with("data:"));
    for link in own {
        assert_eq!(app.browse(&format!("GET /{link}"), &[]).await.0, 200, "{link}");
    }
}

#[tokio::test]
async fn the_page_runs_no_script_and_tells_nobody_its_address() {
    let (app, path) = invited().await;
    for path in [path.as_str(), "/join/nonsense"] {
        let (_, headers, page) = app.browse(&format!("GET {path}"), &[]).await;
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        assert!(header("content-security-policy").starts_with("default-src 'none'; style-src 'self'"));
        assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
        assert_eq!((header("referrer-policy"), header("cache-control")), ("no-referrer".into(), "no-store".into()));
        assert_eq!((header("x-frame-options"), header("x-content-type-options")), ("DENY".into(), "nosniff".into()));
        assert!(!page.contains("<script") && !page.contains("style="), "{page}");
    }
    let (status, headers, style) = app.browse("GET /static/join.css", &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/css; charset=utf-8"));
    assert!(style.contains(":focus-visible"));
}

#[tokio::test]
async fn the_form_makes_an_account_that_can_log_in_once() {
    let (app, path) = invited().await;
    let (status, _, page) = app.browse(&format!("POST {path}"), &FORM).await;
    assert!(status == 200 && page.contains("Welcome") && page.contains("https://chat.example.org"), "{page}");
    let login = [("username", "new@example.org"), ("password", "correct horse")];
    let response = app.call_as_nobody("POST /fetch_api_key", &login).await.success();
    assert_eq!(response["email"], "new@example.org");
    let before = app.realm().log_position();
    for method in ["GET", "POST"] {
        let (status, _, page) = app.browse(&format!("{method} {path}"), &FORM).await;
        assert!(status == 410 && page.contains("used before"), "{method}: {page}");
    }
    assert_eq!(app.realm().log_position(), before);
}

#[tokio::test]
async fn of_many_who_use_one_link_at_once_one_gets_the_account() {
    let (app, path) = invited().await;
    let call = format!("POST {path}");
    let before = app.realm().users().count();
    let answers = tokio::join!(
        app.browse(&call, &FORM),
        app.browse(&call, &FORM),
        app.browse(&call, &FORM),
        app.browse(&call, &FORM)
    );
    let mut statuses = [answers.0.0, answers.1.0, answers.2.0, answers.3.0];
    statuses.sort_unstable();
    assert_eq!((statuses, app.realm().users().count()), ([200, 410, 410, 410], before + 1));
    // One letter tells the inviter.
    assert_eq!(letters(&app).await.len(), 1);
}

#[tokio::test]
async fn a_form_that_does_not_do_is_shown_again_with_what_was_typed() {
    let (app, path) = invited().await;
    let before = app.realm().log_position();
    let long = "x".repeat(1_025);
    for (name, password, text) in [
        ("E", "correct horse", "Name too short!"),
        ("Eve*", "correct horse", "Invalid characters in name!"),
        ("Eve <q", "12345", "The password is too weak."),
        ("Eve Moneypenny", "", "The password is too weak."),
        ("Eve Moneypenny", &long, "The password is too long"),
    ] {
        let (status, _, page) =
            app.browse(&format!("POST {path}"), &[("full_name", name), ("password", password)]).await;
        assert!(status == 400 && page.contains(text) && page.contains("role=\"alert\""), "{text}: {status} {page}");
        assert!(!page.contains("<q") && (password.is_empty() || !page.contains(password)), "{page}");
        assert_eq!(app.realm().log_position(), before, "{text}");
    }
    assert_eq!(app.browse(&format!("POST {path}"), &[]).await.0, 400);
}

#[tokio::test]
async fn a_link_that_is_none_is_told_apart_from_one_that_is_over() {
    let (app, path) = invited().await;
    let (start, secret) = path.split_once('-').unwrap();
    let mut other: String = secret.chars().rev().collect();
    if other == secret {
        other = "A".repeat(32);
    }
    for wrong in [format!("{start}-{other}"), format!("/join/77-{secret}"), format!("/join/{secret}"), start.to_owned()]
    {
        for method in ["GET", "POST"] {
            let (status, _, page) = app.browse(&format!("{method} {wrong}"), &FORM).await;
            assert!(status == 404 && page.contains("There is no such invitation"), "{wrong}: {page}");
        }
    }
    app.wait_s(864_000);
    let (status, _, page) = app.browse(&format!("GET {path}"), &[]).await;
    assert!(status == 410 && page.contains("has expired"), "{page}");
    assert!(app.realm().user_by_email("new@example.org").is_none());
}

#[tokio::test]
async fn an_invitation_ends_with_the_account_of_who_gave_it() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    invite(&app, &mel, &[]).await.success();
    let path = path_in(&letters(&app).await.pop().unwrap());
    app.call(&app.ada, &format!("DELETE /users/{}", mel.id), &[]).await.success();
    let (status, _, page) = app.browse(&format!("POST {path}"), &FORM).await;
    assert!(status == 410 && page.contains("taken back"), "{page}");
    assert!(seen(&app, &app.ada).await.is_empty());
    assert!(app.realm().user_by_email("new@example.org").is_none());
}

#[tokio::test]
async fn an_address_that_got_an_account_meanwhile_gets_no_second_one() {
    let (app, path) = invited().await;
    let creation = [("email", "NEW@example.org"), ("password", "correct horse"), ("full_name", "Eve")];
    app.call(&app.ada, "POST /users", &creation).await.success();
    let (status, _, page) = app.browse(&format!("POST {path}"), &FORM).await;
    assert!(status == 400 && page.contains("already in use"), "{page}");
    let response = app.call(&app.ada, "POST /invites/1/resend", &[]).await;
    assert_eq!(response.error(), (400, "INVITATION_FAILED", "We weren't able to invite anyone."));
    assert_eq!(response.body["errors"], json!([["new@example.org", "Already has an account.", false]]));
}

#[tokio::test]
async fn a_form_larger_than_three_fields_is_not_read() {
    let (app, path) = invited().await;
    let huge = "x".repeat(20_000);
    let (status, _, _) = app.browse(&format!("POST {path}"), &[("full_name", &huge)]).await;
    assert_eq!(status, 400);
    assert!(app.realm().user_by_email("new@example.org").is_none());
}
