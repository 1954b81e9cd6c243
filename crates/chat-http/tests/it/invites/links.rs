//! The list of invitations, taking them back, sending them again, and links that anybody may use.

use chat_core::model::role::Role;
use serde_json::json;

use super::{assert_refused, invite, joined, letters, path_in, receivers, rule, seen};
use crate::town::{NOW_S, Town};

/// The path of the page of a link.
fn path_of(link: &str) -> String {
    link.strip_prefix("https://chat.example.org").unwrap().to_owned()
}

#[tokio::test]
async fn administrators_see_all_invitations_and_others_their_own() {
    let town = Town::found().await;
    let mel = town.person("mel", Role::Member).await;
    let mona = town.person("mona", Role::Moderator).await;
    let guest = town.person("gus", Role::Guest).await;
    invite(&town, &mel, &[("invite_as", "600"), ("notify_referrer_on_join", "false")]).await.success();
    let link = town.call(&town.ada, "POST /invites/multiuse", &[]).await.success()["invite_link"].clone();
    let own = json!({
        "id": 1, "invited_by_user_id": mel.id, "invited": NOW_S, "expiry_date": NOW_S + 864_000, "invited_as": 600,
        "email": "new@example.org", "is_multiuse": false, "notify_referrer_on_join": false,
    });
    let shared = json!({
        "id": 2, "invited_by_user_id": 9, "invited": NOW_S, "expiry_date": NOW_S + 864_000, "invited_as": 400,
        "link_url": link, "is_multiuse": true, "notify_referrer_on_join": true,
    });
    assert_eq!(seen(&town, &town.ada).await, [own.clone(), shared]);
    assert_eq!(seen(&town, &mel).await, [own]);
    assert!(seen(&town, &mona).await.is_empty());
    town.call(&guest, "GET /invites", &[]).await.refused("Not allowed for guest users");
}

#[tokio::test]
async fn the_link_of_an_owner_invitation_is_shown_to_owners_alone() {
    let town = Town::found().await;
    let adam = town.person("adam", Role::Administrator).await;
    let link = async |role| {
        let told = town.call(&town.ada, "POST /invites/multiuse", &[("invite_as", role)]).await.success();
        told["invite_link"].as_str().unwrap().to_owned()
    };
    let (owner, administrator) = (link("100").await, link("200").await);
    let shown = |listed: &[serde_json::Value]| -> Vec<_> {
        listed.iter().map(|object| object["link_url"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(shown(&seen(&town, &town.ada).await), [Some(owner.clone()), Some(administrator.clone())]);
    let listed = seen(&town, &adam).await;
    assert_eq!(shown(&listed), [None, Some(administrator)]);
    assert!(!serde_json::to_string(&listed).unwrap().contains(&owner), "{listed:?}");
    assert_eq!((&listed[0]["invited_as"], &listed[0]["is_multiuse"]), (&json!(100), &json!(true)));
    town.call(&adam, "DELETE /invites/multiuse/1", &[]).await.refused("Must be an organization owner");
    // By mail it is the same: no answer names the secret, and only an owner has another letter sent.
    invite(&town, &town.ada, &[("invite_as", "100")]).await.success();
    town.call(&adam, "POST /invites/3/resend", &[]).await.refused("Must be an organization owner");
}

#[tokio::test]
async fn an_invitation_is_taken_back_once_by_who_may() {
    let town = Town::found().await;
    let mel = town.person("mel", Role::Member).await;
    let mona = town.person("mona", Role::Moderator).await;
    invite(&town, &mel, &[]).await.success();
    let letter = letters(&town).await.pop().unwrap();
    town.call(&mona, "DELETE /invites/1", &[]).await.refused("Must be an organization administrator");
    assert_eq!(town.browse(&format!("GET {}", path_in(&letter)), &[]).await.0, 200);
    town.call(&mel, "DELETE /invites/1", &[]).await.success();
    assert_eq!(town.browse(&format!("GET {}", path_in(&letter)), &[]).await.0, 410);
    town.call(&mel, "DELETE /invites/1", &[]).await.refused("No such invitation");
    town.call(&mel, "DELETE /invites/77", &[]).await.refused("No such invitation");
    assert_eq!(town.call(&mel, "DELETE /invites/x", &[]).await.error().0, 404);
    invite(&town, &town.ada, &[("invite_as", "100")]).await.success();
    let adam = town.person("adam", Role::Administrator).await;
    town.call(&adam, "DELETE /invites/2", &[]).await.refused("Must be an organization owner");
    assert_eq!(seen(&town, &town.ada).await.len(), 1);
}

#[tokio::test]
async fn an_invitation_sent_again_opens_by_its_new_link_alone() {
    let town = Town::found().await;
    let mona = town.person("mona", Role::Moderator).await;
    invite(&town, &town.ada, &[]).await.success();
    let first = letters(&town).await.pop().unwrap();
    town.wait_s(3_600);
    town.call(&mona, "POST /invites/1/resend", &[]).await.refused("Must be an organization administrator");
    town.call(&town.ada, "POST /invites/1/resend", &[]).await.success();
    let second = letters(&town).await.pop().unwrap();
    assert_eq!((&first.to, &first.subject), (&second.to, &second.subject));
    let listed = seen(&town, &town.ada).await.remove(0);
    assert_eq!((&listed["invited"], &listed["expiry_date"]), (&json!(NOW_S + 3_600), &json!(NOW_S + 864_000)));
    assert_eq!(town.browse(&format!("GET {}", path_in(&first)), &[]).await.0, 404);
    joined(&town, &second, "New Person").await;
    letters(&town).await;
    town.call(&town.ada, "POST /invites/1/resend", &[]).await.refused("No such invitation");
    assert!(letters(&town).await.is_empty());
}

#[tokio::test]
async fn a_link_lets_many_in_each_by_their_own_address() {
    let town = Town::found().await;
    let general = town.realm().channel_by_name("general").unwrap().id;
    let channels = format!("[{}]", general.0);
    let parameters = [("invite_as", "600"), ("stream_ids", channels.as_str())];
    let told = town.call(&town.ada, "POST /invites/multiuse", &parameters).await.success();
    let path = path_of(told["invite_link"].as_str().unwrap());
    let (status, _, page) = town.browse(&format!("GET {path}"), &[]).await;
    assert!(status == 200 && page.contains("name=\"email\"") && !page.contains("name=\"password\""), "{page}");
    for email in ["one@example.org", "two@example.org"] {
        let (status, _, page) = town.browse(&format!("POST {path}"), &[("email", email)]).await;
        assert!(status == 200 && page.contains("Look into your mail"), "{page}");
        let letter = letters(&town).await.pop().unwrap();
        assert_eq!(letter.to, email);
        // The confirmation is no invitation anybody gave.
        assert_eq!(seen(&town, &town.ada).await.len(), 1);
        let id = joined(&town, &letter, "New Person").await;
        let realm = town.realm();
        assert_eq!(realm.user(chat_core::id::UserId(id)).unwrap().role, Role::Guest);
        assert!(realm.subscription(general, chat_core::id::UserId(id)).is_some());
        letters(&town).await;
    }
}

#[tokio::test]
async fn a_link_makes_no_account_without_the_mail_of_its_address() {
    let town = Town::found().await;
    let told = town.call(&town.ada, "POST /invites/multiuse", &[]).await.success();
    let path = path_of(told["invite_link"].as_str().unwrap());
    let form = [("email", "boss@example.org"), ("full_name", "Boss"), ("password", "correct horse")];
    town.browse(&format!("POST {path}"), &form).await;
    assert!(town.realm().user_by_email("boss@example.org").is_none());
    letters(&town).await;
    for (email, text) in [("ada@example.org", "already in use"), ("nonsense", "Bad name or username"), ("", "Bad name")]
    {
        let (status, _, page) = town.browse(&format!("POST {path}"), &[("email", email)]).await;
        assert!(status == 400 && page.contains(text), "{email} {status} {page}");
        assert!(letters(&town).await.is_empty());
    }
}

#[tokio::test]
async fn a_link_is_made_by_administrators_to_roles_and_channels_they_could_give() {
    let town = Town::found().await;
    let adam = town.person("adam", Role::Administrator).await;
    let mona = town.person("mona", Role::Moderator).await;
    let guest = town.person("gus", Role::Guest).await;
    let make = async |who, parameters: &[(&str, &str)]| town.call(who, "POST /invites/multiuse", parameters).await;
    assert_refused(&town, &make(&mona, &[]).await, "Insufficient permission").await;
    assert_refused(&town, &make(&guest, &[]).await, "Not allowed for guest users").await;
    assert_refused(&town, &make(&adam, &[("invite_as", "100")]).await, "Must be an organization owner").await;
    let told = make(&adam, &[("stream_ids", "[77]")]).await;
    assert_refused(&town, &told, "Invalid channel ID 77. No invites were sent.").await;
    rule(&town, |rules| rules.subscribe_others = chat_core::model::role::PermissionPolicy::Owners).await;
    let general = format!("[{}]", town.realm().channel_by_name("general").unwrap().id.0);
    let told = make(&adam, &[("stream_ids", &general)]).await;
    assert_refused(&town, &told, "You do not have permission to subscribe other users to channels.").await;
    make(&adam, &[("invite_as", "200"), ("invite_expires_in_minutes", "null")]).await.success();
    assert_eq!(receivers(&town).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_link_taken_back_lets_nobody_in_who_is_on_their_way_neither() {
    let town = Town::found().await;
    let mona = town.person("mona", Role::Moderator).await;
    let told = town.call(&town.ada, "POST /invites/multiuse", &[]).await.success();
    let path = path_of(told["invite_link"].as_str().unwrap());
    town.browse(&format!("POST {path}"), &[("email", "new@example.org")]).await;
    let letter = letters(&town).await.pop().unwrap();
    town.call(&town.ada, "DELETE /invites/1", &[]).await.refused("No such invitation");
    town.call(&mona, "DELETE /invites/multiuse/1", &[]).await.refused("Must be an organization administrator");
    town.call(&town.ada, "DELETE /invites/multiuse/77", &[]).await.refused("No such invitation");
    town.call(&town.ada, "DELETE /invites/multiuse/1", &[]).await.success();
    let again = town.call(&town.ada, "DELETE /invites/multiuse/1", &[]).await;
    again.refused("Invitation has already been revoked");
    for path in [&path, &path_in(&letter)] {
        let (status, _, page) = town.browse(&format!("GET {path}"), &[]).await;
        assert!(status == 410 && page.contains("taken back"), "{page}");
    }
    assert!(seen(&town, &town.ada).await.is_empty());
}
