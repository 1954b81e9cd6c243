//! From address and password to the key.

use std::future::poll_fn;
use std::task::Poll;

use chat_core::event_log::realm_commit::{CommitOutcome, CredentialChange, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::role::Role;
use chat_core::model::user::PasswordHash;
use serde_json::json;

use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const WRONG: (u16, &str, &str) = (401, "AUTHENTICATION_FAILED", "Your username or password is incorrect");
const LIMITED: (u16, &str, &str) = (429, "RATE_LIMIT_HIT", "API usage exceeded rate limit");

async fn log_in(app: &TestApp, username: &str, password: &str) -> TestResponse {
    app.call_as_nobody("POST /fetch_api_key", &[("username", username), ("password", password)]).await
}

async fn log_in_from(app: &TestApp, from: &str, username: &str, password: &str) -> TestResponse {
    app.call_from(from, "POST /fetch_api_key", &[("username", username), ("password", password)]).await
}

/// What all of them return, made at once, in no order.
async fn all<T>(calls: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let mut events = Vec::new();
    poll_fn(|context| {
        calls.retain_mut(|call| match call.as_mut().poll(context) {
            Poll::Ready(ended) => {
                events.push(ended);
                false
            }
            Poll::Pending => true,
        });
        if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    events
}

/// A person whose password is `secret`.
async fn with_password(app: &TestApp, name: &str) -> Person {
    let person = app.person(name, Role::Member).await;
    let mut commit = RealmCommit { decided_at: app.realm().changed_at(), ..RealmCommit::default() };
    let hash = Some(PasswordHash("secret".to_owned()));
    commit.credentials.push(CredentialChange::PasswordHash(UserId(person.id), hash));
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    person
}

#[tokio::test]
async fn a_password_gives_the_key_and_the_address_as_it_is_kept() {
    let app = TestApp::found().await;
    for username in ["ada@example.org", " ADA@Example.org "] {
        let response = log_in(&app, username, "ada's").await.success();
        assert_eq!(response["api_key"], json!(app.ada.key));
        assert_eq!((&response["email"], &response["user_id"]), (&json!("ada@example.org"), &json!(9)));
    }
    app.call(&app.ada, "GET /users/me", &[]).await.success();
}

#[tokio::test]
async fn a_wrong_address_and_a_wrong_password_are_told_alike() {
    let app = TestApp::found().await;
    app.person("sam", Role::Member).await;
    for (username, password) in
        [("ada@example.org", "x"), ("ada@example.org", ""), ("eve@example.org", "x"), ("sam@example.org", "x")]
    {
        assert_eq!(log_in(&app, username, password).await.error(), WRONG, "{username} {password}");
    }
}

#[tokio::test]
async fn what_is_missing_or_no_address_is_said() {
    let app = TestApp::found().await;
    app.call_as_nobody("POST /fetch_api_key", &[("username", "a@b.c")]).await.refused("Missing 'password' argument");
    app.call_as_nobody("POST /fetch_api_key", &[("password", "x")]).await.refused("Missing 'username' argument");
    for username in ["", "ada", "a:b@example.org"] {
        log_in(&app, username, "x").await.refused("Enter a valid email address.");
    }
}

#[tokio::test]
async fn a_closed_account_is_told_so_to_who_knows_its_password() {
    let app = TestApp::found().await;
    let sam = with_password(&app, "sam").await;
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    assert_eq!(log_in(&app, &sam.email, "x").await.error(), WRONG);
    assert_eq!(log_in(&app, &sam.email, "secret").await.error(), (401, "USER_DEACTIVATED", "Account is deactivated"));
}

#[tokio::test]
async fn many_right_passwords_at_once_are_all_let_in_and_of_wrong_ones_five_are_answered() {
    let app = TestApp::found().await;
    let sam = with_password(&app, "sam").await;
    let at_once = async |password: &'static str| -> Vec<u16> {
        let tries = (0..12).map(|_| log_in_from(&app, "192.0.2.1", &sam.email, password));
        all(tries).await.iter().map(|response| response.status.as_u16()).collect()
    };
    assert_eq!(at_once("secret").await, [200; 12]);
    let mut refused = at_once("x").await;
    refused.sort_unstable();
    assert_eq!(refused, [vec![401; 5], vec![429; 7]].concat());
    assert_eq!(log_in_from(&app, "192.0.2.1", &sam.email, "secret").await.error(), LIMITED);
}

#[tokio::test]
async fn five_wrong_passwords_close_an_account_to_where_they_came_from_and_to_nobody_else() {
    let app = TestApp::found().await;
    let sam = with_password(&app, "sam").await;
    for username in ["ada@example.org", "nobody@example.org"] {
        for host in 1..=5 {
            let response = log_in_from(&app, &format!("192.0.2.{host}"), username, "x").await;
            assert_eq!(response.error(), WRONG);
        }
        let response = log_in_from(&app, "192.0.2.99", &username.to_uppercase(), "ada's").await;
        assert_eq!(response.error(), LIMITED, "{username}");
        assert_eq!(response.body["retry-after"].as_f64(), Some(360.0));
    }
    log_in_from(&app, "192.0.2.99", &sam.email, "secret").await.success();
    log_in_from(&app, "198.51.100.1", "ada@example.org", "ada's").await.success();
    app.wait_s(359);
    assert_eq!(log_in_from(&app, "192.0.2.99", "ada@example.org", "ada's").await.error(), LIMITED);
    app.wait_s(1);
    log_in_from(&app, "192.0.2.99", "ada@example.org", "ada's").await.success();
}

#[tokio::test]
async fn a_refusal_tells_how_many_tries_there_are_and_when_they_are_back() {
    let app = TestApp::found().await;
    let form = [("username", "ada@example.org"), ("password", "x")];
    for _ in 0..5 {
        assert_eq!(app.call_from("192.0.2.1", "POST /fetch_api_key", &form).await.error(), WRONG);
    }
    let (headers, refused) = app.answer_from("192.0.2.1", "POST /fetch_api_key", &form).await;
    assert_eq!(refused.error(), LIMITED);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    assert_eq!(
        (header("retry-after"), header("x-ratelimit-limit"), header("x-ratelimit-remaining")),
        ("360", "5", "0")
    );
    assert_eq!(header("x-ratelimit-reset"), (NOW_S + 1_800).to_string());
}

#[tokio::test]
async fn an_address_that_tries_many_accounts_is_closed_to_all_of_them() {
    let app = TestApp::found().await;
    for number in 0..60 {
        let response = log_in_from(&app, "192.0.2.1", &format!("nobody{number}@example.org"), "x").await;
        assert_eq!(response.error(), WRONG, "{number}");
    }
    assert_eq!(log_in_from(&app, "192.0.2.1", "ada@example.org", "ada's").await.error(), LIMITED);
    log_in_from(&app, "192.0.2.2", "ada@example.org", "ada's").await.success();
}

#[tokio::test]
async fn a_right_password_in_between_gives_all_tries_back() {
    let app = TestApp::found().await;
    for _ in 0..3 {
        for _ in 0..4 {
            assert_eq!(log_in(&app, "ada@example.org", "x").await.error(), WRONG);
        }
        log_in(&app, "ada@example.org", "ada's").await.success();
    }
}

#[tokio::test]
async fn nobody_gets_a_key_without_a_password() {
    let app = TestApp::found().await;
    let response = app.call_as_nobody("POST /dev_fetch_api_key", &[("username", "ada@example.org")]).await;
    response.refused("Endpoint not available in production.");
    assert_eq!(response.body.get("api_key"), None);
}

#[tokio::test]
async fn developers_get_the_keys_of_people_by_their_addresses() {
    let app = TestApp::of_developers().await;
    let ask = async |address: &str| app.call_as_nobody("POST /dev_fetch_api_key", &[("username", address)]).await;
    let response = ask("ADA@example.org").await.success();
    assert_eq!(
        (&response["api_key"], &response["email"], &response["user_id"]),
        (&json!(app.ada.key), &json!("ada@example.org"), &json!(app.ada.id))
    );
    assert_eq!(ask("nobody@example.org").await.error(), WRONG);
    let robot = crate::personal::bot(&app, "robot").await;
    assert_eq!(ask(&robot.email).await.error(), WRONG);
    let gone = app.person("gone", Role::Member).await;
    crate::personal::close(&app, &gone).await;
    assert_eq!(ask(&gone.email).await.error().1, "USER_DEACTIVATED");
}

#[tokio::test]
async fn another_key_ends_the_one_before() {
    let app = TestApp::found().await;
    let sam = with_password(&app, "sam").await;
    let response = app.call(&sam, "POST /users/me/api_key/regenerate", &[]).await.success();
    let key = response["api_key"].as_str().unwrap().to_owned();
    assert!(key != sam.key && key.len() == 32);
    let refused = app.call(&sam, "GET /users/me", &[]).await;
    assert_eq!(refused.error(), (401, "UNAUTHORIZED", "Invalid API key"));
    assert_eq!(log_in(&app, &sam.email, "secret").await.success()["api_key"], json!(key));
    let again = Person { key, ..sam };
    app.call(&again, "GET /users/me", &[]).await.success();
}
