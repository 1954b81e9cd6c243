//! Asking people in, sentence by sentence, and what the links open.

mod joining;
mod links;

use chat_core::event_log::email_queue::{EmailQueueStore as _, OutgoingEmail};
use chat_core::event_log::event::EventBody;
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::model::group::SystemGroup;
use chat_core::model::realm::RealmPermissionSettings;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

/// Takes the letters that wait.
pub(crate) async fn letters(app: &TestApp) -> Vec<OutgoingEmail> {
    let taken = app.store.claim_due_emails(i64::MAX, i64::MAX, 1_000).await.unwrap();
    let mut letters = Vec::new();
    for waiting in taken {
        app.store.remove_email(waiting.id).await.unwrap();
        letters.push(waiting.mail);
    }
    letters
}

/// Whom letters went to.
async fn receivers(app: &TestApp) -> Vec<String> {
    letters(app).await.into_iter().map(|mail| mail.to).collect()
}

/// The path of the page that a letter links to.
pub(crate) fn path_in(mail: &OutgoingEmail) -> String {
    let end = mail.text.split_once("https://chat.example.org/").unwrap().1;
    format!("/{}", end.split_whitespace().next().unwrap())
}

/// Invites with these parameters over the usual ones.
async fn invite(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    let usual = [("invitee_emails", "new@example.org"), ("stream_ids", "[]")];
    let usual = usual.into_iter().filter(|(name, _)| parameters.iter().all(|(given, _)| given != name));
    let all: Vec<_> = usual.chain(parameters.iter().copied()).collect();
    app.call(who, "POST /invites", &all).await
}

/// The invitations a user sees.
async fn seen(app: &TestApp, who: &Person) -> Vec<Value> {
    app.call(who, "GET /invites", &[]).await.success()["invites"].as_array().unwrap().clone()
}

async fn rule(app: &TestApp, change: impl FnOnce(&mut RealmPermissionSettings)) {
    let mut realm = app.realm().realm().unwrap().clone();
    change(&mut realm.rules);
    let changes = vec![RealmChange::Realm(Box::new(realm))];
    let commit = RealmCommit { decided_at: app.realm().changed_at(), at_s: NOW_S, changes, ..RealmCommit::default() };
    app.store.commit(commit).await.unwrap();
}

/// Asserts a refusal, and that nobody was invited.
async fn assert_refused(app: &TestApp, response: &TestResponse, text: &str) {
    response.refused(text);
    assert_eq!(receivers(app).await, Vec::<String>::new(), "{text}");
    assert!(seen(app, &app.ada).await.is_empty(), "{text}");
}

/// The person at the end of a letter's link, with a password.
async fn joined(app: &TestApp, mail: &OutgoingEmail, name: &str) -> i64 {
    let form = [("full_name", name), ("password", "correct horse")];
    let (status, _, text) = app.browse(&format!("POST {}", path_in(mail)), &form).await;
    assert_eq!(status, 200, "{text}");
    app.realm().user_by_email(&mail.to).unwrap().id.0
}

#[tokio::test]
async fn addresses_are_separated_by_commas_or_newlines() {
    let app = TestApp::found().await;
    let emails = [("invitee_emails", "a@example.org,B@example.org\nCarl <c@example.org>\r\n, b@EXAMPLE.org")];
    invite(&app, &app.ada, &emails).await.success();
    assert_eq!(receivers(&app).await, ["a@example.org", "B@example.org", "c@example.org"]);
}

#[tokio::test]
async fn addresses_and_channels_are_required() {
    let app = TestApp::found().await;
    let response = app.call(&app.ada, "POST /invites", &[("stream_ids", "[]")]).await;
    assert_refused(&app, &response, "Missing 'invitee_emails' argument").await;
    let response = app.call(&app.ada, "POST /invites", &[("invitee_emails", "new@example.org")]).await;
    assert_refused(&app, &response, "Missing 'stream_ids' argument").await;
}

#[tokio::test]
async fn each_parameter_has_its_type() {
    let app = TestApp::found().await;
    for (name, value, text) in [
        ("stream_ids", "general", "stream_ids is not valid JSON"),
        ("stream_ids", "3", "stream_ids is not a list"),
        ("stream_ids", "[\"general\"]", "stream_ids[0] is not an integer"),
        ("stream_ids", "[99999999999999999999]", "stream_ids[0] is too large"),
        ("invite_as", "500", "Invalid invite_as: Value error, Not in the list of possible values"),
        ("invite_as", "member", "invite_as is not valid JSON"),
        ("invite_as", "null", "invite_as is not an integer"),
        ("invite_expires_in_minutes", "soon", "invite_expires_in_minutes is not valid JSON"),
        ("invite_expires_in_minutes", "1.5", "invite_expires_in_minutes is not an integer"),
        ("include_realm_default_subscriptions", "1", "include_realm_default_subscriptions is not a boolean"),
        ("notify_referrer_on_join", "\"yes\"", "notify_referrer_on_join is not a boolean"),
    ] {
        let response = invite(&app, &app.ada, &[(name, value)]).await;
        assert_refused(&app, &response, text).await;
    }
}

#[tokio::test]
async fn an_invitation_holds_for_ten_days_for_so_many_minutes_or_for_ever() {
    let app = TestApp::found().await;
    for (given, expires) in
        [(None, json!(NOW_S + 864_000)), (Some("60"), json!(NOW_S + 3_600)), (Some("null"), json!(null))]
    {
        let given: Vec<_> = given.map(|minutes| ("invite_expires_in_minutes", minutes)).into_iter().collect();
        invite(&app, &app.ada, &given).await.success();
        assert_eq!(seen(&app, &app.ada).await.pop().unwrap()["expiry_date"], expires);
    }
    app.wait_s(3_600);
    assert_eq!(seen(&app, &app.ada).await.len(), 2);
    app.wait_s(1_000_000);
    assert_eq!(seen(&app, &app.ada).await.len(), 1);
}

#[tokio::test]
async fn an_invitation_that_is_over_at_once_succeeds_and_is_none() {
    let app = TestApp::found().await;
    for minutes in ["0", "-1"] {
        invite(&app, &app.ada, &[("invite_expires_in_minutes", minutes)]).await.success();
        assert_eq!(receivers(&app).await, Vec::<String>::new());
        assert!(seen(&app, &app.ada).await.is_empty());
    }
}

#[tokio::test]
async fn people_are_invited_as_members_unless_another_role_is_given() {
    let app = TestApp::found().await;
    invite(&app, &app.ada, &[]).await.success();
    let roles = [("100", Role::Owner), ("200", Role::Administrator), ("300", Role::Moderator), ("600", Role::Guest)];
    for (number, _) in roles {
        let parameters = [("invitee_emails", format!("r{number}@example.org")), ("invite_as", number.to_owned())];
        let parameters: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        invite(&app, &app.ada, &parameters).await.success();
    }
    let mut letters = letters(&app).await.into_iter();
    let member = joined(&app, &letters.next().unwrap(), "New Person").await;
    assert_eq!(app.realm().user(UserId(member)).unwrap().role, Role::Member);
    for ((_, role), mail) in roles.into_iter().zip(letters) {
        let id = joined(&app, &mail, "New Person").await;
        assert_eq!(app.realm().user(UserId(id)).unwrap().role, role);
    }
}

#[tokio::test]
async fn a_caller_invites_only_to_roles_equal_or_more_restricted_than_their_own() {
    let app = TestApp::found().await;
    let owner = "Must be an organization owner";
    let administrator = "Must be an organization administrator";
    for (name, own, refused) in [
        ("adam", Role::Administrator, &[("100", owner)][..]),
        ("mona", Role::Moderator, &[("100", owner), ("200", administrator)]),
        ("mel", Role::Member, &[("100", owner), ("200", administrator), ("300", administrator)]),
    ] {
        let caller = app.person(name, own).await;
        for (role, text) in refused {
            let response = invite(&app, &caller, &[("invite_as", role)]).await;
            assert_refused(&app, &response, text).await;
        }
        let equal = i64::from(own).to_string();
        for role in [equal.as_str(), "600"] {
            invite(&app, &caller, &[("invite_as", role)]).await.success();
        }
        letters(&app).await;
        for invitation in seen(&app, &app.ada).await {
            app.call(&app.ada, &format!("DELETE /invites/{}", invitation["id"]), &[]).await.success();
        }
    }
}

#[tokio::test]
async fn who_may_not_invite_is_refused_before_anything_else_is_asked() {
    let app = TestApp::found().await;
    let guest = app.person("gus", Role::Guest).await;
    let response = invite(&app, &guest, &[("invitee_emails", ""), ("stream_ids", "[77]")]).await;
    assert_refused(&app, &response, "Not allowed for guest users").await;
    let member = app.person("mel", Role::Member).await;
    rule(&app, |rules| rules.invite = SystemGroup::Moderators.into()).await;
    let response = invite(&app, &member, &[("invitee_emails", ""), ("stream_ids", "[77]")]).await;
    assert_refused(&app, &response, "Insufficient permission").await;
    invite(&app, &app.ada, &[]).await.success();
}

#[tokio::test]
async fn nobody_is_invited_when_no_address_is_given() {
    let app = TestApp::found().await;
    for emails in ["", " ", ",\n , ", "\r\n"] {
        let response = invite(&app, &app.ada, &[("invitee_emails", emails)]).await;
        assert_refused(&app, &response, "You must specify at least one email address.").await;
    }
}

#[tokio::test]
async fn nobody_is_invited_to_a_channel_that_is_not_there_for_the_caller() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let parameters = [("subscriptions", r#"[{"name": "secret"}]"#), ("invite_only", "true")];
    app.call(&app.ada, "POST /users/me/subscriptions", &parameters).await.success();
    let id = app.realm().channel_by_name("secret").unwrap().id.0;
    for (channels, bad) in [(format!("[{id}]"), id), ("[777]".to_owned(), 777), (format!("[10, {id}]"), id)] {
        let response = invite(&app, &mel, &[("stream_ids", &channels)]).await;
        assert_refused(&app, &response, &format!("Invalid channel ID {bad}. No invites were sent.")).await;
    }
    invite(&app, &app.ada, &[("stream_ids", &format!("[{id}]"))]).await.success();
}

#[tokio::test]
async fn channels_must_be_empty_when_the_caller_cannot_subscribe_others() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    rule(&app, |rules| rules.subscribe_others = SystemGroup::Administrators.into()).await;
    let general = app.realm().channel_by_name("general").unwrap().id.0;
    let response = invite(&app, &mel, &[("stream_ids", &format!("[{general}]"))]).await;
    assert_refused(&app, &response, "You do not have permission to subscribe other users to channels.").await;
    invite(&app, &mel, &[("stream_ids", "[]")]).await.success();
    invite(&app, &mel, &[("include_realm_default_subscriptions", "true")]).await.success();
}

#[tokio::test]
async fn the_new_user_is_in_the_channels_named_and_in_the_default_ones_when_asked_for() {
    let app = TestApp::found().await;
    let [general, sandbox] = ["general", "sandbox"].map(|name| app.realm().channel_by_name(name).unwrap().id.0);
    let named = format!("[{general}]");
    for (channels, defaults, expected) in [
        ("[]", None, vec![]),
        (named.as_str(), None, vec![general]),
        (named.as_str(), Some("false"), vec![general]),
        ("[]", Some("true"), vec![general, sandbox]),
        (named.as_str(), Some("true"), vec![general, sandbox]),
    ] {
        let mut parameters = vec![("stream_ids", channels)];
        parameters.extend(defaults.map(|request_fields| ("include_realm_default_subscriptions", request_fields)));
        let email = format!("new{}@example.org", app.realm().nth_unused_id(1));
        parameters.push(("invitee_emails", &email));
        invite(&app, &app.ada, &parameters).await.success();
        let id = joined(&app, &letters(&app).await[0], "New Person").await;
        letters(&app).await;
        let realm = app.realm();
        let inside: Vec<_> = realm.memberships_of_user(UserId(id)).map(|(channel, _)| channel).collect();
        assert_eq!(inside, expected.into_iter().map(ChannelId).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_inviter_hears_of_a_joining_unless_they_do_not_wish_to() {
    let app = TestApp::found().await;
    for (request_fields, response) in [(None, 1), (Some("true"), 1), (Some("false"), 0)] {
        let email = format!("new{}@example.org", app.realm().nth_unused_id(1));
        let mut parameters = vec![("invitee_emails", email.as_str())];
        parameters.extend(request_fields.map(|request_fields| ("notify_referrer_on_join", request_fields)));
        invite(&app, &app.ada, &parameters).await.success();
        assert_eq!(seen(&app, &app.ada).await[0]["notify_referrer_on_join"], json!(request_fields != Some("false")));
        joined(&app, &letters(&app).await[0], "New Person").await;
        let after = letters(&app).await;
        assert_eq!(after.len(), response, "{request_fields:?}");
        for mail in after {
            assert_eq!(mail.to, app.ada.email);
            assert_eq!(mail.subject, "New Person accepted your invitation to Example");
        }
    }
}

#[tokio::test]
async fn others_are_invited_when_some_have_accounts() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    app.call(&app.ada, &format!("DELETE /users/{}", sam.id), &[]).await.success();
    let emails = [("invitee_emails", "ADA@example.org, new@example.org, sam@example.org")];
    let response = invite(&app, &app.ada, &emails).await;
    let text = "Some of those addresses already have an account here, so we didn't send them an invitation. We did \
                send invitations to everyone else!";
    assert_eq!(response.error(), (400, "INVITATION_FAILED", text));
    assert_eq!(
        response.body["errors"],
        json!([
            ["ADA@example.org", "Already has an account.", false],
            ["sam@example.org", "Account has been deactivated.", true],
        ])
    );
    assert_eq!(flags(&response), [true, false, false]);
    assert_eq!(receivers(&app).await, ["new@example.org"]);
}

/// Whether some were sent, the licences did not suffice, the day is over.
fn flags(response: &TestResponse) -> [bool; 3] {
    ["sent_invitations", "license_limit_reached", "daily_limit_reached"]
        .map(|key| response.body[key].as_bool().unwrap())
}

#[tokio::test]
async fn nobody_is_invited_when_all_have_accounts_or_one_address_is_none() {
    let app = TestApp::found().await;
    let response = invite(&app, &app.ada, &[("invitee_emails", "ada@example.org")]).await;
    assert_eq!(response.error(), (400, "INVITATION_FAILED", "We weren't able to invite anyone."));
    assert_eq!(response.body["errors"], json!([["ada@example.org", "Already has an account.", false]]));
    assert_eq!(flags(&response), [false; 3]);

    let response = invite(&app, &app.ada, &[("invitee_emails", "new@example.org,ada@example.org,nonsense")]).await;
    let text = "Some emails did not validate, so we didn't send any invitations.";
    assert_eq!(response.error(), (400, "INVITATION_FAILED", text));
    let errors =
        json!([["nonsense", "Invalid address.", false], ["ada@example.org", "Already has an account.", false]]);
    assert_eq!((flags(&response), &response.body["errors"]), ([false; 3], &errors));
    assert!(letters(&app).await.is_empty() && seen(&app, &app.ada).await.is_empty());
}

#[tokio::test]
async fn a_day_has_so_many_letters_and_no_more() {
    let app = TestApp::found().await;
    let emails: Vec<_> =
        (0..crate::test_app::INVITATIONS_PER_DAY).map(|number| format!("n{number}@example.org")).collect();
    let all_but_one = emails[1..].join(",");
    invite(&app, &app.ada, &[("invitee_emails", &all_but_one)]).await.success();
    letters(&app).await;
    let response = invite(&app, &app.ada, &[("invitee_emails", "a@example.org,b@example.org")]).await;
    assert_eq!(
        (response.error().0, response.error().1, flags(&response)),
        (400, "INVITATION_FAILED", [false, false, true])
    );
    assert_eq!((&response.body["errors"], letters(&app).await.len()), (&json!([]), 0));
    invite(&app, &app.ada, &[("invitee_emails", "a@example.org")]).await.success();
    let number = &seen(&app, &app.ada).await[0]["id"];
    let response = app.call(&app.ada, &format!("POST /invites/{number}/resend"), &[]).await;
    assert_eq!((response.error().1, flags(&response)), ("INVITATION_FAILED", [false, false, true]));
    app.wait_s(86_400);
    invite(&app, &app.ada, &[("invitee_emails", "c@example.org")]).await.success();
}

#[tokio::test]
async fn who_is_invited_already_is_invited_again() {
    let app = TestApp::found().await;
    invite(&app, &app.ada, &[]).await.success();
    invite(&app, &app.ada, &[]).await.success();
    let letters = letters(&app).await;
    assert_eq!(letters.len(), 2);
    joined(&app, &letters[0], "New Person").await;
    let (status, _, _) = app.browse(&format!("GET {}", path_in(&letters[1])), &[]).await;
    assert_eq!((status, seen(&app, &app.ada).await.len()), (410, 0));
}

/// The events told after a place of the log, with whom they are for.
async fn events_after(app: &TestApp, place: EventId) -> Vec<(Value, Vec<i64>)> {
    let records = app.store.records_after(place, 100).await.unwrap().unwrap();
    let realm = app.realm();
    let event = |record: &chat_core::event_log::event::LogRecord| {
        let event = record.event.as_ref()?;
        let EventBody::Plain { event: body, .. } = &event.body else { return None };
        let mut hearers: Vec<_> = realm
            .users()
            .filter(|user| event.audience.includes_user(record.id, user, &realm))
            .map(|user| user.id.0)
            .collect();
        hearers.sort_unstable();
        Some((body.clone(), hearers))
    };
    records.iter().filter_map(|record| event(record)).collect()
}

#[tokio::test]
async fn the_list_changes_for_administrators_and_the_inviter_alone() {
    let app = TestApp::found().await;
    let adam = app.person("adam", Role::Administrator).await;
    let mel = app.person("mel", Role::Member).await;
    app.person("mona", Role::Moderator).await;
    let changed = (json!({"type": "invites_changed"}), vec![app.ada.id, adam.id, mel.id]);
    let before = app.realm().log_position();
    invite(&app, &mel, &[]).await.success();
    assert_eq!(events_after(&app, before).await, std::slice::from_ref(&changed));
    let number = seen(&app, &mel).await[0]["id"].clone();
    for call in [format!("POST /invites/{number}/resend"), format!("DELETE /invites/{number}")] {
        let before = app.realm().log_position();
        app.call(&adam, &call, &[]).await.success();
        assert_eq!(events_after(&app, before).await, std::slice::from_ref(&changed), "{call}");
    }
    invite(&app, &mel, &[]).await.success();
    let (letter, before) = (letters(&app).await.pop().unwrap(), app.realm().log_position());
    joined(&app, &letter, "New Person").await;
    assert!(events_after(&app, before).await.contains(&changed));
}

#[tokio::test]
async fn unknown_parameters_are_named() {
    let app = TestApp::found().await;
    let response = invite(&app, &app.ada, &[("welcome_message_custom_text", "hi")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["welcome_message_custom_text"]));
}
