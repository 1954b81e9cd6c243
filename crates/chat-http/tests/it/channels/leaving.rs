//! Leaving channels, and being taken out of them.

use serde_json::{Value, json};

use super::{enter, found, heard, kinds, listen, mark, people};
use crate::town::Town;

#[tokio::test]
async fn who_leaves_hears_it_and_so_do_those_who_see_the_subscribers() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    let id = found(&town, &sam, "club", (&[&sam, &bea], &[])).await;
    let (own, other) = (listen(&town, &sam, &[]).await, listen(&town, &bea, &[]).await);
    let wish = [("subscriptions", r#"["CLUB", "general"]"#)];
    let told = town.call(&sam, "DELETE /users/me/subscriptions", &wish).await.success();
    assert_eq!((&told["removed"], &told["not_removed"]), (&json!(["club"]), &json!(["general"])));
    let gone = json!({"type": "subscription", "op": "remove", "subscriptions": [{"stream_id": id, "name": "club"}]});
    assert_eq!(heard(&town, &own).await, [gone]);
    let peers = json!({"type": "subscription", "op": "peer_remove", "stream_ids": [id], "user_ids": [sam.id]});
    assert_eq!(heard(&town, &other).await, [peers]);
}

#[tokio::test]
async fn who_leaves_a_private_channel_no_longer_sees_it() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    let id = found(&town, &sam, "secret", (&[&sam, &bea], &[("invite_only", "true")])).await;
    let (own, other) = (listen(&town, &sam, &[]).await, listen(&town, &bea, &[]).await);
    town.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["secret"]"#)]).await.success();
    let events = heard(&town, &own).await;
    assert_eq!(kinds(&events), ["subscription remove", "stream delete"]);
    let shown = &events[1]["streams"][0];
    assert_eq!((&shown["stream_id"], shown.as_object().unwrap().len()), (&json!(id), 15));
    assert_eq!(kinds(&heard(&town, &other).await), ["subscription peer_remove"]);
    town.call(&sam, &format!("GET /streams/{id}"), &[]).await.refused("Invalid channel ID");
}

#[tokio::test]
async fn a_private_channel_closes_behind_the_last_who_leaves() {
    let town = Town::found().await;
    let [sam, ..] = people(&town).await;
    let id = found(&town, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    let (own, ada) = (listen(&town, &sam, &[]).await, listen(&town, &town.ada, &[]).await);
    town.call(&sam, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["secret"]"#)]).await.success();
    assert_eq!(kinds(&heard(&town, &own).await), ["subscription remove", "stream delete"]);
    assert_eq!(kinds(&heard(&town, &ada).await), ["subscription peer_remove", "stream delete"]);
    town.call(&town.ada, &format!("GET /streams/{id}"), &[]).await.refused("Invalid channel ID");
    // The name is free again.
    enter(&town, &town.ada, "secret", &[]).await.success();
}

#[tokio::test]
async fn others_are_taken_out_by_administrators_and_by_the_group_that_may() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    found(&town, &sam, "club", (&[&sam, &bea], &[])).await;
    let wish = [("subscriptions", r#"["club"]"#), ("principals", r#"["bea@example.org"]"#)];
    let before = mark(&town);
    town.call(&sam, "DELETE /users/me/subscriptions", &wish).await.refused("Insufficient permission");
    assert_eq!(mark(&town), before);
    let ear = listen(&town, &bea, &[]).await;
    let told = town.call(&town.ada, "DELETE /users/me/subscriptions", &wish).await.success();
    assert_eq!(told["removed"], json!(["club"]));
    assert_eq!(kinds(&heard(&town, &ear).await), ["subscription remove"]);
    // With `role:members`, members may.
    found(&town, &sam, "guild", (&[&sam, &bea], &[("can_remove_subscribers_group", "6")])).await;
    let wish = [("subscriptions", r#"["guild"]"#), ("principals", &json!([bea.id]).to_string())];
    let told = town.call(&sam, "DELETE /users/me/subscriptions", &wish).await.success();
    assert_eq!(told["removed"], json!(["guild"]));
}

#[tokio::test]
async fn channels_that_are_not_there_or_not_seen_are_refused_alike() {
    let town = Town::found().await;
    let [sam, bea, _] = people(&town).await;
    found(&town, &sam, "secret", (&[&sam], &[("invite_only", "true")])).await;
    enter(&town, &bea, "general", &[]).await.success();
    let before = mark(&town);
    let ear = listen(&town, &bea, &[]).await;
    let wish = [("subscriptions", r#"["general", "secret", "nowhere"]"#)];
    let told = town.call(&bea, "DELETE /users/me/subscriptions", &wish).await;
    told.refused("Channel(s) (secret, nowhere) do not exist");
    let wish = [("subscriptions", r#"["general"]"#), ("principals", "[999]")];
    town.call(&town.ada, "DELETE /users/me/subscriptions", &wish).await.refused("No such user");
    town.call(&bea, "DELETE /users/me/subscriptions", &[("subscriptions", "[1]")])
        .await
        .refused("subscriptions[0] is not a string");
    assert_eq!(mark(&town), before);
    assert_eq!(heard(&town, &ear).await, Vec::<Value>::new());
}
