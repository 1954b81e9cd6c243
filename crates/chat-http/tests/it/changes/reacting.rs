//! Reactions.

use super::*;

#[tokio::test]
async fn a_reaction_is_added_told_and_taken_away() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "hi")).await;
    let since = app.store.last_event_id();
    react(&app, &sam, id, &[("emoji_name", "thumbs_up")]).await.success();
    unreact(&app, &sam, id, &[("emoji_name", "thumbs_up")]).await.success();
    let event = |op: &str| {
        json!({
            "type": "reaction", "op": op, "message_id": id, "emoji_name": "thumbs_up", "emoji_code": "1f44d",
            "reaction_type": "unicode_emoji", "user_id": sam.id,
            "user": {"user_id": sam.id, "email": sam.email, "full_name": "sam", "is_mirror_dummy": false},
        })
    };
    assert_eq!(heard(&app, &app.ada, since).await, [event("add"), event("remove")]);
    assert!(message(&app, id).await.unwrap().reactions.is_empty());
    let again = unreact(&app, &sam, id, &[("emoji_code", "1f44d")]).await;
    assert_eq!(again.error(), (400, "REACTION_DOES_NOT_EXIST", "Reaction doesn't exist."));
}

#[tokio::test]
async fn of_fifty_same_reactions_at_once_one_is_added() {
    let app = Arc::new(TestApp::found().await);
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "hi")).await;
    let since = app.store.last_event_id();
    let mut reacting = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let app = Arc::clone(&app);
        reacting.spawn(async move { react(&app, &app.ada, id, &[("emoji_name", "tada")]).await });
    }
    let (added, refused): (Vec<TestResponse>, Vec<TestResponse>) =
        reacting.join_all().await.into_iter().partition(|response| response.status.is_success());
    assert_eq!((added.len(), refused.len()), (1, 49));
    for response in refused {
        assert_eq!(response.error(), (400, "REACTION_ALREADY_EXISTS", "Reaction already exists."));
    }
    assert_eq!(heard(&app, &app.ada, since).await.len(), 1);
    assert_eq!(message(&app, id).await.unwrap().reactions.len(), 1);
}

#[tokio::test]
async fn an_emoji_that_is_none_is_refused_by_name_and_by_code() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "hi")).await;
    let custom = json!({"id": "7", "name": "tick", "deactivated": false});
    commit(&app, vec![RealmChange::Item { kind: RealmItemKind::Emoji, id: 7, document: Some(custom) }]).await;
    let head = app.store.last_event_id();
    let add = |name, code, kind| [("emoji_name", name), ("emoji_code", code), ("reaction_type", kind)];
    let response = react(&app, &app.ada, id, &[("emoji_name", "nothing_like_it")]).await;
    response.refused("Emoji 'nothing_like_it' does not exist");
    react(&app, &app.ada, id, &add("tada", "1f44d", "unicode_emoji")).await.refused("Invalid emoji name.");
    react(&app, &app.ada, id, &add("tada", "zz", "unicode_emoji")).await.refused("Invalid emoji code.");
    react(&app, &app.ada, id, &add("tada", "1f389", "x")).await.refused("Invalid emoji type.");
    react(&app, &app.ada, id, &add("tick", "8", "realm_emoji")).await.refused("Invalid custom emoji.");
    react(&app, &app.ada, id, &add("tock", "7", "realm_emoji")).await.refused("Invalid custom emoji name.");
    react(&app, &app.ada, id, &[]).await.refused("Missing 'emoji_name' argument");
    let none = "At least one of the following arguments must be present: emoji_name, emoji_code";
    unreact(&app, &app.ada, id, &[]).await.refused(none);
    unreact(&app, &app.ada, id, &[("emoji_code", "zz")]).await.refused("Invalid emoji code.");
    unreact(&app, &app.ada, id, &add("tada", "1f389", "x")).await.refused("Invalid emoji type.");
    let absent = unreact(&app, &app.ada, id, &[("emoji_code", "7"), ("reaction_type", "realm_emoji")]).await;
    assert_eq!(absent.error(), (400, "REACTION_DOES_NOT_EXIST", "Reaction doesn't exist."));
    assert_eq!(app.store.last_event_id(), head);
    react(&app, &app.ada, id, &[("emoji_name", "tick")]).await.success();
    unreact(&app, &app.ada, id, &[("emoji_name", "tick")]).await.success();
}

#[tokio::test]
async fn of_a_removal_emoji_name_emoji_code_and_reaction_type_are_all_optional_but_not_all_absent() {
    let app = TestApp::found().await;
    let id = say(&app, &app.ada, channel(&app, "general"), ("lunch", "hi")).await;
    let tada = [("emoji_name", "tada"), ("emoji_code", "1f389"), ("reaction_type", "unicode_emoji")];
    for named in [&tada[..1], &tada[1..2], &tada[1..], &tada[..2], &[tada[0], tada[2]], &tada] {
        react(&app, &app.ada, id, &[("emoji_name", "tada")]).await.success();
        unreact(&app, &app.ada, id, named).await.success();
        assert!(message(&app, id).await.unwrap().reactions.is_empty(), "{named:?}");
    }
    let none = "At least one of the following arguments must be present: emoji_name, emoji_code";
    unreact(&app, &app.ada, id, &tada[2..]).await.refused(none);
    // Nobody takes away what is another's.
    let sam = app.person("sam", Role::Member).await;
    react(&app, &app.ada, id, &[("emoji_name", "tada")]).await.success();
    let response = unreact(&app, &sam, id, &[("emoji_name", "tada")]).await;
    assert_eq!(response.error(), (400, "REACTION_DOES_NOT_EXIST", "Reaction doesn't exist."));
    assert_eq!(message(&app, id).await.unwrap().reactions.len(), 1);
}
