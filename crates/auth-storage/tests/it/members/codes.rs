//! Authorization codes: issued under a grant, redeemed once.

use auth_storage::AuthDatabase;
use oauth_core::ports::{
    AuthorizationCodeState, AuthorizationCodeStore as _, CodeIssueOutcome, CodeRedemptionOutcome, ConsentGrant,
    ConsentGrantDecision, ConsentGrantStore as _, FirstFamilyTokens, SingleUseLaunchContext, TokenFamilyStore as _,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{code, delete, family, first, found_opaque, given, grant, hash, lives, opaque, put, with_family};
use crate::home::{NOW_S, told};

async fn issue(db: &AuthDatabase, name: &str, family_id: &str) {
    let is_there = db.active_grants_of_user("u").await.unwrap().iter().any(|grant| grant.id == "g");
    let given = (!is_there).then(|| given(grant("g")));
    let issued = db.issue_code(code(name, family_id, "g"), given, None).await.unwrap();
    assert_eq!(issued, CodeIssueOutcome::Issued);
}

async fn redeem(db: &AuthDatabase, name: &str, now_s: i64, family_id: &str) -> CodeRedemptionOutcome {
    db.redeem_code(&hash(name), now_s, first(family_id, "g")).await.unwrap()
}

/// Redeems one code this many times at once, in turn on each node.
async fn redeem_at_once(
    nodes: &[AuthDatabase],
    name: &str,
    family_id: &str,
    times: usize,
) -> Vec<CodeRedemptionOutcome> {
    let mut all = JoinSet::new();
    for n in 0..times {
        let (db, code, tokens) = (nodes[n % nodes.len()].clone(), hash(name), first(family_id, "g"));
        all.spawn(async move { db.redeem_code(&code, NOW_S, tokens).await.unwrap() });
    }
    all.join_all().await
}

fn count<T: PartialEq>(outcomes: &[T], outcome: &T) -> usize {
    outcomes.iter().filter(|other| *other == outcome).count()
}

told! {
    async fn a_code_is_found_as_issued_with_who_it_concerns(home) {
        let db = home.open().await;
        assert_eq!(db.find_code(&hash("c")).await.unwrap(), None);
        issue(&db, "c", "f").await;
        let found = AuthorizationCodeState { code: code("c", "f", "g"), used: false, client_version: None, user_version: None };
        let read = db.find_code(&hash("c")).await.unwrap().unwrap();
        assert_eq!(read, found);
        assert_eq!(read.code.authorization.to_string(), r#"{"z":1,"a":["x",null]}"#, "the order is kept");
        let (app, user) = (put(&db, "Client/app", json!({})).await, put(&db, "User/u", json!({})).await);
        let found = AuthorizationCodeState { client_version: Some(app), user_version: Some(user), ..found };
        assert_eq!(db.find_code(&hash("c")).await.unwrap(), Some(found.clone()));
        assert_eq!(redeem(&db, "c", NOW_S, "f").await, CodeRedemptionOutcome::Granted);
        assert_eq!(db.find_code(&hash("c")).await.unwrap(), Some(AuthorizationCodeState { used: true, ..found }));
    }

    async fn a_code_gives_its_family_and_tokens_once(home) {
        let db = home.open().await;
        issue(&db, "c", "f").await;
        assert!(!lives(&db, "f").await);
        let tokens = FirstFamilyTokens { access: Some(opaque("a")), ..first("f", "g") };
        let redeemed = db.redeem_code(&hash("c"), NOW_S + 59, tokens).await.unwrap();
        assert_eq!(redeemed, CodeRedemptionOutcome::Granted);
        assert!(lives(&db, "f").await);
        assert_eq!(found_opaque(&db, "a").await, Some(opaque("a")));
        let refresh = db.find_refresh_token(&hash("r-f")).await.unwrap().unwrap();
        assert_eq!((refresh.family, refresh.used_s, refresh.revoked), (family("f", Some("g")), None, false));
        assert_eq!(db.active_grants_of_user("u").await.unwrap()[0].used_s, Some(NOW_S + 59));

        assert_eq!(redeem(&db, "c", NOW_S + 59, "f").await, CodeRedemptionOutcome::AlreadyUsed { ended: true });
        assert!(!lives(&db, "f").await, "a second use ends what the first gave");
        assert!(db.find_refresh_token(&hash("r-f")).await.unwrap().unwrap().revoked);
        assert_eq!(redeem(&db, "c", NOW_S + 59, "f").await, CodeRedemptionOutcome::AlreadyUsed { ended: false });
    }

    async fn of_codes_at_one_moment_those_are_stored_whose_grant_is_there(home) {
        let db = home.open().await;
        issue(&db, "first", "f").await;
        let mut all = JoinSet::new();
        for n in 0..40 {
            let (db, grant_id) = (db.clone(), if n % 4 == 0 { "gone" } else { "g" });
            let code = code(&format!("c{n}"), &format!("f{n}"), grant_id);
            all.spawn(async move { (n, db.issue_code(code, None, None).await.unwrap()) });
        }
        for (n, issued) in all.join_all().await {
            let is_gone = n % 4 == 0;
            assert_eq!(issued, if is_gone { CodeIssueOutcome::GrantChanged } else { CodeIssueOutcome::Issued }, "{n}");
            let stored = db.find_code(&hash(&format!("c{n}"))).await.unwrap().map(|found| found.code);
            assert_eq!(stored, (!is_gone).then(|| code(&format!("c{n}"), &format!("f{n}"), "g")), "{n}");
        }
    }

    async fn a_second_use_ends_the_family_however_late(home) {
        let db = home.open().await;
        with_family(&db).await;
        assert!(lives(&db, "f").await);
        assert_eq!(redeem(&db, "c", NOW_S + 900, "f").await, CodeRedemptionOutcome::AlreadyUsed { ended: true });
        assert!(!lives(&db, "f").await);
    }

    async fn a_code_that_expired_or_never_was_gives_nothing(home) {
        let db = home.open().await;
        issue(&db, "c", "f").await;
        assert_eq!(redeem(&db, "c", NOW_S + 60, "f").await, CodeRedemptionOutcome::Expired);
        assert_eq!(redeem(&db, "never", NOW_S, "f").await, CodeRedemptionOutcome::Unknown);
        assert!(!lives(&db, "f").await);
        assert_eq!(db.find_refresh_token(&hash("r-f")).await.unwrap(), None);
        assert_eq!(db.active_grants_of_user("u").await.unwrap()[0].used_s, None);
        assert_eq!(redeem(&db, "c", NOW_S + 59, "f").await, CodeRedemptionOutcome::Granted, "a refusal does not use it up");
    }

    async fn tokens_of_another_family_or_grant_are_not_stored(home) {
        let db = home.open().await;
        issue(&db, "c", "f").await;
        for tokens in [first("other", "g"), first("f", "other")] {
            assert!(db.redeem_code(&hash("c"), NOW_S, tokens).await.is_err());
        }
        assert!(!lives(&db, "f").await && !lives(&db, "other").await);
        assert_eq!(redeem(&db, "c", NOW_S, "f").await, CodeRedemptionOutcome::Granted);
    }

    async fn a_code_under_a_withdrawn_grant_gives_nothing(home) {
        let db = home.open().await;
        issue(&db, "c", "f").await;
        assert!(db.revoke_grant("u", "g", "rest").await.unwrap());
        let found = db.find_code(&hash("c")).await.unwrap().unwrap();
        assert_eq!((found.used, found.user_version), (false, None));
        assert_eq!(redeem(&db, "c", NOW_S, "f").await, CodeRedemptionOutcome::Withdrawn);
        assert!(!lives(&db, "f").await);
        // Allowed again, it is another grant.
        db.issue_code(code("d", "f2", "g2"), Some(given(grant("g2"))), None).await.unwrap();
        assert_eq!(redeem(&db, "c", NOW_S, "f").await, CodeRedemptionOutcome::Withdrawn);
    }

    async fn a_code_under_a_grant_that_is_there_writes_nothing_of_it(home) {
        let db = home.open().await;
        with_family(&db).await;
        let before = db.active_grants_of_user("u").await.unwrap();
        assert_eq!(db.issue_code(code("d", "f2", "g"), None, None).await.unwrap(), CodeIssueOutcome::Issued);
        assert_eq!(db.active_grants_of_user("u").await.unwrap(), before);
        assert_eq!(redeem(&db, "d", NOW_S, "f2").await, CodeRedemptionOutcome::Granted);
        assert!(lives(&db, "f").await);
    }

    async fn a_grant_that_is_widened_keeps_what_came_of_it(home) {
        let db = home.open().await;
        with_family(&db).await;
        let wider = ConsentGrant { requested: "openid".to_owned(), granted: "launch".to_owned(), ..grant("g") };
        let given = ConsentGrantDecision { grant: wider.clone(), replaces: Some(grant("g")) };
        assert_eq!(db.issue_code(code("d", "f2", "g"), Some(given), None).await.unwrap(), CodeIssueOutcome::Issued);
        assert_eq!(db.active_grants_of_user("u").await.unwrap(), [ConsentGrant { used_s: Some(NOW_S), ..wider }]);
        assert_eq!(redeem(&db, "d", NOW_S, "f2").await, CodeRedemptionOutcome::Granted);
        assert!(lives(&db, "f").await);
    }

    async fn a_grant_of_another_id_ends_everything_that_came_of_the_one_it_replaces(home) {
        let db = home.open().await;
        with_family(&db).await;
        issue(&db, "open", "f1").await;
        let less = ConsentGrant { granted: "patient/Patient.rs".to_owned(), ..grant("h") };
        let given = ConsentGrantDecision { grant: less.clone(), replaces: Some(grant("g")) };
        assert_eq!(db.issue_code(code("d", "f2", "h"), Some(given), None).await.unwrap(), CodeIssueOutcome::Issued);
        assert_eq!(db.active_grants_of_user("u").await.unwrap(), [less]);
        assert!(!lives(&db, "f").await);
        assert_eq!(db.find_refresh_token(&hash("r-f")).await.unwrap(), None);
        assert_eq!(redeem(&db, "open", NOW_S, "f1").await, CodeRedemptionOutcome::Withdrawn);
        let tokens = first("f2", "h");
        assert_eq!(db.redeem_code(&hash("d"), NOW_S, tokens).await.unwrap(), CodeRedemptionOutcome::Granted);
    }

    async fn a_grant_is_never_made_again_from_what_was_read_of_it(home) {
        let db = home.open().await;
        let launch = || Some(SingleUseLaunchContext { jti: "l".to_owned(), expires_s: NOW_S + 300 });
        let wider = || ConsentGrant { granted: "launch".to_owned(), ..grant("g") };
        let refused = async |code, given: Option<ConsentGrantDecision>| {
            let before = db.active_grants_of_user("u").await.unwrap();
            assert_eq!(db.issue_code(code, given.clone(), launch()).await.unwrap(), CodeIssueOutcome::GrantChanged, "{given:?}");
            assert_eq!(db.find_code(&hash("c")).await.unwrap(), None);
            assert_eq!(db.active_grants_of_user("u").await.unwrap(), before);
        };
        // Taken back since, whether the visit would keep it, widen it or replace it.
        refused(code("c", "f", "g"), None).await;
        refused(code("c", "f", "g"), Some(ConsentGrantDecision { grant: wider(), replaces: Some(grant("g")) })).await;
        refused(code("c", "f", "h"), Some(ConsentGrantDecision { grant: grant("h"), replaces: Some(grant("g")) })).await;
        // Decided since by another visit.
        issue(&db, "first", "f").await;
        refused(code("c", "f", "h"), Some(given(grant("h")))).await;
        refused(code("c", "f", "h"), Some(ConsentGrantDecision { grant: grant("h"), replaces: Some(wider()) })).await;
        refused(code("c", "f", "g"), Some(ConsentGrantDecision { grant: wider(), replaces: Some(wider()) })).await;
        // None of it used up the launch.
        assert_eq!(db.issue_code(code("c", "f", "g"), None, launch()).await.unwrap(), CodeIssueOutcome::Issued);
        assert_eq!(db.issue_code(code("d", "f", "g"), None, launch()).await.unwrap(), CodeIssueOutcome::LaunchUsed);
    }

    async fn of_thirty_two_visits_at_once_under_one_grant_each_gets_a_code(home) {
        let nodes = [home.open().await, home.open().await];
        issue(&nodes[0], "first", "f").await;
        for n in 0..8 {
            issue(&nodes[0], &format!("r{n}"), &format!("r{n}")).await;
        }
        let mut all = JoinSet::new();
        for n in 0..40 {
            let db = nodes[n % 2].clone();
            // Tokens that are given meanwhile write to the grant.
            all.spawn(async move {
                if n < 8 {
                    let name = format!("r{n}");
                    db.redeem_code(&hash(&name), NOW_S, first(&name, "g")).await.unwrap() == CodeRedemptionOutcome::Granted
                } else {
                    let issued = db.issue_code(code(&format!("c{n}"), "f", "g"), None, None).await.unwrap();
                    issued == CodeIssueOutcome::Issued
                }
            });
        }
        assert!(all.join_all().await.into_iter().all(|done| done));
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM authorization_code").await, ["41"]);
    }

    async fn a_visit_while_its_grant_is_taken_back_leaves_no_grant_and_no_good_code(home) {
        let nodes = [home.open().await, home.open().await];
        for round in 0..20 {
            issue(&nodes[0], &format!("first{round}"), "f").await;
            let mut all = JoinSet::new();
            for n in 0..6 {
                let (db, name) = (nodes[n % 2].clone(), format!("c{round}-{n}"));
                all.spawn(async move {
                    if n == 3 {
                        db.revoke_grant("u", "g", "rest").await.unwrap();
                    } else {
                        db.issue_code(code(&name, &name, "g"), None, None).await.unwrap();
                    }
                });
            }
            all.join_all().await;
            assert_eq!(nodes[1].active_grants_of_user("u").await.unwrap(), []);
            for n in 0..6 {
                let name = format!("c{round}-{n}");
                let outcome = redeem(&nodes[0], &name, NOW_S, &name).await;
                assert!(matches!(outcome, CodeRedemptionOutcome::Withdrawn | CodeRedemptionOutcome::Unknown), "{outcome:?}");
            }
        }
    }

    async fn grants_are_one_each_for_user_app_and_patient(home) {
        let db = home.open().await;
        let grants = [
            ConsentGrant { created_s: NOW_S + 4, ..grant("a") },
            ConsentGrant { created_s: NOW_S + 3, patient_id: None, ..grant("b") },
            ConsentGrant { created_s: NOW_S + 2, patient_id: Some("q".to_owned()), ..grant("c") },
            ConsentGrant { created_s: NOW_S + 1, client_id: "other".to_owned(), ..grant("d") },
            ConsentGrant { user_id: "v".to_owned(), ..grant("e") },
        ];
        for grant in grants.clone() {
            db.issue_code(code(&grant.id, &grant.id, &grant.id), Some(given(grant)), None).await.unwrap();
        }
        assert_eq!(db.active_grants_of_user("u").await.unwrap(), grants[..4]);
        assert_eq!(db.active_grants_of_user("v").await.unwrap(), grants[4..]);
        assert_eq!(db.active_grants_of_user("u\0").await.unwrap(), []);
    }

    async fn a_launch_is_used_once_and_the_second_stores_nothing(home) {
        let db = home.open().await;
        let launch = || Some(SingleUseLaunchContext { jti: "l".to_owned(), expires_s: NOW_S + 300 });
        let issued = db.issue_code(code("c", "f", "g"), Some(given(grant("g"))), launch()).await.unwrap();
        assert_eq!(issued, CodeIssueOutcome::Issued);
        let other = ConsentGrant { patient_id: None, ..grant("h") };
        let refused = db.issue_code(code("d", "f2", "h"), Some(given(other)), launch()).await.unwrap();
        assert_eq!(refused, CodeIssueOutcome::LaunchUsed);
        assert_eq!(db.find_code(&hash("d")).await.unwrap(), None);
        assert_eq!(db.active_grants_of_user("u").await.unwrap(), [grant("g")]);
    }

    async fn of_twenty_simultaneous_uses_of_a_launch_one_holds(home) {
        let nodes = [home.open().await, home.open().await];
        issue(&nodes[0], "first", "f").await;
        let mut all = JoinSet::new();
        for n in 0..20 {
            let db = nodes[n % 2].clone();
            all.spawn(async move {
                let launch = SingleUseLaunchContext { jti: "l".to_owned(), expires_s: NOW_S + 300 };
                let given = (n % 3 == 0).then(|| ConsentGrantDecision { grant: grant("g"), replaces: Some(grant("g")) });
                db.issue_code(code(&format!("c{n}"), "f", "g"), given, Some(launch)).await.unwrap()
            });
        }
        assert_eq!(count(&all.join_all().await, &CodeIssueOutcome::Issued), 1);
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM authorization_code").await, ["2"]);
    }

    async fn of_twenty_simultaneous_first_decisions_one_is_stored(home) {
        let nodes = [home.open().await, home.open().await];
        let mut all = JoinSet::new();
        for n in 0..20 {
            let db = nodes[n % 2].clone();
            let id = format!("g{n}");
            all.spawn(async move { db.issue_code(code(&id, &id, &id), Some(given(grant(&id))), None).await.unwrap() });
        }
        let outcomes = all.join_all().await;
        assert_eq!(count(&outcomes, &CodeIssueOutcome::Issued), 1);
        assert_eq!(count(&outcomes, &CodeIssueOutcome::GrantChanged), 19);
        let under = "SELECT a.grant_id FROM authorization_code a JOIN member_grant g ON g.id = a.grant_id";
        assert_eq!(home.ask(under).await.len(), 1);
    }

    async fn of_twenty_simultaneous_redemptions_one_is_granted_and_the_others_end_it(home) {
        let nodes = [home.open().await, home.open().await];
        for round in 0..10 {
            let name = format!("c{round}");
            issue(&nodes[0], &name, &name).await;
            let outcomes = redeem_at_once(&nodes, &name, &name, 20).await;
            assert_eq!(count(&outcomes, &CodeRedemptionOutcome::Granted), 1, "{outcomes:?}");
            assert_eq!(count(&outcomes, &CodeRedemptionOutcome::AlreadyUsed { ended: true }), 1, "{outcomes:?}");
            assert_eq!(count(&outcomes, &CodeRedemptionOutcome::AlreadyUsed { ended: false }), 18, "{outcomes:?}");
            assert!(!lives(&nodes[0], &name).await);
            assert_eq!(home.ask("SELECT id FROM token_family").await.len(), round + 1);
        }
    }

    async fn of_codes_issued_at_once_one_that_cannot_be_stored_fails_alone(home) {
        let db = home.open().await;
        issue(&db, "c0", "f0").await;
        let mut all = JoinSet::new();
        for n in 0..40 {
            let db = db.clone();
            all.spawn(async move {
                let name = format!("c{n}");
                (n, db.issue_code(code(&name, &name, "g"), None, None).await)
            });
        }
        for (n, issued) in all.join_all().await {
            assert_eq!(issued.ok(), (n > 0).then_some(CodeIssueOutcome::Issued), "{n}");
        }
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM authorization_code").await, ["40"]);
    }

    async fn a_database_that_is_gone_is_an_error_and_no_answer(home) {
        let db = home.open().await;
        issue(&db, "c", "f").await;
        db.close().await;
        assert!(db.redeem_code(&hash("c"), NOW_S, first("f", "g")).await.is_err());
        assert!(db.issue_code(code("d", "f2", "g"), None, None).await.is_err());
        assert!(db.find_code(&hash("c")).await.is_err());
        assert_eq!(redeem(&home.open().await, "c", NOW_S, "f").await, CodeRedemptionOutcome::Granted);
    }

    async fn a_grant_taken_back_while_its_code_is_redeemed_leaves_no_living_family(home) {
        let nodes = [home.open().await, home.open().await];
        for round in 0..20 {
            let name = format!("c{round}");
            issue(&nodes[0], &name, &name).await;
            let mut all = JoinSet::new();
            for n in 0..6 {
                let (db, name) = (nodes[n % 2].clone(), name.clone());
                all.spawn(async move {
                    if n < 4 {
                        let _ = db.redeem_code(&hash(&name), NOW_S, first(&name, "g")).await.unwrap();
                    } else {
                        db.revoke_grant("u", "g", "rest").await.unwrap();
                    }
                });
            }
            all.join_all().await;
            assert!(!lives(&nodes[0], &name).await);
            assert_eq!(home.ask("SELECT id FROM token_family").await, [""; 0]);
            assert_eq!(nodes[1].active_grants_of_user("u").await.unwrap(), []);
        }
    }

    async fn a_grant_is_taken_back_by_its_person_alone(home) {
        let db = home.open().await;
        with_family(&db).await;
        for (user_id, grant_id) in [("v", "g"), ("u", "other"), ("u\0", "g"), ("u", "g\0")] {
            assert!(!db.revoke_grant(user_id, grant_id, "rest").await.unwrap());
        }
        assert!(lives(&db, "f").await);
        assert!(db.revoke_grant("u", "g", "rest").await.unwrap());
        assert!(!lives(&db, "f").await);
        assert_eq!(db.find_refresh_token(&hash("r-f")).await.unwrap(), None);
        assert_eq!(db.active_grants_of_user("u").await.unwrap(), []);
        assert!(!db.revoke_grant("u", "g", "rest").await.unwrap());
    }

    async fn what_belongs_to_a_client_or_user_goes_with_it(home) {
        let db = home.open().await;
        for gone in ["Client/app", "User/u"] {
            put(&db, "Client/app", json!({})).await;
            put(&db, "User/u", json!({})).await;
            let name = gone.split_once('/').unwrap().1;
            db.issue_code(code(name, name, name), Some(given(grant(name))), None).await.unwrap();
            assert_eq!(db.redeem_code(&hash(name), NOW_S, first(name, name)).await.unwrap(), CodeRedemptionOutcome::Granted);
            let alone = format!("alone-{name}");
            let tokens = FirstFamilyTokens { family: family(&alone, None), access: None, refresh: None };
            db.store_grantless_family(tokens).await.unwrap();
            assert!(lives(&db, name).await && lives(&db, &alone).await);
            delete(&db, gone).await;
            put(&db, gone, json!({})).await;
            assert!(!lives(&db, name).await && !lives(&db, &alone).await, "{gone}");
            assert_eq!(db.active_grants_of_user("u").await.unwrap(), [], "{gone}");
        }
    }

    async fn what_was_answered_outlives_the_process(home) {
        let db = home.open().await;
        with_family(&db).await;
        issue(&db, "d", "f2").await;
        // Not closed: as if the process had been killed.
        std::mem::forget(db);
        let db = home.open().await;
        assert!(lives(&db, "f").await);
        assert_eq!(redeem(&db, "c", NOW_S, "f").await, CodeRedemptionOutcome::AlreadyUsed { ended: true });
        assert_eq!(redeem(&db, "d", NOW_S, "f2").await, CodeRedemptionOutcome::Granted);
    }
}
