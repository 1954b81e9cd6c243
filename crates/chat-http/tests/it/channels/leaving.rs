//! Leaving channels, and being taken out of them.

use serde_json::{Value, json};

use super::{enter, found, heard, kinds, listen, mark, people};
use crate::test_app::TestApp;

#[tokio::test]
async fn who_leaves_hears_it_and_so_do_those_who_see_the_subscribers() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    let id = found(&app, &sam, "club", (&[&sam, &bea], &[])).await;
    let (own, other) = (listen(&app, &sam, &[]).await, listen(&app, &bea, &[]).await);
    let parameters = [("subscriptions", r#"["CLUB", "general"]"#)];
    let response = app.call(&sam, "DELETE /users/me/subscriptions", &parameters).await.success();
    assert_eq!((&response["removed"], &response["not_removed"]), (&json!(["club"]), &json!(["general"])));
    let gone = json!({"type": "subscription", "op": "remove", "subscriptions": [{"stream_id": id, "name": "club"}]});
    assert_eq!(heard(&app, &own).await, [gone]);
    let peers = json!({"type": "subscription", "op": "peer_remove", "stream_ids": [id], "user_ids": [sam.id]});
    assert_eq!(heard(&app, &other).await, [peers]);
}

#[tokio::test]
async fn who_leaves_a_private_channel_no_longer_sees_it() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    let id = found(&app, &sam, "secret", (&[&sam, &bea], &[("invite_only", "true")])).await;
    let (own, other) = (listen(&app, &sam, &[]).await, listen(&app, &bea, &[]).await);
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["secret"]"#)]).await.success();
    let events = heard(&app, &own).await;
    assert_eq!(kinds(&events), ["subscription remove", "stream delete"]);
    let shown = &events[1]["streams"][0];
    assert_eq!((&shown["stream_id"], shown.as_object().unwrap().len()), (&json!(id), 19));
    assert_eq!(kinds(&heard(&app, &other).await), ["subscription peer_remove"]);
    app.call(&sam, &format!("GET /streams/{id}"), &[]).await.refused("Invalid channel ID");
}

#[tokio::test]
async fn a_private_channel_closes_behind_the_last_who_leaves() {
    let app = TestApp::found().await;
    let [sam, ..] = people(&app).await;
    let id = found(&app, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    let (own, ada) = (listen(&app, &sam, &[]).await, listen(&app, &app.ada, &[]).await);
    app.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["secret"]"#)]).await.success();
    assert_eq!(kinds(&heard(&app, &own).await), ["subscription remove", "stream delete"]);
    assert_eq!(kinds(&heard(&app, &ada).await), ["subscription peer_remove", "stream delete"]);
    app.call(&app.ada, &format!("GET /streams/{id}"), &[]).await.refused("Invalid channel ID");
    // The name is free again.
    enter(&app, &app.ada, "secret", &[]).await.success();
}

#[tokio::test]
async fn others_are_taken_out_by_administrators_and_by_the_group_that_may() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    found(&app, &sam, "club", (&[&sam, &bea], &[])).await;
    let parameters = [("subscriptions", r#"["club"]"#), ("principals", r#"["bea@example.org"]"#)];
    let before = mark(&app);
    app.call(&sam, "DELETE /users/me/subscriptions", &parameters).await.refused("Insufficient permission");
    assert_eq!(mark(&app), before);
    let queue = listen(&app, &bea, &[]).await;
    let response = app.call(&app.ada, "DELETE /users/me/subscriptions", &parameters).await.success();
    assert_eq!(response["removed"], json!(["club"]));
    assert_eq!(kinds(&heard(&app, &queue).await), ["subscription remove"]);
    // With `role:members`, members may.
    found(&app, &sam, "guild", (&[&sam, &bea], &[("can_remove_subscribers_group", "6")])).await;
    let parameters = [("subscriptions", r#"["guild"]"#), ("principals", &json!([bea.id]).to_string())];
    let response = app.call(&sam, "DELETE /users/me/subscriptions", &parameters).await.success();
    assert_eq!(response["removed"], json!(["guild"]));
}

#[tokio::test]
async fn channels_that_are_not_there_or_not_seen_are_refused_alike() {
    let app = TestApp::found().await;
    let [sam, bea, _] = people(&app).await;
    found(&app, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    enter(&app, &bea, "general", &[]).await.success();
    let before = mark(&app);
    let queue = listen(&app, &bea, &[]).await;
    let parameters = [("subscriptions", r#"["general", "secret", "nowhere"]"#)];
    let response = app.call(&bea, "DELETE /users/me/subscriptions", &parameters).await;
    response.refused("Channel(s) (secret, nowhere) do not exist");
    let parameters = [("subscriptions", r#"["general"]"#), ("principals", "[999]")];
    app.call(&app.ada, "DELETE /users/me/subscriptions", &parameters).await.refused("No such user");
    app.call(&bea, "DELETE /users/me/subscriptions", &[("subscriptions", "[1]")])
        .await
        .refused("subscriptions[0] is not a string");
    assert_eq!(mark(&app), before);
    assert_eq!(heard(&app, &queue).await, Vec::<Value>::new());
}
