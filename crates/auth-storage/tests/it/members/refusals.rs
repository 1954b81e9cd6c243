//! What people refused, beside what they allowed.

use oauth_core::ports::{
    AuthorizationCodeStore as _, AuthorizationStateQuery, BrowserSession, CodeIssueOutcome, CodeRedemptionOutcome,
    ConsentGrant, ConsentGrantDecision, ConsentGrantStore as _, SessionStore as _,
};
use serde_json::json;

use super::{code, first, given, grant, hash, lives, put};
use crate::home::{NOW_S, told};

told! {
    async fn what_was_refused_outlives_the_grant_and_gives_nothing(home) {
        let db = home.open().await;
        put(&db, "User/u", json!({})).await;
        let session =
            BrowserSession { hash: hash("s"), user_id: "u".to_owned(), credential: [3; 32], signed_in_s: 0, expires_s: NOW_S + 1 };
        db.begin_session(session, None).await.unwrap();
        let kept = async || {
            let of = AuthorizationStateQuery { session: Some(&hash("s")), client_id: "app", now_s: NOW_S };
            db.load_authorization_state(&of).await.unwrap().grants
        };
        // Everything was refused.
        let nothing = |id: &str| ConsentGrant { requested: String::new(), granted: String::new(), ..grant(id) };
        let refusal = ConsentGrant { refused: "patient/Goal.rs".to_owned(), ..nothing("no") };
        assert!(db.store_refused_consent(given(refusal.clone())).await.unwrap());
        assert_eq!((kept().await, db.active_grants_of_user("u").await.unwrap()), (vec![refusal.clone()], vec![]));
        assert!(!db.revoke_grant("u", "no", "rest").await.unwrap(), "there is nothing to take back");
        // Something was allowed then, and is taken back.
        let allowed = ConsentGrant { refused: "patient/Claim.rs".to_owned(), ..grant("g") };
        let replaced = ConsentGrantDecision { grant: allowed.clone(), replaces: Some(refusal.clone()) };
        assert_eq!(db.issue_code(code("c", "f", "g"), Some(replaced), None).await.unwrap(), CodeIssueOutcome::Issued);
        assert_eq!(db.redeem_code(&hash("c"), NOW_S, first("f", "g")).await.unwrap(), CodeRedemptionOutcome::Granted);
        assert!(db.revoke_grant("u", "g", "rest").await.unwrap());
        let rest = ConsentGrant { refused: allowed.refused.clone(), ..nothing("rest") };
        assert_eq!((kept().await, db.active_grants_of_user("u").await.unwrap()), (vec![rest.clone()], vec![]));
        assert!(!lives(&db, "f").await);
        // A refusal that was decided from what stands no more is not stored.
        let stale = ConsentGrantDecision { grant: nothing("x"), replaces: Some(refusal) };
        assert!(!db.store_refused_consent(stale).await.unwrap());
        let refusals_differ = ConsentGrant { refused: "openid".to_owned(), ..rest.clone() };
        let stale = ConsentGrantDecision { grant: nothing("rest"), replaces: Some(refusals_differ) };
        assert!(!db.store_refused_consent(stale).await.unwrap());
        assert_eq!(kept().await, [rest]);
    }
}
