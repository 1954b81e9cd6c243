//! `POST /invites`
//!
//! - `invitee_emails` are separated by commas or newlines: `invites::addresses_are_separated_by_commas_or_newlines`
//! - it and `stream_ids` are required: `invites::addresses_and_channels_are_required`,
//!   `invites::each_parameter_has_its_type`
//! - null is for ever, omitted is the server default, which is 14400 minutes:
//!   `invites::an_invitation_holds_for_ten_days_for_so_many_minutes_or_for_ever`
//! - `invite_as` is 100, 200, 300, 400 or 600, and 400 where it is not given:
//!   `invites::people_are_invited_as_members_unless_another_role_is_given`
//! - the caller may only invite to roles equal or more restricted than their own:
//!   `invites::a_caller_invites_only_to_roles_equal_or_more_restricted_than_their_own`
//! - `stream_ids` may be empty, and must be if the caller cannot subscribe others:
//!   `invites::channels_must_be_empty_when_the_caller_cannot_subscribe_others`
//! - channels to subscribe the new user to, and `include_realm_default_subscriptions`, by default false:
//!   `invites::the_new_user_is_in_the_channels_named_and_in_the_default_ones_when_asked_for`
//! - `notify_referrer_on_join`, by default true: `invites::the_inviter_hears_of_a_joining_unless_they_do_not_wish_to`
//! - `BAD_REQUEST` for insufficient permission: `invites::who_may_not_invite_is_refused_before_anything_else_is_asked`
//! - `BAD_REQUEST` for no email: `invites::nobody_is_invited_when_no_address_is_given`
//! - `BAD_REQUEST` for an invalid channel id, no invites sent:
//!   `invites::nobody_is_invited_to_a_channel_that_is_not_there_for_the_caller`
//! - `INVITATION_FAILED` with its fields, others still invited: `invites::others_are_invited_when_some_have_accounts`,
//!   `invites::nobody_is_invited_when_all_have_accounts_or_one_address_is_none`
//! - `daily_limit_reached`: `invites::a_day_has_so_many_letters_and_no_more`
//! - list, revoke, resend and reusable links:
//!   `invites::links::administrators_see_all_invitations_and_others_their_own`,
//!   `invites::links::an_invitation_is_taken_back_once_by_who_may`,
//!   `invites::links::an_invitation_sent_again_opens_by_its_new_link_alone`,
//!   `invites::links::a_link_lets_many_in_each_by_their_own_address`
//! - what a letter's link opens: `invites::joining::the_form_makes_an_account_that_can_log_in_once`

use chat_core::event_log::email_queue::EmailQueueStore as _;
use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::{archive, gather, one_succeeds, private};
use crate::personal::{bot, mark};
use crate::test_app::{INVITATIONS_PER_DAY, Person, TestApp, TestResponse};

async fn invite(app: &TestApp, who: &Person, emails: &str, parameters: &[(&str, &str)]) -> TestResponse {
    let channels = ("stream_ids", "[]");
    let channels = Some(channels).filter(|(name, _)| parameters.iter().all(|(given, _)| given != name));
    let all: Vec<_> =
        [("invitee_emails", emails)].into_iter().chain(channels).chain(parameters.iter().copied()).collect();
    app.call(who, "POST /invites", &all).await
}

async fn open(app: &TestApp) -> Vec<Value> {
    app.call(&app.ada, "GET /invites", &[]).await.success()["invites"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_bot_invites_nobody_and_neither_does_who_has_no_account() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    let before = mark(&app);
    invite(&app, &robot, "new@example.org", &[]).await.refused("This endpoint does not accept bot requests.");
    let response = app.call_as_nobody("POST /invites", &[("invitee_emails", "new@example.org")]).await;
    assert_eq!(response.error().0, 401);
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn a_channel_that_is_archived_is_none_to_be_invited_to() {
    let app = TestApp::found().await;
    let old = gather(&app, "old", &[&app.ada], &[]).await;
    archive(&app, old).await;
    let response = invite(&app, &app.ada, "new@example.org", &[("stream_ids", &format!("[{old}]"))]).await;
    response.refused(&format!("Invalid channel ID {old}. No invites were sent."));
    assert_eq!(open(&app).await.len(), 0);
}

#[tokio::test]
async fn an_administrator_does_not_invite_to_a_private_channel_they_are_not_in() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let adam = app.person("adam", Role::Administrator).await;
    let den = private(&app, "den", &[&sam]).await;
    let response = invite(&app, &adam, "new@example.org", &[("stream_ids", &format!("[{den}]"))]).await;
    response.refused(&format!("Invalid channel ID {den}. No invites were sent."));
    invite(&app, &sam, "new@example.org", &[("stream_ids", &format!("[{den}, {den}]"))]).await.success();
}

#[tokio::test]
async fn an_invitation_may_hold_for_longer_than_time_is_counted() {
    let app = TestApp::found().await;
    invite(&app, &app.ada, "new@example.org", &[("invite_expires_in_minutes", &i64::MAX.to_string())]).await.success();
    assert_eq!(open(&app).await.len(), 1);
}

#[tokio::test]
async fn of_two_that_reach_the_daily_limit_together_one_is_refused() {
    let app = TestApp::found().await;
    let emails = |name: &str| {
        let all: Vec<_> = (0..=INVITATIONS_PER_DAY / 2).map(|number| format!("{name}{number}@example.org")).collect();
        all.join(",")
    };
    let (ours, theirs) = (emails("a"), emails("b"));
    let both = tokio::join!(invite(&app, &app.ada, &ours, &[]), invite(&app, &app.ada, &theirs, &[]));
    let refused = one_succeeds(both);
    assert_eq!((refused.error().1, &refused.body["daily_limit_reached"]), ("INVITATION_FAILED", &json!(true)));
    assert_eq!(refused.body["sent_invitations"], json!(false));
    let letters = app.store.claim_due_emails(i64::MAX, i64::MAX, 100).await.unwrap().len();
    assert_eq!((letters, open(&app).await.len()), (INVITATIONS_PER_DAY / 2 + 1, INVITATIONS_PER_DAY / 2 + 1));
}

#[tokio::test]
async fn of_an_invitation_that_some_could_not_have_every_field_is_there() {
    let app = TestApp::found().await;
    let response = invite(&app, &app.ada, "ada@example.org\nnew@example.org", &[]).await;
    assert_eq!(response.error().1, "INVITATION_FAILED");
    for key in ["daily_limit_reached", "license_limit_reached", "sent_invitations"] {
        assert!(response.body[key].is_boolean(), "{key}");
    }
    let [address, reason, is_deactivated] =
        <[Value; 3]>::try_from(response.body["errors"][0].as_array().unwrap().clone()).unwrap();
    assert!(address.is_string() && reason.is_string() && is_deactivated.is_boolean());
}
