//! What authorization decisions are made from, and how a stale copy of it is noticed.

use auth_storage::AuthDatabase;
use fhir_store::{ResourceStore as _, ResourceWrite, WriteOperation};
use oauth_core::ports::{CallerStatus, CallerStatusQuery, RegistrationStore as _};
use serde_json::{Value, json};

use crate::home::{NOW_US, told};

async fn put(db: &AuthDatabase, key: &str, body: Value) -> i64 {
    let write = ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Put(body));
    let written = db.transact_writes(vec![write], NOW_US).await.unwrap().unwrap();
    written[0].stored_resource().unwrap().version
}

async fn delete(db: &AuthDatabase, key: &str) {
    let write = ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Delete);
    db.transact_writes(vec![write], NOW_US).await.unwrap().unwrap();
}

async fn standing(db: &AuthDatabase) -> CallerStatus {
    let of = CallerStatusQuery { client_id: Some("c"), user_id: Some("u"), token_id: Some("t"), family_id: Some("f") };
    db.caller_status(&of).await.unwrap()
}

told! {
    async fn a_party_is_read_with_its_version_until_it_is_deleted(home) {
        let db = home.open().await;
        let body = json!({"name": "one"});
        for key in ["Client/x", "User/x", "Organization/x"] {
            let version = put(&db, key, body.clone()).await;
            let read = match key {
                "Client/x" => db.client("x").await,
                "User/x" => db.user("x").await,
                _ => db.organization("x").await,
            };
            let read = read.unwrap().unwrap();
            assert_eq!((read.version, read.resource), (version, body.clone()), "{key}");
            delete(&db, key).await;
        }
        assert_eq!(db.client("x").await.unwrap(), None);
        assert_eq!(db.user("x").await.unwrap(), None);
        assert_eq!(db.organization("x").await.unwrap(), None);
        assert_eq!(db.client("nul\0").await.unwrap(), None);
    }

    async fn an_issuer_elsewhere_is_found_by_its_name(home) {
        let db = home.open().await;
        assert_eq!(db.introspectors_of_issuer("https://idp.example").await.unwrap(), Vec::<Value>::new(), "no table yet");
        let of = |issuer: &str| json!({"type": "jwt", "jwt": {"iss": issuer, "keys": [{"kty": "RSA"}]}});
        put(&db, "TokenIntrospector/b", of("https://idp.example")).await;
        put(&db, "TokenIntrospector/other", of("https://other.example")).await;
        for (id, odd) in [("s", json!({"jwt": "text"})), ("n", json!({"jwt": {"iss": 7}})), ("e", json!({"type": "x"}))] {
            put(&db, &format!("TokenIntrospector/{id}"), odd).await;
        }
        assert_eq!(db.introspectors_of_issuer("https://idp.example").await.unwrap(), [of("https://idp.example")]);
        let mut first = of("https://idp.example");
        first["note"] = json!("first by id");
        put(&db, "TokenIntrospector/a", first.clone()).await;
        assert_eq!(db.introspectors_of_issuer("https://idp.example").await.unwrap(), [first, of("https://idp.example")]);
        for id in ["a", "b"] {
            delete(&db, &format!("TokenIntrospector/{id}")).await;
        }
        for unknown in ["https://idp.example", "https://IDP.example", "", "nul\0"] {
            assert_eq!(db.introspectors_of_issuer(unknown).await.unwrap(), Vec::<Value>::new(), "{unknown}");
        }
    }

    async fn standing_is_of_the_moment(home) {
        let db = home.open().await;
        let nobody = standing(&db).await;
        assert_eq!((nobody.client_version, nobody.user_version, nobody.token_revoked), (None, None, false));
        let client = put(&db, "Client/c", json!({"n": 1})).await;
        let user = put(&db, "User/u", json!({"n": 1})).await;
        let now = standing(&db).await;
        assert_eq!((now.client_version, now.user_version), (Some(client), Some(user)));
        assert_eq!(now.policy_revision, nobody.policy_revision, "no policy was written");
        delete(&db, "Client/c").await;
        let deleted = standing(&db).await;
        assert_eq!((now.client_deleted_us, deleted.client_deleted_us), (None, Some(NOW_US)));
        assert_eq!(deleted.client_version, None);
        assert!(put(&db, "Client/c", json!({"n": 1})).await > client, "a version is never used again");
    }

    async fn every_change_of_a_policy_changes_the_revision(home) {
        let db = home.open().await;
        let mut revisions = vec![db.stored_access_policies().await.unwrap().revision];
        put(&db, "AccessPolicy/p", json!({"engine": "allow"})).await;
        revisions.push(db.stored_access_policies().await.unwrap().revision);
        put(&db, "AccessPolicy/p", json!({"engine": "matcho"})).await;
        let set = db.stored_access_policies().await.unwrap();
        assert_eq!(set.policies, [("p".to_owned(), json!({"engine": "matcho"}))]);
        revisions.push(set.revision);
        assert_eq!(standing(&db).await.policy_revision, set.revision);
        delete(&db, "AccessPolicy/p").await;
        revisions.push(db.stored_access_policies().await.unwrap().revision);
        assert!(revisions.is_sorted_by(|earlier, later| earlier < later), "{revisions:?}");
        assert_eq!(db.stored_access_policies().await.unwrap().policies, []);
    }

    async fn users_own_sql_changes_versions_too(home) {
        let db = home.open().await;
        let client = put(&db, "Client/c", json!({"n": 1})).await;
        put(&db, "AccessPolicy/p", json!({"engine": "allow"})).await;
        let before = standing(&db).await;
        let sql = "UPDATE client SET resource = '{\"n\": 2}'; UPDATE accesspolicy SET resource = '{}';
            INSERT INTO \"user\" (id, resource) VALUES ('u', '{}')";
        db.run_user_sql(sql).await.unwrap().unwrap();
        let after = standing(&db).await;
        assert!(after.client_version > Some(client), "{after:?}");
        assert!(after.user_version > after.client_version, "{after:?}");
        assert!(after.policy_revision > before.policy_revision, "{after:?}");
        assert_eq!(db.client("c").await.unwrap().unwrap().resource, json!({"n": 2}));
    }

    async fn a_refused_transaction_leaves_the_revision(home) {
        let db = home.open().await;
        let before = db.stored_access_policies().await.unwrap();
        let writes = ["AccessPolicy/p", "AccessPolicy/p"];
        let writes = writes.map(|key| ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Create(json!({}))));
        assert!(db.transact_writes(writes.to_vec(), NOW_US).await.unwrap().is_err());
        let after = db.stored_access_policies().await.unwrap();
        assert_eq!((after.revision, after.policies.len()), (before.revision, 0));
    }
}
