//! Domains of mail that belong to the realm.

use serde_json::{Value, json};

use crate::test_app::TestApp;
use crate::users::{assert_nothing_written, events_after, everybody};

async fn listed(app: &TestApp) -> Value {
    app.call(&app.ada, "GET /realm/domains", &[]).await.success()["domains"].clone()
}

#[tokio::test]
async fn an_owner_adds_changes_and_removes_a_domain_and_everybody_hears_it() {
    let app = TestApp::found().await;
    assert_eq!(listed(&app).await, json!([]));
    let before = app.realm().log_position();
    let response = app.call(&app.ada, "POST /realm/domains", &[("domain", " Example.ORG ")]).await.success();
    assert!(response["new_domain"][0].is_i64());
    assert_eq!(response["new_domain"][1], json!("example.org"));
    let domain = |allow: bool| json!({"domain": "example.org", "allow_subdomains": allow});
    assert_eq!(listed(&app).await, json!([domain(false)]));
    let path = "/realm/domains/example.org";
    app.call(&app.ada, &format!("PATCH {path}"), &[("allow_subdomains", "true")]).await.success();
    app.call(&app.ada, &format!("PATCH {path}"), &[("allow_subdomains", "true")]).await.success();
    assert_eq!(listed(&app).await, json!([domain(true)]));
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    assert_eq!(state["realm_domains"], json!([domain(true)]));
    app.call(&app.ada, &format!("DELETE {path}"), &[]).await.success();
    assert_eq!(listed(&app).await, json!([]));
    assert_eq!(
        events_after(&app, before).await,
        [
            json!({"type": "realm_domains", "op": "add", "realm_domain": domain(false)}),
            json!({"type": "realm_domains", "op": "change", "realm_domain": domain(true)}),
            json!({"type": "realm_domains", "op": "remove", "domain": "example.org"}),
        ]
    );
}

#[tokio::test]
async fn a_domain_that_is_none_or_there_already_or_not_there_changes_nothing() {
    let app = TestApp::found().await;
    app.call(&app.ada, "POST /realm/domains", &[("domain", "example.org")]).await.success();
    let before = app.realm().log_position();
    for (domain, text) in [
        ("", "Invalid domain: Domain can't be empty."),
        ("example", "Invalid domain: Domain must have at least one dot (.)"),
        ("a b.org", "Invalid domain: Domain can only have letters, numbers, '.' and '-'s."),
        ("EXAMPLE.org", "The domain example.org is already a part of your organization."),
    ] {
        app.call(&app.ada, "POST /realm/domains", &[("domain", domain)]).await.refused(text);
    }
    app.call(&app.ada, "POST /realm/domains", &[]).await.refused("Missing 'domain' argument");
    let values = [("allow_subdomains", "true")];
    let unknown = "No entry found for domain other.org.";
    app.call(&app.ada, "PATCH /realm/domains/other.org", &values).await.refused(unknown);
    app.call(&app.ada, "DELETE /realm/domains/other.org", &[]).await.refused(unknown);
    let missing = "Missing 'allow_subdomains' argument";
    app.call(&app.ada, "PATCH /realm/domains/example.org", &[]).await.refused(missing);
    assert_nothing_written(&app, before, "no domain");
}

#[tokio::test]
async fn only_owners_change_domains_and_all_accounts_see_them() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    app.call(&app.ada, "POST /realm/domains", &[("domain", "example.org")]).await.success();
    let before = app.realm().log_position();
    for call in ["POST /realm/domains", "PATCH /realm/domains/example.org", "DELETE /realm/domains/example.org"] {
        let parameters = [("domain", "other.org"), ("allow_subdomains", "true")];
        for person in &people[1..] {
            app.call(person, call, &parameters).await.refused("Must be an organization owner");
        }
        assert_eq!(app.call_as_nobody(call, &parameters).await.status, 401, "{call}");
        assert_nothing_written(&app, before, call);
    }
    for person in &people {
        app.call(person, "GET /realm/domains", &[]).await.success();
    }
    assert_eq!(app.call_as_nobody("GET /realm/domains", &[]).await.status, 401);
}
