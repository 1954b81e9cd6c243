//! Sign-in names, sessions, and who stands before the authorization page.

use oauth_core::ports::{
    AuthorizationCodeStore as _, AuthorizationState, AuthorizationStateQuery, BrowserSession, CodeIssueOutcome,
    ConsentGrant, SessionStore as _,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{code, delete, given, grant, hash, put};
use crate::home::{NOW_S, told};

fn session(name: &str) -> BrowserSession {
    BrowserSession {
        hash: hash(name),
        user_id: "u".to_owned(),
        credential: [3; 32],
        signed_in_s: NOW_S,
        expires_s: NOW_S + 100,
    }
}

async fn load_authorization_state(db: &auth_storage::AuthDatabase, name: &str, now_s: i64) -> AuthorizationState {
    db.load_authorization_state(&AuthorizationStateQuery { session: Some(&hash(name)), client_id: "app", now_s })
        .await
        .unwrap()
}

async fn logins(db: &auth_storage::AuthDatabase, login: &str) -> Vec<String> {
    db.users_by_login(login).await.unwrap().into_iter().map(|(id, _)| id).collect()
}

told! {
    async fn a_user_is_found_by_name_or_email_in_any_case(home) {
        let db = home.open().await;
        let version = put(&db, "User/u", json!({"userName": "Ada.L", "email": "Ada@Example.org"})).await;
        put(&db, "User/v", json!({"userName": "bob"})).await;
        for login in ["Ada.L", "ada.l", "ADA@EXAMPLE.ORG"] {
            let found = db.users_by_login(login).await.unwrap();
            assert_eq!(found.len(), 1, "{login}");
            assert_eq!((found[0].0.as_str(), found[0].1.version), ("u", version), "{login}");
            assert_eq!(found[0].1.resource["email"], "Ada@Example.org");
        }
        for login in ["ada", "ada.l ", "", "ada.%", "x\0y"] {
            assert_eq!(logins(&db, login).await, [""; 0], "{login:?}");
        }
        delete(&db, "User/u").await;
        assert_eq!(logins(&db, "ada.l").await, [""; 0]);
    }

    async fn a_name_that_several_users_have_is_seen_to_be_ambiguous(home) {
        let db = home.open().await;
        // The server refuses this; users' SQL may do it.
        let same = r#"{"userName": "same", "email": "SAME"}"#;
        let rows = format!("INSERT INTO \"user\" (id, resource) VALUES ('c', '{same}'), ('a', '{same}'), ('b', '{same}')");
        db.run_user_sql(&rows).await.unwrap().unwrap();
        assert_eq!(logins(&db, "Same").await, ["a", "b"]);
    }

    async fn a_user_of_any_shape_and_size_can_be_stored(home) {
        let db = home.open().await;
        let long = "é".repeat(20_000);
        put(&db, "User/long", json!({"userName": long, "email": {"a": [1]}})).await;
        put(&db, "User/odd", json!({"userName": 7, "email": null})).await;
        assert_eq!(logins(&db, &long).await, ["long"]);
        if !home.is_postgres() {
            let broken = "INSERT INTO \"user\" (id, resource) VALUES ('broken', '{no json')";
            db.run_user_sql(broken).await.unwrap().unwrap();
            put(&db, "User/u", json!({"userName": "u"})).await;
            assert_eq!(logins(&db, "u").await, ["u"]);
        }
    }

    async fn a_login_is_looked_up_in_an_index(home) {
        let db = home.open().await;
        let many = "INSERT INTO \"user\" (id, resource)
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
            SELECT 'u' || n, CAST('{\"userName\": \"name' || n || '\"}' AS JSONB) FROM n";
        let many = if home.is_postgres() { many.to_owned() } else { many.replace("AS JSONB", "AS TEXT") };
        db.run_user_sql(&many).await.unwrap().unwrap();
        assert_eq!(logins(&db, "NAME4711").await, ["u4711"]);
        if home.is_postgres() {
            let plan = "EXPLAIN SELECT u.id FROM \"user\" u WHERE lower((u.resource ->> 'userName') COLLATE \"C\") = 'x'";
            let plan = home.ask(plan).await.join(" ");
            assert!(plan.contains("user_login_name"), "{plan}");
        } else {
            // Refused by SQLite when the index does not serve the condition.
            let found = "SELECT u.id FROM \"user\" u INDEXED BY user_login_name WHERE
                CASE WHEN json_valid(u.resource) THEN lower(u.resource ->> 'userName') END = 'name4711'";
            assert_eq!(home.ask(found).await, ["u4711"]);
        }
    }

    async fn a_session_is_known_until_it_expires_or_ends(home) {
        let db = home.open().await;
        let user = put(&db, "User/u", json!({})).await;
        let app = put(&db, "Client/app", json!({})).await;
        db.begin_session(session("one"), None).await.unwrap();
        let seen = load_authorization_state(&db, "one", NOW_S + 99).await;
        assert_eq!(seen.session, Some(session("one")));
        assert_eq!((seen.user_version, seen.client_version, seen.grants.len()), (Some(user), Some(app), 0));

        let stranger = AuthorizationState { client_version: Some(app), ..AuthorizationState::default() };
        assert_eq!(load_authorization_state(&db, "one", NOW_S + 100).await, stranger, "expired");
        assert_eq!(load_authorization_state(&db, "other", NOW_S).await, stranger);
        let nobody = db.load_authorization_state(&AuthorizationStateQuery { session: None, client_id: "x\0", now_s: NOW_S }).await.unwrap();
        assert_eq!(nobody, AuthorizationState::default());

        db.end_session(&hash("one")).await.unwrap();
        db.end_session(&hash("one")).await.unwrap();
        assert_eq!(load_authorization_state(&db, "one", NOW_S).await, stranger);
    }

    async fn a_new_session_ends_the_one_it_replaces(home) {
        let db = home.open().await;
        for (begins, replaces) in [("one", None), ("two", Some("one")), ("three", Some("never was"))] {
            db.begin_session(session(begins), replaces.map(hash).as_ref()).await.unwrap();
        }
        let mut known = Vec::new();
        for name in ["one", "two", "three"] {
            known.push(load_authorization_state(&db, name, NOW_S).await.session.is_some());
        }
        assert_eq!(known, [false, true, true]);
        assert!(db.begin_session(session("two"), None).await.is_err(), "a hash is stored once");
    }

    async fn a_visit_tells_what_this_person_lets_this_app_do(home) {
        let db = home.open().await;
        put(&db, "User/u", json!({})).await;
        db.begin_session(session("one"), None).await.unwrap();
        let later = ConsentGrant { patient_id: None, created_s: NOW_S + 1, ..grant("later") };
        let others = [
            ConsentGrant { user_id: "v".to_owned(), ..grant("of another") },
            ConsentGrant { client_id: "other".to_owned(), ..grant("for another") },
        ];
        for (n, grant) in [grant("g"), later.clone()].into_iter().chain(others).enumerate() {
            let name = format!("c{n}");
            db.issue_code(code(&name, "f", &grant.id), Some(given(grant)), None).await.unwrap();
        }
        assert_eq!(load_authorization_state(&db, "one", NOW_S).await.grants, [later, grant("g")]);
        assert_eq!(load_authorization_state(&db, "one", NOW_S + 100).await.grants, [], "the session is over");
    }

    async fn visits_at_one_moment_are_told_apart(home) {
        let db = home.open().await;
        let mut versions = Vec::new();
        for n in 0..20 {
            let (user_id, name) = (format!("u{n}"), format!("s{n}"));
            versions.push(put(&db, &format!("User/{user_id}"), json!({})).await);
            let session = BrowserSession { user_id: user_id.clone(), ..session(&name) };
            db.begin_session(session, None).await.unwrap();
            if n % 2 == 0 {
                let grant = ConsentGrant { user_id, ..grant(&format!("g{n}")) };
                let issued = db.issue_code(code(&format!("c{n}"), "f", &grant.id), Some(given(grant)), None).await;
                assert_eq!(issued.unwrap(), CodeIssueOutcome::Issued);
            }
        }
        let app = put(&db, "Client/app", json!({})).await;
        let mut visits = JoinSet::new();
        for n in 0..60 {
            let db = db.clone();
            visits.spawn(async move {
                let hash = (n < 40).then(|| hash(&format!("s{}", n % 20)));
                let client_id = ["app", "unknown", "nul\0app"][n % 3];
                (n, db.load_authorization_state(&AuthorizationStateQuery { session: hash.as_ref(), client_id, now_s: NOW_S }).await.unwrap())
            });
        }
        for (n, visit) in visits.join_all().await {
            let is_app = n % 3 == 0;
            assert_eq!(visit.client_version, is_app.then_some(app), "{n}");
            assert_eq!(visit.user_version, (n < 40).then(|| versions[n % 20]), "{n}");
            let user_id = (n < 40).then(|| format!("u{}", n % 20));
            assert_eq!(visit.session.map(|session| session.user_id), user_id, "{n}");
            let grants: Vec<String> = visit.grants.into_iter().map(|grant| grant.id).collect();
            let own = (n < 40 && is_app && n % 2 == 0).then(|| format!("g{}", n % 20));
            assert_eq!(grants, own.into_iter().collect::<Vec<_>>(), "{n}");
        }
    }

    async fn sessions_go_with_their_user(home) {
        let db = home.open().await;
        put(&db, "User/u", json!({})).await;
        db.begin_session(session("one"), None).await.unwrap();
        delete(&db, "User/u").await;
        put(&db, "User/u", json!({})).await;
        assert_eq!(load_authorization_state(&db, "one", NOW_S).await.session, None);
    }
}
