//! What people keep for themselves.

use chat_core::model::role::Role;
use serde_json::json;

use crate::personal::{heard, listen, mark, state};
use crate::test_app::{NOW_S, TestApp};

#[tokio::test]
async fn level_297_saved_snippets_are_saved_listed_and_deleted_by_their_user_alone() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    let queue = listen(&app, &sam, r#"["saved_snippets"]"#, &[]).await;
    let others = listen(&app, &app.ada, r#"["saved_snippets"]"#, &[]).await;
    let new = [("title", "  Hello "), ("content", " Good *morning*\n")];
    let id = app.call(&sam, "POST /saved_snippets", &new).await.success()["saved_snippet_id"].clone();
    let snippet = json!({"id": id, "title": "Hello", "content": "Good *morning*", "date_created": NOW_S});
    let listed = app.call(&sam, "GET /saved_snippets", &[]).await.success();
    assert_eq!(listed["saved_snippets"], json!([snippet]));
    assert_eq!(state(&app, &sam, "saved_snippets").await, json!([snippet]));
    assert_eq!(state(&app, &app.ada, "saved_snippets").await, json!([]));
    let one = format!("DELETE /saved_snippets/{id}");
    let unknown = (404, "BAD_REQUEST", "Saved snippet does not exist.");
    assert_eq!(app.call(&app.ada, &one, &[]).await.error(), unknown);
    app.call(&sam, &one, &[]).await.success();
    assert_eq!(app.call(&sam, &one, &[]).await.error(), unknown);
    let told = [
        json!({"type": "saved_snippets", "op": "add", "saved_snippet": snippet}),
        json!({"type": "saved_snippets", "op": "remove", "saved_snippet_id": id}),
    ];
    assert_eq!((heard(&app, &queue).await, heard(&app, &others).await), (told.to_vec(), Vec::new()));
    let next = app.call(&sam, "POST /saved_snippets", &new).await.success()["saved_snippet_id"].clone();
    assert!(next.as_i64() > id.as_i64(), "{next} was given before");
}

#[tokio::test]
async fn level_297_a_saved_snippet_has_a_title_and_a_text_within_their_limits() {
    let app = TestApp::found().await;
    let before = mark(&app);
    let (title, content) = ("x".repeat(61), "x".repeat(10_001));
    for (name, value, text) in [
        ("title", " ", "title cannot be blank"),
        ("content", "\n", "content cannot be blank"),
        ("title", title.as_str(), "title is too long (limit: 60 characters)"),
        ("content", content.as_str(), "content is too long (limit: 10000 characters)"),
    ] {
        let other = if name == "title" { ("content", "x") } else { ("title", "x") };
        app.call(&app.ada, "POST /saved_snippets", &[(name, value), other]).await.refused(text);
    }
    assert_eq!(mark(&app), before);
    for number in 0..200 {
        let new = [("title", number.to_string()), ("content", "x".to_owned())];
        let new = new.each_ref().map(|(name, value)| (*name, value.as_str()));
        app.call(&app.ada, "POST /saved_snippets", &new).await.success();
    }
    let refused = app.call(&app.ada, "POST /saved_snippets", &[("title", "x"), ("content", "x")]).await;
    refused.refused("Too many saved snippets (maximum 200).");
}

#[tokio::test]
async fn level_368_a_saved_snippet_is_changed_in_either_part_and_reported_when_it_differs() {
    let app = TestApp::found().await;
    let new = [("title", "Hello"), ("content", "Good morning")];
    let id = app.call(&app.ada, "POST /saved_snippets", &new).await.success()["saved_snippet_id"].clone();
    let one = format!("PATCH /saved_snippets/{id}");
    let queue = listen(&app, &app.ada, r#"["saved_snippets"]"#, &[]).await;
    let before = mark(&app);
    for unchanged in [&[][..], &new] {
        app.call(&app.ada, &one, unchanged).await.success();
    }
    assert_eq!((mark(&app), heard(&app, &queue).await), (before, Vec::new()));
    app.call(&app.ada, &one, &[("title", "Evening")]).await.success();
    app.call(&app.ada, &one, &[("content", "Good evening")]).await.success();
    let told = |title: &str, content: &str| {
        let snippet = json!({"id": id, "title": title, "content": content, "date_created": NOW_S});
        json!({"type": "saved_snippets", "op": "update", "saved_snippet": snippet})
    };
    assert_eq!(heard(&app, &queue).await, [told("Evening", "Good morning"), told("Evening", "Good evening")]);
    let unknown = app.call(&app.ada, "PATCH /saved_snippets/99999", &[("title", "x")]).await;
    assert_eq!(unknown.error(), (404, "BAD_REQUEST", "Saved snippet does not exist."));
}

#[tokio::test]
async fn level_390_navigation_views_are_added_changed_and_removed_by_their_fragment() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["navigation_view"]"#, &[]).await;
    let own = [("fragment", "narrow/channel/5"), ("is_pinned", "false"), ("name", "Kitchen")];
    app.call(&app.ada, "POST /navigation_views", &own).await.success();
    app.call(&app.ada, "POST /navigation_views", &[("fragment", "inbox"), ("is_pinned", "true")]).await.success();
    let kitchen = json!({"fragment": "narrow/channel/5", "is_pinned": false, "name": "Kitchen"});
    let inbox = json!({"fragment": "inbox", "is_pinned": true, "name": null});
    let listed = app.call(&app.ada, "GET /navigation_views", &[]).await.success();
    assert_eq!(listed["navigation_views"], json!([inbox, kitchen]));
    assert_eq!(state(&app, &app.ada, "navigation_views").await, json!([inbox, kitchen]));
    // The rest of the path is the fragment, with its slashes encoded or not.
    app.call(&app.ada, "PATCH /navigation_views/narrow%2Fchannel%2F5", &[("is_pinned", "true")]).await.success();
    app.call(&app.ada, "PATCH /navigation_views/narrow/channel/5", &[("name", "Cellar")]).await.success();
    app.call(&app.ada, "PATCH /navigation_views/inbox", &[("is_pinned", "true")]).await.success();
    app.call(&app.ada, "DELETE /navigation_views/narrow/channel/5", &[]).await.success();
    let update =
        |data| json!({"type": "navigation_view", "op": "update", "fragment": "narrow/channel/5", "data": data});
    let told = [
        json!({"type": "navigation_view", "op": "add", "navigation_view": kitchen}),
        json!({"type": "navigation_view", "op": "add", "navigation_view": inbox}),
        update(json!({"is_pinned": true})),
        update(json!({"name": "Cellar"})),
        json!({"type": "navigation_view", "op": "remove", "fragment": "narrow/channel/5"}),
    ];
    assert_eq!(heard(&app, &queue).await, told);
}

#[tokio::test]
async fn level_390_a_navigation_view_that_cannot_be_is_refused_and_nothing_is_written() {
    let app = TestApp::found().await;
    for view in [[("fragment", "a"), ("name", "A")], [("fragment", "b"), ("name", "B")]] {
        let [fragment, name] = view;
        app.call(&app.ada, "POST /navigation_views", &[fragment, name, ("is_pinned", "true")]).await.success();
    }
    let before = mark(&app);
    let exists = "Navigation view already exists.";
    for (fragment, name, text) in [
        ("inbox", Some("In"), "Built-in views cannot have a custom name."),
        ("narrow/is/starred", Some(""), "Built-in views cannot have a custom name."),
        ("c", None, "Custom views must have a valid name."),
        ("c", Some(" "), "Custom views must have a valid name."),
        ("a", Some("C"), exists),
        ("c", Some("A"), exists),
    ] {
        let mut view = vec![("fragment", fragment), ("is_pinned", "true")];
        view.extend(name.map(|name| ("name", name)));
        app.call(&app.ada, "POST /navigation_views", &view).await.refused(text);
    }
    app.call(&app.ada, "PATCH /navigation_views/b", &[("name", "A")]).await.refused(exists);
    app.call(&app.ada, "PATCH /navigation_views/b", &[]).await.success();
    assert_eq!(mark(&app), before);
    let sam = app.person("sam", Role::Member).await;
    for (who, call) in [(&app.ada, "PATCH /navigation_views/x"), (&sam, "DELETE /navigation_views/a")] {
        let refused = app.call(who, call, &[]).await;
        assert_eq!(refused.error(), (404, "BAD_REQUEST", "Navigation view does not exist."));
    }
}
