//! `POST /fetch_api_key`
//!
//! - no prior authentication; `username` is usually an email address, and the answer is `api_key`, `email` and
//!   `user_id`: `login::a_password_gives_the_key_and_the_address_as_it_is_kept`
//! - both fields are required: `login::what_is_missing_or_no_address_is_said`
//! - wrong credentials give no key: `login::a_wrong_address_and_a_wrong_password_are_told_alike`,
//!   `login::a_closed_account_is_told_so_to_who_knows_its_password`,
//!   `login::five_wrong_passwords_close_an_account_to_where_they_came_from_and_to_nobody_else`
//! - Basic authentication takes that address and key: `login::another_key_ends_the_one_before`

use chat_core::event_log::realm_commit::{CommitOutcome, CredentialChange, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::user::PasswordHash;
use serde_json::json;

use crate::personal::{bot, put};
use crate::test_app::{Person, TestApp, TestResponse};

async fn log_in(app: &TestApp, email: &str, password: &str) -> TestResponse {
    app.call_as_nobody("POST /fetch_api_key", &[("username", email), ("password", password)]).await
}

#[tokio::test]
async fn a_program_tells_a_wrong_password_from_a_closed_organization_by_the_code() {
    let app = TestApp::found().await;
    let wrong = log_in(&app, "ada@example.org", "x").await;
    assert_eq!(wrong.error(), (401, "AUTHENTICATION_FAILED", "Your username or password is incorrect"));
    let mut realm = app.realm().realm().unwrap().clone();
    realm.is_deactivated = true;
    put(&app, vec![RealmChange::Realm(Box::new(realm))]).await;
    for password in ["x", "ada's"] {
        let closed = log_in(&app, "ada@example.org", password).await;
        assert_eq!(closed.error(), (401, "REALM_DEACTIVATED", "This organization has been deactivated"));
    }
}

#[tokio::test]
async fn blanks_around_an_address_are_no_part_of_it() {
    let app = TestApp::found().await;
    for email in ["ada@example.org ", " ada@example.org", "\tADA@example.org\n"] {
        log_in(&app, email, "ada's").await.success();
    }
    assert_eq!(log_in(&app, "ada@example.org", "ada's ").await.error().1, "AUTHENTICATION_FAILED");
}

#[tokio::test]
async fn a_bot_has_no_password_whatever_it_is() {
    let app = TestApp::found().await;
    let Person { id, email, .. } = bot(&app, "robot").await;
    let mut commit = RealmCommit { decided_at: app.realm().changed_at(), ..RealmCommit::default() };
    commit.credentials.push(CredentialChange::PasswordHash(UserId(id), Some(PasswordHash("secret".to_owned()))));
    assert!(matches!(app.store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    assert_eq!(log_in(&app, &email, "secret").await.error().1, "AUTHENTICATION_FAILED");
}

#[tokio::test]
async fn the_fields_are_raw_and_others_are_named_as_ignored() {
    let app = TestApp::found().await;
    assert_eq!(log_in(&app, "ada@example.org", "\"ada's\"").await.error().1, "AUTHENTICATION_FAILED");
    log_in(&app, "\"ada@example.org\"", "ada's").await.refused("Enter a valid email address.");
    let all = [("username", "ada@example.org"), ("password", "ada's"), ("mobile_flow_otp", "x")];
    let response = app.call_as_nobody("POST /fetch_api_key", &all).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["mobile_flow_otp"]));
    // Who shows an account is answered as well.
    app.call(&app.ada, "POST /fetch_api_key", &all[..2]).await.success();
}
