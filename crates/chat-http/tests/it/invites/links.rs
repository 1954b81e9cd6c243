//! The list of invitations, taking them back, sending them again, and links that anybody may use.

use chat_core::model::role::Role;
use serde_json::json;

use super::{assert_refused, invite, joined, letters, path_in, receivers, rule, seen};
use crate::test_app::{NOW_S, TestApp};

/// The path of the page of a link.
fn path_of(link: &str) -> String {
    link.strip_prefix("https://chat.example.org").unwrap().to_owned()
}

#[tokio::test]
async fn administrators_see_all_invitations_and_others_their_own() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let mona = app.person("mona", Role::Moderator).await;
    let guest = app.person("gus", Role::Guest).await;
    invite(&app, &mel, &[("invite_as", "600"), ("notify_referrer_on_join", "false")]).await.success();
    let link = app.call(&app.ada, "POST /invites/multiuse", &[]).await.success()["invite_link"].clone();
    let own = json!({
        "id": 1, "invited_by_user_id": mel.id, "invited": NOW_S, "expiry_date": NOW_S + 864_000, "invited_as": 600,
        "email": "new@example.org", "is_multiuse": false, "notify_referrer_on_join": false,
    });
    let shared = json!({
        "id": 2, "invited_by_user_id": 9, "invited": NOW_S, "expiry_date": NOW_S + 864_000, "invited_as": 400,
        "link_url": link, "is_multiuse": true, "notify_referrer_on_join": true,
    });
    assert_eq!(seen(&app, &app.ada).await, [own.clone(), shared]);
    assert_eq!(seen(&app, &mel).await, [own]);
    assert!(seen(&app, &mona).await.is_empty());
    app.call(&guest, "GET /invites", &[]).await.refused("Not allowed for guest users");
}

#[tokio::test]
async fn the_link_of_an_owner_invitation_is_shown_to_owners_alone() {
    let app = TestApp::found().await;
    let adam = app.person("adam", Role::Administrator).await;
    let link = async |role| {
        let response = app.call(&app.ada, "POST /invites/multiuse", &[("invite_as", role)]).await.success();
        response["invite_link"].as_str().unwrap().to_owned()
    };
    let (owner, administrator) = (link("100").await, link("200").await);
    let shown = |listed: &[serde_json::Value]| -> Vec<_> {
        listed.iter().map(|object| object["link_url"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(shown(&seen(&app, &app.ada).await), [Some(owner.clone()), Some(administrator.clone())]);
    let listed = seen(&app, &adam).await;
    assert_eq!(shown(&listed), [None, Some(administrator)]);
    assert!(!serde_json::to_string(&listed).unwrap().contains(&owner), "{listed:?}");
    assert_eq!((&listed[0]["invited_as"], &listed[0]["is_multiuse"]), (&json!(100), &json!(true)));
    app.call(&adam, "DELETE /invites/multiuse/1", &[]).await.refused("Must be an organization owner");
    // By mail it is the same: no answer names the secret, and only an owner has another letter sent.
    invite(&app, &app.ada, &[("invite_as", "100")]).await.success();
    app.call(&adam, "POST /invites/3/resend", &[]).await.refused("Must be an organization owner");
}

#[tokio::test]
async fn an_invitation_is_taken_back_once_by_who_may() {
    let app = TestApp::found().await;
    let mel = app.person("mel", Role::Member).await;
    let mona = app.person("mona", Role::Moderator).await;
    invite(&app, &mel, &[]).await.success();
    let letter = letters(&app).await.pop().unwrap();
    app.call(&mona, "DELETE /invites/1", &[]).await.refused("Must be an organization administrator");
    assert_eq!(app.browse(&format!("GET {}", path_in(&letter)), &[]).await.0, 200);
    app.call(&mel, "DELETE /invites/1", &[]).await.success();
    assert_eq!(app.browse(&format!("GET {}", path_in(&letter)), &[]).await.0, 410);
    app.call(&mel, "DELETE /invites/1", &[]).await.refused("No such invitation");
    app.call(&mel, "DELETE /invites/77", &[]).await.refused("No such invitation");
    assert_eq!(app.call(&mel, "DELETE /invites/x", &[]).await.error().0, 404);
    invite(&app, &app.ada, &[("invite_as", "100")]).await.success();
    let adam = app.person("adam", Role::Administrator).await;
    app.call(&adam, "DELETE /invites/2", &[]).await.refused("Must be an organization owner");
    assert_eq!(seen(&app, &app.ada).await.len(), 1);
}

#[tokio::test]
async fn an_invitation_sent_again_opens_by_its_new_link_alone() {
    let app = TestApp::found().await;
    let mona = app.person("mona", Role::Moderator).await;
    invite(&app, &app.ada, &[]).await.success();
    let first = letters(&app).await.pop().unwrap();
    app.wait_s(3_600);
    app.call(&mona, "POST /invites/1/resend", &[]).await.refused("Must be an organization administrator");
    app.call(&app.ada, "POST /invites/1/resend", &[]).await.success();
    let second = letters(&app).await.pop().unwrap();
    assert_eq!((&first.to, &first.subject), (&second.to, &second.subject));
    let listed = seen(&app, &app.ada).await.remove(0);
    assert_eq!((&listed["invited"], &listed["expiry_date"]), (&json!(NOW_S + 3_600), &json!(NOW_S + 864_000)));
    assert_eq!(app.browse(&format!("GET {}", path_in(&first)), &[]).await.0, 404);
    joined(&app, &second, "New Person").await;
    letters(&app).await;
    app.call(&app.ada, "POST /invites/1/resend", &[]).await.refused("No such invitation");
    assert!(letters(&app).await.is_empty());
}

#[tokio::test]
async fn a_link_lets_many_in_each_by_their_own_address() {
    let app = TestApp::found().await;
    let general = app.realm().channel_by_name("general").unwrap().id;
    let channels = format!("[{}]", general.0);
    let parameters = [("invite_as", "600"), ("stream_ids", channels.as_str())];
    let response = app.call(&app.ada, "POST /invites/multiuse", &parameters).await.success();
    let path = path_of(response["invite_link"].as_str().unwrap());
    let (status, _, page) = app.browse(&format!("GET {path}"), &[]).await;
    assert!(status == 200 && page.contains("name=\"email\"") && !page.contains("name=\"password\""), "{page}");
    for email in ["one@example.org", "two@example.org"] {
        let (status, _, page) = app.browse(&format!("POST {path}"), &[("email", email)]).await;
        assert!(status == 200 && page.contains("Look into your mail"), "{page}");
        let letter = letters(&app).await.pop().unwrap();
        assert_eq!(letter.to, email);
        // The confirmation is no invitation anybody gave.
        assert_eq!(seen(&app, &app.ada).await.len(), 1);
        let id = joined(&app, &letter, "New Person").await;
        let realm = app.realm();
        assert_eq!(realm.user(chat_core::id::UserId(id)).unwrap().role, Role::Guest);
        assert!(realm.subscription(general, chat_core::id::UserId(id)).is_some());
        letters(&app).await;
    }
}

#[tokio::test]
async fn a_link_makes_no_account_without_the_mail_of_its_address() {
    let app = TestApp::found().await;
    let response = app.call(&app.ada, "POST /invites/multiuse", &[]).await.success();
    let path = path_of(response["invite_link"].as_str().unwrap());
    let form = [("email", "boss@example.org"), ("full_name", "Boss"), ("password", "correct horse")];
    app.browse(&format!("POST {path}"), &form).await;
    assert!(app.realm().user_by_email("boss@example.org").is_none());
    letters(&app).await;
    for (email, text) in [("ada@example.org", "already in use"), ("nonsense", "Bad name or username"), ("", "Bad name")]
    {
        let (status, _, page) = app.browse(&format!("POST {path}"), &[("email", email)]).await;
        assert!(status == 400 && page.contains(text), "{email} {status} {page}");
        assert!(letters(&app).await.is_empty());
    }
}

#[tokio::test]
async fn a_link_is_made_by_administrators_to_roles_and_channels_they_could_give() {
    let app = TestApp::found().await;
    let adam = app.person("adam", Role::Administrator).await;
    let mona = app.person("mona", Role::Moderator).await;
    let guest = app.person("gus", Role::Guest).await;
    let make = async |who, parameters: &[(&str, &str)]| app.call(who, "POST /invites/multiuse", parameters).await;
    assert_refused(&app, &make(&mona, &[]).await, "Insufficient permission").await;
    assert_refused(&app, &make(&guest, &[]).await, "Not allowed for guest users").await;
    assert_refused(&app, &make(&adam, &[("invite_as", "100")]).await, "Must be an organization owner").await;
    let response = make(&adam, &[("stream_ids", "[77]")]).await;
    assert_refused(&app, &response, "Invalid channel ID 77. No invites were sent.").await;
    rule(&app, |rules| rules.subscribe_others = chat_core::model::group::SystemGroup::Owners.into()).await;
    let general = format!("[{}]", app.realm().channel_by_name("general").unwrap().id.0);
    let response = make(&adam, &[("stream_ids", &general)]).await;
    assert_refused(&app, &response, "You do not have permission to subscribe other users to channels.").await;
    make(&adam, &[("invite_as", "200"), ("invite_expires_in_minutes", "null")]).await.success();
    assert_eq!(receivers(&app).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_link_taken_back_lets_nobody_in_who_is_on_their_way_neither() {
    let app = TestApp::found().await;
    let mona = app.person("mona", Role::Moderator).await;
    let response = app.call(&app.ada, "POST /invites/multiuse", &[]).await.success();
    let path = path_of(response["invite_link"].as_str().unwrap());
    app.browse(&format!("POST {path}"), &[("email", "new@example.org")]).await;
    let letter = letters(&app).await.pop().unwrap();
    app.call(&app.ada, "DELETE /invites/1", &[]).await.refused("No such invitation");
    app.call(&mona, "DELETE /invites/multiuse/1", &[]).await.refused("Must be an organization administrator");
    app.call(&app.ada, "DELETE /invites/multiuse/77", &[]).await.refused("No such invitation");
    app.call(&app.ada, "DELETE /invites/multiuse/1", &[]).await.success();
    let again = app.call(&app.ada, "DELETE /invites/multiuse/1", &[]).await;
    again.refused("Invitation has already been revoked");
    for path in [&path, &path_in(&letter)] {
        let (status, _, page) = app.browse(&format!("GET {path}"), &[]).await;
        assert!(status == 410 && page.contains("taken back"), "{page}");
    }
    assert!(seen(&app, &app.ada).await.is_empty());
}
