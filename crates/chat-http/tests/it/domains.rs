//! Domains of mail that belong to the realm.

use serde_json::{Value, json};

use crate::town::Town;
use crate::users::{assert_nothing_written, everybody, told_after};

async fn listed(town: &Town) -> Value {
    town.call(&town.ada, "GET /realm/domains", &[]).await.success()["domains"].clone()
}

#[tokio::test]
async fn an_owner_adds_changes_and_removes_a_domain_and_everybody_hears_it() {
    let town = Town::found().await;
    assert_eq!(listed(&town).await, json!([]));
    let before = town.realm().at();
    let told = town.call(&town.ada, "POST /realm/domains", &[("domain", " Example.ORG ")]).await.success();
    assert!(told["new_domain"][0].is_i64());
    assert_eq!(told["new_domain"][1], json!("example.org"));
    let domain = |allow: bool| json!({"domain": "example.org", "allow_subdomains": allow});
    assert_eq!(listed(&town).await, json!([domain(false)]));
    let path = "/realm/domains/example.org";
    town.call(&town.ada, &format!("PATCH {path}"), &[("allow_subdomains", "true")]).await.success();
    town.call(&town.ada, &format!("PATCH {path}"), &[("allow_subdomains", "true")]).await.success();
    assert_eq!(listed(&town).await, json!([domain(true)]));
    let state = town.call(&town.ada, "POST /register", &[]).await.success();
    assert_eq!(state["realm_domains"], json!([domain(true)]));
    town.call(&town.ada, &format!("DELETE {path}"), &[]).await.success();
    assert_eq!(listed(&town).await, json!([]));
    assert_eq!(
        told_after(&town, before).await,
        [
            json!({"type": "realm_domains", "op": "add", "realm_domain": domain(false)}),
            json!({"type": "realm_domains", "op": "change", "realm_domain": domain(true)}),
            json!({"type": "realm_domains", "op": "remove", "domain": "example.org"}),
        ]
    );
}

#[tokio::test]
async fn a_domain_that_is_none_or_there_already_or_not_there_changes_nothing() {
    let town = Town::found().await;
    town.call(&town.ada, "POST /realm/domains", &[("domain", "example.org")]).await.success();
    let before = town.realm().at();
    for (domain, text) in [
        ("", "Invalid domain: Domain can't be empty."),
        ("example", "Invalid domain: Domain must have at least one dot (.)"),
        ("a b.org", "Invalid domain: Domain can only have letters, numbers, '.' and '-'s."),
        ("EXAMPLE.org", "The domain example.org is already a part of your organization."),
    ] {
        town.call(&town.ada, "POST /realm/domains", &[("domain", domain)]).await.refused(text);
    }
    town.call(&town.ada, "POST /realm/domains", &[]).await.refused("Missing 'domain' argument");
    let wish = [("allow_subdomains", "true")];
    let unknown = "No entry found for domain other.org.";
    town.call(&town.ada, "PATCH /realm/domains/other.org", &wish).await.refused(unknown);
    town.call(&town.ada, "DELETE /realm/domains/other.org", &[]).await.refused(unknown);
    let missing = "Missing 'allow_subdomains' argument";
    town.call(&town.ada, "PATCH /realm/domains/example.org", &[]).await.refused(missing);
    assert_nothing_written(&town, before, "no domain");
}

#[tokio::test]
async fn only_owners_change_domains_and_all_accounts_see_them() {
    let town = Town::found().await;
    let people = everybody(&town).await;
    town.call(&town.ada, "POST /realm/domains", &[("domain", "example.org")]).await.success();
    let before = town.realm().at();
    for call in ["POST /realm/domains", "PATCH /realm/domains/example.org", "DELETE /realm/domains/example.org"] {
        let parameters = [("domain", "other.org"), ("allow_subdomains", "true")];
        for person in &people[1..] {
            town.call(person, call, &parameters).await.refused("Must be an organization owner");
        }
        assert_eq!(town.call_as_nobody(call, &parameters).await.status, 401, "{call}");
        assert_nothing_written(&town, before, call);
    }
    for person in &people {
        town.call(person, "GET /realm/domains", &[]).await.success();
    }
    assert_eq!(town.call_as_nobody("GET /realm/domains", &[]).await.status, 401);
}
