//! `POST` and `DELETE /users/me/muted_users/{muted_user_id}`, sentence by sentence.

use chat_core::model::role::Role;
use serde_json::json;

use super::{bot, close, heard, listen, mark, state};
use crate::test_app::{NOW_S, Person, TestApp, TestResponse};

const TYPES: &str = r#"["muted_users"]"#;

async fn mute(app: &TestApp, who: &Person, id: i64) -> TestResponse {
    app.call(who, &format!("POST /users/me/muted_users/{id}"), &[]).await
}

async fn unmute(app: &TestApp, who: &Person, id: i64) -> TestResponse {
    app.call(who, &format!("DELETE /users/me/muted_users/{id}"), &[]).await
}

#[tokio::test]
async fn a_muted_user_is_unmuted() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    let (own, other) = (listen(&app, &sam, TYPES, &[]).await, listen(&app, &app.ada, TYPES, &[]).await);
    mute(&app, &sam, 9).await.success();
    assert_eq!(state(&app, &sam, "muted_users").await, json!([{"id": 9, "timestamp": NOW_S}]));
    unmute(&app, &sam, 9).await.success();
    assert_eq!(state(&app, &sam, "muted_users").await, json!([]));
    let muted = json!({"type": "muted_users", "muted_users": [{"id": 9, "timestamp": NOW_S}]});
    assert_eq!(heard(&app, &own).await, [muted, json!({"type": "muted_users", "muted_users": []})]);
    assert_eq!(heard(&app, &other).await.len(), 0);
}

#[tokio::test]
async fn what_a_muted_user_writes_is_read_by_who_muted_them_and_by_nobody_else() {
    let app = TestApp::found().await;
    let (sam, eve) = (app.person("sam", Role::Member).await, app.person("eve", Role::Member).await);
    mute(&app, &sam, app.ada.id).await.success();
    let queues = [listen(&app, &sam, r#"["message"]"#, &[]).await, listen(&app, &eve, r#"["message"]"#, &[]).await];
    let to = json!([sam.id, eve.id]).to_string();
    let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "hello")];
    let say = async || app.call(&app.ada, "POST /messages", &parameters).await.success()["id"].clone();
    let flags = async |who: &Person, id: &serde_json::Value| {
        app.call(who, &format!("GET /messages/{id}"), &[]).await.success()["message"]["flags"].clone()
    };
    let muted = say().await;
    assert_eq!((flags(&sam, &muted).await, flags(&eve, &muted).await), (json!(["read"]), json!([])));
    for (queue, flags) in queues.iter().zip([json!(["read"]), json!([])]) {
        assert_eq!(heard(&app, queue).await[0]["flags"], flags);
    }
    let unread = state(&app, &sam, "unread_msgs").await;
    assert_eq!((&unread["count"], &unread["huddles"]), (&json!(0), &json!([])));
    unmute(&app, &sam, app.ada.id).await.success();
    let heard = say().await;
    assert_eq!(flags(&sam, &heard).await, json!([]));
}

#[tokio::test]
async fn of_a_user_who_is_not_muted_it_says_so_and_nothing_changes() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let before = mark(&app);
    unmute(&app, &sam, 9).await.refused("User is not muted");
    unmute(&app, &sam, sam.id).await.refused("User is not muted");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn a_user_who_does_not_exist_is_neither_muted_nor_unmuted() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for id in [999, i64::MAX] {
        mute(&app, &app.ada, id).await.refused("No such user");
        unmute(&app, &app.ada, id).await.refused("No such user");
    }
    for path in ["/users/me/muted_users/abc", "/users/me/muted_users/-1"] {
        let response = app.call(&app.ada, &format!("DELETE {path}"), &[]).await;
        assert_eq!(response.error(), (404, "BAD_REQUEST", "Not Found"));
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn bots_and_closed_accounts_are_muted_and_unmuted_too() {
    let app = TestApp::found().await;
    let (robot, gone) = (bot(&app, "robot").await, app.person("gone", Role::Member).await);
    close(&app, &gone).await;
    for muted in [&robot, &gone] {
        mute(&app, &app.ada, muted.id).await.success();
        unmute(&app, &app.ada, muted.id).await.success();
    }
    mute(&app, &robot, 9).await.success();
}

#[tokio::test]
async fn nobody_mutes_themselves_or_anybody_twice() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    mute(&app, &sam, sam.id).await.refused("Cannot mute self");
    mute(&app, &sam, 9).await.success();
    let before = mark(&app);
    mute(&app, &sam, 9).await.refused("User already muted");
    assert_eq!(mark(&app), before);
    let response = app.call_as_nobody("DELETE /users/me/muted_users/9", &[]).await;
    assert_eq!((response.error().0, response.error().1), (401, "UNAUTHORIZED"));
}
