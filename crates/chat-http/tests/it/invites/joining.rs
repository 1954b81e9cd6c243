//! The page a link opens, and the account it makes.

use chat_core::model::role::Role;
use serde_json::json;

use super::{invite, letters, path_in, seen};
use crate::town::Town;

const FORM: [(&str, &str); 2] = [("full_name", "Eve Moneypenny"), ("password", "correct horse")];

/// A town with somebody invited, and the path of their link.
async fn invited() -> (Town, String) {
    let town = Town::found().await;
    invite(&town, &town.ada, &[]).await.success();
    let path = path_in(&letters(&town).await.pop().unwrap());
    (town, path)
}

#[tokio::test]
async fn a_link_shows_who_invites_where_and_as_which_address() {
    let (town, path) = invited().await;
    let (status, headers, page) = town.browse(&format!("GET {path}"), &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    for part in
        ["Join Example", "Ada Lovelace invites you", "new@example.org", "name=\"full_name\"", "name=\"password\""]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn the_address_of_the_server_says_what_runs_there_and_where_to_go() {
    let (town, _) = invited().await;
    let (status, headers, page) = town.browse("GET /", &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'; style-src 'self'"));
    for part in ["This is a chat server", "https://chat.example.org", "an administrator of Example"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let links: Vec<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let own = links.iter().filter(|link| !link.starts_with("data:"));
    for link in own {
        assert_eq!(town.browse(&format!("GET /{link}"), &[]).await.0, 200, "{link}");
    }
}

#[tokio::test]
async fn the_page_runs_no_script_and_tells_nobody_its_address() {
    let (town, path) = invited().await;
    for path in [path.as_str(), "/join/nonsense"] {
        let (_, headers, page) = town.browse(&format!("GET {path}"), &[]).await;
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        assert!(header("content-security-policy").starts_with("default-src 'none'; style-src 'self'"));
        assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
        assert_eq!((header("referrer-policy"), header("cache-control")), ("no-referrer".into(), "no-store".into()));
        assert_eq!((header("x-frame-options"), header("x-content-type-options")), ("DENY".into(), "nosniff".into()));
        assert!(!page.contains("<script") && !page.contains("style="), "{page}");
    }
    let (status, headers, style) = town.browse("GET /static/join.css", &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/css; charset=utf-8"));
    assert!(style.contains(":focus-visible"));
}

#[tokio::test]
async fn the_form_makes_an_account_that_can_log_in_once() {
    let (town, path) = invited().await;
    let (status, _, page) = town.browse(&format!("POST {path}"), &FORM).await;
    assert!(status == 200 && page.contains("Welcome") && page.contains("https://chat.example.org"), "{page}");
    let login = [("username", "new@example.org"), ("password", "correct horse")];
    let told = town.call_as_nobody("POST /fetch_api_key", &login).await.success();
    assert_eq!(told["email"], "new@example.org");
    let before = town.realm().at();
    for method in ["GET", "POST"] {
        let (status, _, page) = town.browse(&format!("{method} {path}"), &FORM).await;
        assert!(status == 410 && page.contains("used before"), "{method}: {page}");
    }
    assert_eq!(town.realm().at(), before);
}

#[tokio::test]
async fn of_many_who_use_one_link_at_once_one_gets_the_account() {
    let (town, path) = invited().await;
    let call = format!("POST {path}");
    let before = town.realm().users().count();
    let answers = tokio::join!(
        town.browse(&call, &FORM),
        town.browse(&call, &FORM),
        town.browse(&call, &FORM),
        town.browse(&call, &FORM)
    );
    let mut statuses = [answers.0.0, answers.1.0, answers.2.0, answers.3.0];
    statuses.sort_unstable();
    assert_eq!((statuses, town.realm().users().count()), ([200, 410, 410, 410], before + 1));
    // One letter tells the inviter.
    assert_eq!(letters(&town).await.len(), 1);
}

#[tokio::test]
async fn a_form_that_does_not_do_is_shown_again_with_what_was_typed() {
    let (town, path) = invited().await;
    let before = town.realm().at();
    let long = "x".repeat(1_025);
    for (name, password, text) in [
        ("E", "correct horse", "Name too short!"),
        ("Eve*", "correct horse", "Invalid characters in name!"),
        ("Eve <q", "12345", "The password is too weak."),
        ("Eve Moneypenny", "", "The password is too weak."),
        ("Eve Moneypenny", &long, "The password is too long"),
    ] {
        let (status, _, page) =
            town.browse(&format!("POST {path}"), &[("full_name", name), ("password", password)]).await;
        assert!(status == 400 && page.contains(text) && page.contains("role=\"alert\""), "{text}: {status} {page}");
        assert!(!page.contains("<q") && (password.is_empty() || !page.contains(password)), "{page}");
        assert_eq!(town.realm().at(), before, "{text}");
    }
    assert_eq!(town.browse(&format!("POST {path}"), &[]).await.0, 400);
}

#[tokio::test]
async fn a_link_that_is_none_is_told_apart_from_one_that_is_over() {
    let (town, path) = invited().await;
    let (start, secret) = path.split_once('-').unwrap();
    let mut other: String = secret.chars().rev().collect();
    if other == secret {
        other = "A".repeat(32);
    }
    for wrong in [format!("{start}-{other}"), format!("/join/77-{secret}"), format!("/join/{secret}"), start.to_owned()]
    {
        for method in ["GET", "POST"] {
            let (status, _, page) = town.browse(&format!("{method} {wrong}"), &FORM).await;
            assert!(status == 404 && page.contains("There is no such invitation"), "{wrong}: {page}");
        }
    }
    town.wait_s(864_000);
    let (status, _, page) = town.browse(&format!("GET {path}"), &[]).await;
    assert!(status == 410 && page.contains("has expired"), "{page}");
    assert!(town.realm().user_by_email("new@example.org").is_none());
}

#[tokio::test]
async fn an_invitation_ends_with_the_account_of_who_gave_it() {
    let town = Town::found().await;
    let mel = town.person("mel", Role::Member).await;
    invite(&town, &mel, &[]).await.success();
    let path = path_in(&letters(&town).await.pop().unwrap());
    town.call(&town.ada, &format!("DELETE /users/{}", mel.id), &[]).await.success();
    let (status, _, page) = town.browse(&format!("POST {path}"), &FORM).await;
    assert!(status == 410 && page.contains("taken back"), "{page}");
    assert!(seen(&town, &town.ada).await.is_empty());
    assert!(town.realm().user_by_email("new@example.org").is_none());
}

#[tokio::test]
async fn an_address_that_got_an_account_meanwhile_gets_no_second_one() {
    let (town, path) = invited().await;
    let creation = [("email", "NEW@example.org"), ("password", "correct horse"), ("full_name", "Eve")];
    town.call(&town.ada, "POST /users", &creation).await.success();
    let (status, _, page) = town.browse(&format!("POST {path}"), &FORM).await;
    assert!(status == 400 && page.contains("already in use"), "{page}");
    let told = town.call(&town.ada, "POST /invites/1/resend", &[]).await;
    assert_eq!(told.error(), (400, "INVITATION_FAILED", "We weren't able to invite anyone."));
    assert_eq!(told.body["errors"], json!([["new@example.org", "Already has an account.", false]]));
}

#[tokio::test]
async fn a_form_larger_than_three_fields_is_not_read() {
    let (town, path) = invited().await;
    let huge = "x".repeat(20_000);
    let (status, _, _) = town.browse(&format!("POST {path}"), &[("full_name", &huge)]).await;
    assert_eq!(status, 400);
    assert!(town.realm().user_by_email("new@example.org").is_none());
}
