//! Refresh tokens: rotated once, repeated within the grace time, the end of their family after it.

use auth_storage::AuthDatabase;
use oauth_core::ports::{
    AuthorizationCodeRecord, AuthorizationCodeStore as _, CallerStatusQuery, CodeRedemptionOutcome,
    ConsentGrantStore as _, FirstFamilyTokens, RefreshTokenRecord, RefreshTokenRotation, RefreshTokenRotationOutcome,
    RefreshTokenState, RegistrationStore as _, TokenFamily, TokenFamilyStore as _,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{code, family, first, found_opaque, hash, lives, opaque, put, refresh, with_family};
use crate::home::{NOW_S, told};

const GRACE_S: i64 = 30;

/// The use of `name` at a time, followed by `next`.
fn rotation(name: &str, next: &str, now_s: i64) -> RefreshTokenRotation {
    let successor = RefreshTokenRecord { issued_s: now_s, expires_s: now_s + 500, ..refresh(next, "f") };
    RefreshTokenRotation { hash: hash(name), now_s, grace_s: GRACE_S, successor, access: None }
}

async fn rotate(db: &AuthDatabase, name: &str, next: &str, now_s: i64) -> RefreshTokenRotationOutcome {
    db.rotate_refresh_token(rotation(name, next, now_s)).await.unwrap()
}

async fn exists(db: &AuthDatabase, name: &str) -> bool {
    db.find_refresh_token(&hash(name)).await.unwrap().is_some()
}

/// Uses one token this many times at once, in turn on each node, each for an access token of its own.
async fn rotate_at_once(
    nodes: &[AuthDatabase],
    name: &str,
    next: &str,
    now_s: i64,
) -> Vec<RefreshTokenRotationOutcome> {
    let mut all = JoinSet::new();
    for n in 0..20 {
        let db = nodes[n % nodes.len()].clone();
        let access = Some(opaque(&format!("{name}-{now_s}-{n}")));
        let asked = RefreshTokenRotation { access, ..rotation(name, next, now_s) };
        all.spawn(async move { db.rotate_refresh_token(asked).await.unwrap() });
    }
    all.join_all().await
}

fn count(outcomes: &[RefreshTokenRotationOutcome], outcome: RefreshTokenRotationOutcome) -> usize {
    outcomes.iter().filter(|other| **other == outcome).count()
}

told! {
    async fn a_refresh_token_is_found_with_all_that_decides_its_use(home) {
        let db = home.open().await;
        with_family(&db).await;
        let found = RefreshTokenState {
            token: refresh("r-f", "f"),
            used_s: None,
            family: family("f", Some("g")),
            revoked: false,
            client_version: None,
            user_version: None,
            policy_revision: db.caller_status(&CallerStatusQuery::default()).await.unwrap().policy_revision,
        };
        let read = db.find_refresh_token(&hash("r-f")).await.unwrap().unwrap();
        assert_eq!(read, found);
        assert_eq!(read.family.authorization.to_string(), r#"{"z":1,"a":["x",null]}"#, "the order is kept");
        let (app, user) = (put(&db, "Client/app", json!({})).await, put(&db, "User/u", json!({})).await);
        assert_eq!(rotate(&db, "r-f", "r2", NOW_S + 5).await, RefreshTokenRotationOutcome::Rotated);
        let (client_version, user_version) = (Some(app), Some(user));
        let found = RefreshTokenState { used_s: Some(NOW_S + 5), client_version, user_version, ..found };
        assert_eq!(db.find_refresh_token(&hash("r-f")).await.unwrap(), Some(found));
        assert!(!exists(&db, "other").await);
    }

    async fn a_family_without_a_grant_begins_with_its_tokens(home) {
        let db = home.open().await;
        let tokens =
            FirstFamilyTokens { family: family("f", None), access: Some(opaque("a")), refresh: Some(refresh("r", "f")) };
        db.store_grantless_family(tokens.clone()).await.unwrap();
        let found = db.find_refresh_token(&hash("r")).await.unwrap().unwrap();
        assert_eq!((found.family, found.token), (family("f", None), refresh("r", "f")));
        assert_eq!(found_opaque(&db, "a").await, Some(opaque("a")));
        assert_eq!(rotate(&db, "r", "r2", NOW_S).await, RefreshTokenRotationOutcome::Rotated);
        assert!(db.store_grantless_family(tokens).await.is_err(), "an id is used once");
        let orphan = FirstFamilyTokens { family: family("f2", Some("no grant")), access: None, refresh: None };
        assert!(db.store_grantless_family(orphan).await.is_err());
        assert!(!lives(&db, "f2").await);
    }

    async fn families_without_a_grant_are_told_by_app_and_end_together(home) {
        let db = home.open().await;
        with_family(&db).await;
        let begin = async |id: &str, client_id: &str, created_s: i64| {
            let family = TokenFamily { client_id: client_id.to_owned(), created_s, ..family(id, None) };
            db.store_grantless_family(FirstFamilyTokens { family, access: None, refresh: None }).await.unwrap();
        };
        for n in 0..150 {
            begin(&format!("many-{n}"), "many", NOW_S + n).await;
        }
        begin("few-1", "few", NOW_S - 5).await;
        let told = db.grantless_families_of_user("u", NOW_S).await.unwrap();
        assert_eq!(told.len(), 101, "an app with many hides no other, and the one with a grant is none of them");
        assert_eq!((told[0].id.as_str(), told[100].id.as_str()), ("many-149", "few-1"));
        assert_eq!(told[100], TokenFamily { client_id: "few".to_owned(), created_s: NOW_S - 5, ..family("few-1", None) });
        assert_eq!(db.grantless_families_of_user("somebody else", NOW_S).await.unwrap(), []);

        assert!(!db.revoke_grantless_families("somebody else", "few", NOW_S).await.unwrap());
        assert!(db.revoke_grantless_families("u", "many", NOW_S).await.unwrap());
        assert!(!db.revoke_grantless_families("u", "many", NOW_S).await.unwrap());
        assert!(!db.revoke_grantless_families("u", "app", NOW_S).await.unwrap(), "what was granted is not direct");
        assert!(!lives(&db, "many-3").await && lives(&db, "few-1").await && lives(&db, "f").await);
        let told = db.grantless_families_of_user("u", NOW_S).await.unwrap();
        assert_eq!(told.iter().map(|family| family.id.as_str()).collect::<Vec<_>>(), ["few-1"]);
    }

    async fn a_token_is_rotated_once_and_repeated_within_the_grace_time(home) {
        let db = home.open().await;
        with_family(&db).await;
        let asked = RefreshTokenRotation { access: Some(opaque("a1")), ..rotation("r-f", "r2", NOW_S + 10) };
        assert_eq!(db.rotate_refresh_token(asked).await.unwrap(), RefreshTokenRotationOutcome::Rotated);
        let successor = db.find_refresh_token(&hash("r2")).await.unwrap().unwrap();
        assert_eq!(successor.token, rotation("r-f", "r2", NOW_S + 10).successor);

        let asked = RefreshTokenRotation { access: Some(opaque("a2")), ..rotation("r-f", "r2", NOW_S + 10 + GRACE_S) };
        assert_eq!(db.rotate_refresh_token(asked).await.unwrap(), RefreshTokenRotationOutcome::Repeated);
        let again = db.find_refresh_token(&hash("r2")).await.unwrap().unwrap();
        assert_eq!(again, successor, "the successor is the one that was there");
        for name in ["a1", "a2"] {
            assert_eq!(found_opaque(&db, name).await, Some(opaque(name)));
        }
        assert!(lives(&db, "f").await);
    }

    async fn a_token_whose_successor_was_used_ends_its_family_within_the_grace_time(home) {
        let db = home.open().await;
        with_family(&db).await;
        assert_eq!(rotate(&db, "r-f", "r2", NOW_S).await, RefreshTokenRotationOutcome::Rotated);
        assert_eq!(rotate(&db, "r-f", "r2", NOW_S + 1).await, RefreshTokenRotationOutcome::Repeated);
        assert_eq!(rotate(&db, "r2", "r3", NOW_S + 2).await, RefreshTokenRotationOutcome::Rotated);
        assert_eq!(rotate(&db, "r2", "r3", NOW_S + 3).await, RefreshTokenRotationOutcome::Repeated, "its own grace goes on");
        let asked = RefreshTokenRotation { access: Some(opaque("a")), ..rotation("r-f", "r2", NOW_S + 4) };
        assert_eq!(db.rotate_refresh_token(asked).await.unwrap(), RefreshTokenRotationOutcome::Reused);
        assert_eq!(found_opaque(&db, "a").await, None);
        assert!(!lives(&db, "f").await);
        assert_eq!(rotate(&db, "r3", "r4", NOW_S + 4).await, RefreshTokenRotationOutcome::Ended);
    }

    async fn that_a_grant_is_in_use_is_noted_once_a_minute(home) {
        let db = home.open().await;
        with_family(&db).await;
        let mut name = "r-f".to_owned();
        for (after_s, noted_s) in [(0, 0), (59, 0), (60, 60), (61, 60), (119, 60), (130, 130)] {
            let next = format!("r{after_s}");
            assert_eq!(rotate(&db, &name, &next, NOW_S + after_s).await, RefreshTokenRotationOutcome::Rotated);
            assert_eq!(db.active_grants_of_user("u").await.unwrap()[0].used_s, Some(NOW_S + noted_s), "after {after_s} s");
            name = next;
        }
        assert_eq!(rotate(&db, "r119", "r130", NOW_S + 131).await, RefreshTokenRotationOutcome::Repeated);
        assert_eq!(db.active_grants_of_user("u").await.unwrap()[0].used_s, Some(NOW_S + 130));
        for (after_s, family, noted_s) in [(150, "f2", 130), (190, "f3", 190)] {
            let issued = AuthorizationCodeRecord { expires_s: NOW_S + 900, ..code(family, family, "g") };
            db.issue_code(issued, None, None).await.unwrap();
            assert_eq!(db.active_grants_of_user("u").await.unwrap()[0].used_s, Some(NOW_S + 130));
            let redeemed = db.redeem_code(&hash(family), NOW_S + after_s, first(family, "g")).await.unwrap();
            assert_eq!(redeemed, CodeRedemptionOutcome::Granted);
            assert_eq!(db.active_grants_of_user("u").await.unwrap()[0].used_s, Some(NOW_S + noted_s), "after {after_s} s");
        }
    }

    async fn a_token_used_after_the_grace_time_ends_its_family(home) {
        let db = home.open().await;
        with_family(&db).await;
        assert_eq!(rotate(&db, "r-f", "r2", NOW_S).await, RefreshTokenRotationOutcome::Rotated);
        let asked = RefreshTokenRotation { access: Some(opaque("a")), ..rotation("r-f", "r2", NOW_S + GRACE_S + 1) };
        assert_eq!(db.rotate_refresh_token(asked).await.unwrap(), RefreshTokenRotationOutcome::Reused);
        assert_eq!(found_opaque(&db, "a").await, None);
        assert!(!lives(&db, "f").await);
        for name in ["r-f", "r2"] {
            assert!(db.find_refresh_token(&hash(name)).await.unwrap().unwrap().revoked, "{name}");
            assert_eq!(rotate(&db, name, "r3", NOW_S + GRACE_S + 1).await, RefreshTokenRotationOutcome::Ended, "{name}");
        }
        assert!(!exists(&db, "r3").await);
    }

    async fn an_old_token_ends_its_family_however_far_the_chain_went_on(home) {
        let db = home.open().await;
        with_family(&db).await;
        for (n, (name, next)) in [("r-f", "r2"), ("r2", "r3"), ("r3", "r4")].into_iter().enumerate() {
            let now_s = NOW_S + 100 * i64::try_from(n).unwrap();
            assert_eq!(rotate(&db, name, next, now_s).await, RefreshTokenRotationOutcome::Rotated);
        }
        assert_eq!(rotate(&db, "r-f", "r2", NOW_S + 300).await, RefreshTokenRotationOutcome::Reused);
        assert_eq!(rotate(&db, "r4", "r5", NOW_S + 300).await, RefreshTokenRotationOutcome::Ended);
    }

    async fn a_token_whose_time_or_family_is_over_gives_nothing(home) {
        let db = home.open().await;
        with_family(&db).await;
        assert_eq!(rotate(&db, "never", "r2", NOW_S).await, RefreshTokenRotationOutcome::Unknown);
        assert_eq!(rotate(&db, "r-f", "r2", NOW_S + 500).await, RefreshTokenRotationOutcome::Ended, "the token's time");
        let long = RefreshTokenRecord { expires_s: NOW_S + 9000, ..refresh("long", "f2") };
        let tokens = FirstFamilyTokens { family: family("f2", None), access: None, refresh: Some(long) };
        db.store_grantless_family(tokens).await.unwrap();
        let mut asked = rotation("long", "r2", NOW_S + 1000);
        asked.successor.family_id = "f2".to_owned();
        let ended = db.rotate_refresh_token(asked.clone()).await.unwrap();
        assert_eq!(ended, RefreshTokenRotationOutcome::Ended, "the family's time");
        let wrong = db.rotate_refresh_token(rotation("long", "r2", NOW_S)).await.unwrap();
        assert_eq!(wrong, RefreshTokenRotationOutcome::Unknown, "a successor of another family");
        assert!(!exists(&db, "r2").await);
        assert!(lives(&db, "f").await && lives(&db, "f2").await, "none of it is a reuse");
        asked.now_s = NOW_S + 999;
        assert_eq!(db.rotate_refresh_token(asked).await.unwrap(), RefreshTokenRotationOutcome::Rotated);
    }

    async fn a_revoked_family_stays_revoked(home) {
        let db = home.open().await;
        with_family(&db).await;
        for nobodys in ["other", "f\0"] {
            assert!(!db.revoke_family(nobodys, NOW_S).await.unwrap());
        }
        assert!(lives(&db, "f").await);
        assert!(db.revoke_family("f", NOW_S).await.unwrap());
        assert!(!db.revoke_family("f", NOW_S + 1).await.unwrap());
        assert!(!lives(&db, "f").await);
        assert_eq!(rotate(&db, "r-f", "r2", NOW_S + 1).await, RefreshTokenRotationOutcome::Ended);
        assert_eq!(db.active_grants_of_user("u").await.unwrap().len(), 1, "the grant stays");
    }

    async fn of_twenty_simultaneous_uses_one_rotates_and_the_others_repeat(home) {
        let nodes = [home.open().await, home.open().await];
        with_family(&nodes[0]).await;
        let mut name = "r-f".to_owned();
        for round in 0..10 {
            let next = format!("r{round}");
            let outcomes = rotate_at_once(&nodes, &name, &next, NOW_S + round).await;
            assert_eq!(count(&outcomes, RefreshTokenRotationOutcome::Rotated), 1, "{outcomes:?}");
            assert_eq!(count(&outcomes, RefreshTokenRotationOutcome::Repeated), 19, "{outcomes:?}");
            assert!(lives(&nodes[0], "f").await);
            name = next;
        }
        assert_eq!(home.ask("SELECT family_id FROM refresh_token").await.len(), 11);
        assert_eq!(home.ask("SELECT token_id FROM opaque_token").await.len(), 200);

        let late = rotate_at_once(&nodes, "r-f", "r0", NOW_S + GRACE_S + 1).await;
        let (reused, ended) = (count(&late, RefreshTokenRotationOutcome::Reused), count(&late, RefreshTokenRotationOutcome::Ended));
        assert!(reused >= 1 && reused + ended == 20, "{late:?}");
        assert!(!lives(&nodes[1], "f").await);
        assert_eq!(home.ask("SELECT token_id FROM opaque_token").await.len(), 200);
    }

    async fn a_family_revoked_while_its_token_is_used_is_revoked(home) {
        let nodes = [home.open().await, home.open().await];
        with_family(&nodes[0]).await;
        let mut all = JoinSet::new();
        for n in 0..10 {
            let db = nodes[n % 2].clone();
            all.spawn(async move {
                if n == 5 {
                    db.revoke_family("f", NOW_S).await.unwrap();
                } else {
                    let _ = rotate(&db, "r-f", "r2", NOW_S).await;
                }
            });
        }
        all.join_all().await;
        assert!(!lives(&nodes[0], "f").await);
        let after = rotate(&nodes[0], "r2", "r3", NOW_S).await;
        assert!(matches!(after, RefreshTokenRotationOutcome::Ended | RefreshTokenRotationOutcome::Unknown), "{after:?}");
    }

    async fn what_ended_is_forgotten_and_the_rest_kept(home) {
        let db = home.open().await;
        with_family(&db).await;
        let short = TokenFamily { expires_s: NOW_S + 10, ..family("f2", None) };
        let tokens = FirstFamilyTokens { family: short, access: Some(opaque("a")), refresh: None };
        db.store_grantless_family(tokens).await.unwrap();
        assert_eq!(db.delete_authorizations_ended_before(NOW_S + 10).await.unwrap(), 0);
        assert_eq!(db.delete_authorizations_ended_before(NOW_S + 11).await.unwrap(), 1, "the second family");
        assert!(lives(&db, "f").await && !lives(&db, "f2").await);
        assert_eq!(db.delete_authorizations_ended_before(NOW_S + 61).await.unwrap(), 1, "the code");
        assert_eq!(db.delete_authorizations_ended_before(NOW_S + 501).await.unwrap(), 1, "the refresh token");
        assert!(lives(&db, "f").await && !exists(&db, "r-f").await);
        assert_eq!(db.delete_authorizations_ended_before(NOW_S + 1001).await.unwrap(), 1, "the first family");
        assert_eq!(db.active_grants_of_user("u").await.unwrap().len(), 1, "a grant lasts until it is taken back");
        let again = db.redeem_code(&hash("c"), NOW_S, first("f", "g")).await.unwrap();
        assert_eq!(again, CodeRedemptionOutcome::Unknown);
    }
}
