//! `POST` and `DELETE /users/me/muted_users/{muted_user_id}`, sentence by sentence.

use chat_core::model::role::Role;
use serde_json::json;

use super::{bot, close, heard, listen, mark, state};
use crate::town::{NOW_S, Person, Told, Town};

const TYPES: &str = r#"["muted_users"]"#;

async fn mute(town: &Town, who: &Person, id: i64) -> Told {
    town.call(who, &format!("POST /users/me/muted_users/{id}"), &[]).await
}

async fn unmute(town: &Town, who: &Person, id: i64) -> Told {
    town.call(who, &format!("DELETE /users/me/muted_users/{id}"), &[]).await
}

#[tokio::test]
async fn a_muted_user_is_unmuted() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Guest).await;
    let (own, other) = (listen(&town, &sam, TYPES, &[]).await, listen(&town, &town.ada, TYPES, &[]).await);
    mute(&town, &sam, 9).await.success();
    assert_eq!(state(&town, &sam, "muted_users").await, json!([{"id": 9, "timestamp": NOW_S}]));
    unmute(&town, &sam, 9).await.success();
    assert_eq!(state(&town, &sam, "muted_users").await, json!([]));
    let muted = json!({"type": "muted_users", "muted_users": [{"id": 9, "timestamp": NOW_S}]});
    assert_eq!(heard(&town, &own).await, [muted, json!({"type": "muted_users", "muted_users": []})]);
    assert_eq!(heard(&town, &other).await.len(), 0);
}

#[tokio::test]
async fn what_a_muted_user_writes_is_read_by_who_muted_them_and_by_nobody_else() {
    let town = Town::found().await;
    let (sam, eve) = (town.person("sam", Role::Member).await, town.person("eve", Role::Member).await);
    mute(&town, &sam, town.ada.id).await.success();
    let queues = [listen(&town, &sam, r#"["message"]"#, &[]).await, listen(&town, &eve, r#"["message"]"#, &[]).await];
    let to = json!([sam.id, eve.id]).to_string();
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "hello")];
    let say = async || town.call(&town.ada, "POST /messages", &parameters).await.success()["id"].clone();
    let flags = async |who: &Person, id: &serde_json::Value| {
        town.call(who, &format!("GET /messages/{id}"), &[]).await.success()["message"]["flags"].clone()
    };
    let muted = say().await;
    assert_eq!((flags(&sam, &muted).await, flags(&eve, &muted).await), (json!(["read"]), json!([])));
    for (queue, flags) in queues.iter().zip([json!(["read"]), json!([])]) {
        assert_eq!(heard(&town, queue).await[0]["flags"], flags);
    }
    let unread = state(&town, &sam, "unread_msgs").await;
    assert_eq!((&unread["count"], &unread["huddles"]), (&json!(0), &json!([])));
    unmute(&town, &sam, town.ada.id).await.success();
    let heard = say().await;
    assert_eq!(flags(&sam, &heard).await, json!([]));
}

#[tokio::test]
async fn of_a_user_who_is_not_muted_it_says_so_and_nothing_changes() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    let before = mark(&town);
    unmute(&town, &sam, 9).await.refused("User is not muted");
    unmute(&town, &sam, sam.id).await.refused("User is not muted");
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn a_user_who_does_not_exist_is_neither_muted_nor_unmuted() {
    let town = Town::found().await;
    let before = mark(&town);
    for id in [999, i64::MAX] {
        mute(&town, &town.ada, id).await.refused("No such user");
        unmute(&town, &town.ada, id).await.refused("No such user");
    }
    for path in ["/users/me/muted_users/abc", "/users/me/muted_users/-1"] {
        let told = town.call(&town.ada, &format!("DELETE {path}"), &[]).await;
        assert_eq!(told.error(), (404, "BAD_REQUEST", "Not Found"));
    }
    assert_eq!(mark(&town), before);
}

#[tokio::test]
async fn bots_and_closed_accounts_are_muted_and_unmuted_too() {
    let town = Town::found().await;
    let (robot, gone) = (bot(&town, "robot").await, town.person("gone", Role::Member).await);
    close(&town, &gone).await;
    for muted in [&robot, &gone] {
        mute(&town, &town.ada, muted.id).await.success();
        unmute(&town, &town.ada, muted.id).await.success();
    }
    mute(&town, &robot, 9).await.success();
}

#[tokio::test]
async fn nobody_mutes_themselves_or_anybody_twice() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Member).await;
    mute(&town, &sam, sam.id).await.refused("Cannot mute self");
    mute(&town, &sam, 9).await.success();
    let before = mark(&town);
    mute(&town, &sam, 9).await.refused("User already muted");
    assert_eq!(mark(&town), before);
    let told = town.call_as_nobody("DELETE /users/me/muted_users/9", &[]).await;
    assert_eq!((told.error().0, told.error().1), (401, "UNAUTHORIZED"));
}
