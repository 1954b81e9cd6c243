//! Admission: one claim of a nonce holds, whatever happens at once and wherever.

use std::sync::Arc;

use auth_storage::{AuthDatabase, JtiClaimTask};
use fhir_store::{ResourceStore as _, ResourceWrite, WriteOperation};
use oauth_core::ports::{
    AccessTokenStore as _, ExpiringJti, JtiClaim, JtiClaimOutcome, JtiClaimResult, ReplayStore as _,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::home::{NOW_S, NOW_US, told};

/// First second of some window of an hour.
const BOUNDARY_S: i64 = 500_000 * 3600;

fn asks(jti: &str, now_s: i64, expires_s: i64) -> JtiClaim {
    JtiClaim {
        client_id: "payer".into(),
        organization_id: None,
        nonce: Some(ExpiringJti { jti: jti.to_owned(), expires_s }),
        now_s,
    }
}

async fn claim(admissions: &JtiClaimTask, jti: &str, now_s: i64, expires_s: i64) -> JtiClaimOutcome {
    admissions.claim_jti(asks(jti, now_s, expires_s)).await.unwrap().claim
}

/// Lets all of them ask at once and counts those whose claim held.
async fn fresh_of(asked: Vec<(Arc<JtiClaimTask>, JtiClaim)>) -> usize {
    let mut waiting = JoinSet::new();
    for (admissions, admission) in asked {
        waiting.spawn(async move { admissions.claim_jti(admission).await.unwrap().claim });
    }
    waiting.join_all().await.into_iter().filter(|claim| *claim == JtiClaimOutcome::Fresh).count()
}

fn start(db: &AuthDatabase) -> Arc<JtiClaimTask> {
    Arc::new(JtiClaimTask::start(db))
}

told! {
    async fn of_fifty_simultaneous_claims_of_one_nonce_one_holds(home) {
        let admissions = start(&home.open().await);
        let asked = (0..50).map(|_| (Arc::clone(&admissions), asks("n", NOW_S, NOW_S + 300)));
        assert_eq!(fresh_of(asked.collect()).await, 1);
        assert_eq!(claim(&admissions, "n", NOW_S + 300, NOW_S + 600).await, JtiClaimOutcome::Replayed);
    }

    async fn of_claims_on_two_nodes_one_holds(home) {
        let nodes = [start(&home.open().await), start(&home.open().await)];
        for round in 0..20 {
            let jti = format!("n{round}");
            let asked = (0..50).map(|n| (Arc::clone(&nodes[n % 2]), asks(&jti, NOW_S, NOW_S + 300)));
            assert_eq!(fresh_of(asked.collect()).await, 1, "{jti}");
        }
    }

    async fn of_claims_on_both_sides_of_a_boundary_one_holds(home) {
        let nodes = [start(&home.open().await), start(&home.open().await)];
        for round in 0..20 {
            let jti = format!("n{round}");
            let times = [BOUNDARY_S - 1, BOUNDARY_S];
            let asked = (0..50).map(|n| {
                (Arc::clone(&nodes[n % 2]), asks(&jti, times[n / 2 % 2], BOUNDARY_S + 200))
            });
            assert_eq!(fresh_of(asked.collect()).await, 1, "{jti}");
        }
    }

    async fn simultaneous_claims_of_different_nonces_all_hold(home) {
        let nodes = [start(&home.open().await), start(&home.open().await)];
        let asked = (0..700).map(|n| (Arc::clone(&nodes[n % 2]), asks(&format!("n{n}"), NOW_S, NOW_S + 300)));
        assert_eq!(fresh_of(asked.collect()).await, 700);
    }

    async fn a_nonce_is_its_clients_own(home) {
        let admissions = start(&home.open().await);
        assert_eq!(claim(&admissions, "n", NOW_S, NOW_S + 300).await, JtiClaimOutcome::Fresh);
        let other = JtiClaim { client_id: "other".into(), ..asks("n", NOW_S, NOW_S + 300) };
        assert_eq!(admissions.claim_jti(other).await.unwrap().claim, JtiClaimOutcome::Fresh);
    }

    async fn a_claim_outlives_the_process(home) {
        let db = home.open().await;
        let admissions = start(&db);
        assert_eq!(claim(&admissions, "n", NOW_S, NOW_S + 300).await, JtiClaimOutcome::Fresh);
        admissions.drain_and_stop().await;
        db.close().await;
        let admissions = start(&home.open().await);
        assert_eq!(claim(&admissions, "n", NOW_S + 1, NOW_S + 300).await, JtiClaimOutcome::Replayed);
    }

    async fn a_replay_in_the_next_window_is_found(home) {
        let admissions = start(&home.open().await);
        let (before, after, expires) = (BOUNDARY_S - 10, BOUNDARY_S + 5, BOUNDARY_S + 200);
        assert_eq!(claim(&admissions, "n", before, expires).await, JtiClaimOutcome::Fresh);
        assert_eq!(claim(&admissions, "n", after, expires).await, JtiClaimOutcome::Replayed);
        assert_eq!(claim(&admissions, "n", after, expires + 100).await, JtiClaimOutcome::Replayed);
    }

    async fn a_replay_at_a_node_whose_clock_is_behind_is_found(home) {
        let admissions = start(&home.open().await);
        let (before, after, expires) = (BOUNDARY_S - 10, BOUNDARY_S + 5, BOUNDARY_S + 200);
        assert_eq!(claim(&admissions, "n", after, expires).await, JtiClaimOutcome::Fresh);
        assert_eq!(claim(&admissions, "n", before, expires).await, JtiClaimOutcome::Replayed);
    }

    async fn a_nonce_is_free_again_once_it_expired(home) {
        let admissions = start(&home.open().await);
        let expires = BOUNDARY_S + 100;
        assert_eq!(claim(&admissions, "n", BOUNDARY_S - 10, expires).await, JtiClaimOutcome::Fresh);
        assert_eq!(claim(&admissions, "n", expires, expires + 100).await, JtiClaimOutcome::Replayed);
        assert_eq!(claim(&admissions, "n", expires + 1, expires + 100).await, JtiClaimOutcome::Fresh);
        assert_eq!(claim(&admissions, "n", expires + 2, expires + 200).await, JtiClaimOutcome::Replayed);
        // Three windows on the table is used again, and nobody has emptied it.
        let later = BOUNDARY_S + 3 * 3600;
        assert_eq!(claim(&admissions, "n", later, later + 100).await, JtiClaimOutcome::Fresh);
        assert_eq!(claim(&admissions, "n", later, later + 100).await, JtiClaimOutcome::Replayed);
    }

    async fn housekeeping_takes_what_is_expired_and_nothing_else(home) {
        let db = home.open().await;
        let admissions = start(&db);
        let expires = BOUNDARY_S + 1900;
        assert_eq!(claim(&admissions, "reaches over", BOUNDARY_S - 10, expires).await, JtiClaimOutcome::Fresh);
        assert_eq!(claim(&admissions, "over", BOUNDARY_S - 10, BOUNDARY_S - 5).await, JtiClaimOutcome::Fresh);
        let rows = "SELECT CAST((SELECT count(*) FROM replay_0) + (SELECT count(*) FROM replay_1)
            + (SELECT count(*) FROM replay_2) AS TEXT)";
        db.delete_expired_tokens(BOUNDARY_S + 1799).await.unwrap();
        assert_eq!(home.ask(rows).await, ["3"]);
        db.delete_expired_tokens(BOUNDARY_S + 1800).await.unwrap();
        assert_eq!(home.ask(rows).await, ["1"]);
        assert_eq!(claim(&admissions, "reaches over", BOUNDARY_S + 1850, expires).await, JtiClaimOutcome::Replayed);
    }

    async fn a_nonce_to_be_kept_too_long_is_refused_and_not_claimed(home) {
        let admissions = start(&home.open().await);
        assert!(admissions.claim_jti(asks("n", NOW_S, NOW_S + 3600)).await.is_err());
        assert_eq!(claim(&admissions, "n", NOW_S, NOW_S + 3599).await, JtiClaimOutcome::Fresh);
    }

    async fn an_id_with_a_nul_fails_alone(home) {
        let admissions = start(&home.open().await);
        let nul = JtiClaim { organization_id: Some("o\0".into()), ..asks("n", NOW_S, NOW_S + 60) };
        assert!(admissions.claim_jti(nul).await.is_err());
        assert_eq!(claim(&admissions, "n", NOW_S, NOW_S + 60).await, JtiClaimOutcome::Fresh);
    }

    async fn admission_tells_the_versions_of_client_and_organization(home) {
        let db = home.open().await;
        let admissions = start(&db);
        let put = |key: &str, name: &str| ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Put(json!({"name": name})));
        let writes = vec![put("Client/payer", "a"), put("Organization/org", "b")];
        let written = db.transact_writes(writes, NOW_US).await.unwrap().unwrap();
        let version = |place: usize| written[place].stored_resource().map(|stored| stored.version);

        let alone = JtiClaim { nonce: None, ..asks("", NOW_S, 0) };
        let nothing = JtiClaimResult { claim: JtiClaimOutcome::NotAsked, client_version: version(0), organization_version: None };
        assert_eq!(admissions.claim_jti(alone.clone()).await.unwrap(), nothing);

        let both = JtiClaim { organization_id: Some("org".into()), ..asks("n", NOW_S, NOW_S + 60) };
        let found = JtiClaimResult { claim: JtiClaimOutcome::Fresh, client_version: version(0), organization_version: version(1) };
        assert_eq!(admissions.claim_jti(both).await.unwrap(), found);

        let unknown = JtiClaim { client_id: "x".into(), organization_id: Some("y".into()), ..alone };
        let nobody = JtiClaimResult { claim: JtiClaimOutcome::NotAsked, client_version: None, organization_version: None };
        assert_eq!(admissions.claim_jti(unknown).await.unwrap(), nobody);
    }

    async fn in_a_mixed_batch_each_request_gets_its_own_answer(home) {
        let db = home.open().await;
        let admissions = start(&db);
        let mut versions = Vec::new();
        for n in 0..10 {
            let put = ResourceWrite::unconditional(format!("Client/c{n}").parse().unwrap(), WriteOperation::Put(json!({"n": n})));
            let written = db.transact_writes(vec![put], NOW_US).await.unwrap().unwrap();
            versions.push(written[0].stored_resource().map(|stored| stored.version));
        }
        let put = ResourceWrite::unconditional("Organization/org".parse().unwrap(), WriteOperation::Put(json!({"name": "b"})));
        let written = db.transact_writes(vec![put], NOW_US).await.unwrap().unwrap();
        let organization = written[0].stored_resource().map(|stored| stored.version);
        // Every third asks without a nonce, then all of them: both ways of reading the versions.
        for unasked in [3, 1] {
            let mut waiting = JoinSet::new();
            for n in 0..200_usize {
                let admissions = Arc::clone(&admissions);
                let nonce = (n % unasked != 0).then(|| ExpiringJti { jti: format!("n{n}"), expires_s: NOW_S + 60 });
                let client_id = format!("c{}", n % 10).into();
                let organization_id = (n % 4 < 2).then(|| "org".into());
                let admission = JtiClaim { client_id, organization_id, nonce, now_s: NOW_S };
                waiting.spawn(async move { (n, admissions.claim_jti(admission).await.unwrap()) });
            }
            for (n, admitted) in waiting.join_all().await {
                assert_eq!(admitted.client_version, versions[n % 10]);
                assert_eq!(admitted.organization_version, organization.filter(|_| n % 4 < 2));
                assert_eq!(admitted.claim, if n % unasked == 0 { JtiClaimOutcome::NotAsked } else { JtiClaimOutcome::Fresh });
            }
        }
    }

    async fn stopping_answers_what_waits_and_admits_nothing_more(home) {
        let admissions = start(&home.open().await);
        assert_eq!(claim(&admissions, "n", NOW_S, NOW_S + 60).await, JtiClaimOutcome::Fresh);
        admissions.drain_and_stop().await;
        admissions.drain_and_stop().await;
        assert!(admissions.claim_jti(asks("m", NOW_S, NOW_S + 60)).await.is_err());
    }

    async fn a_database_that_is_gone_is_an_error_and_no_admission(home) {
        let db = home.open().await;
        let admissions = start(&db);
        db.close().await;
        assert!(admissions.claim_jti(asks("n", NOW_S, NOW_S + 60)).await.is_err());
        assert!(admissions.claim_jti(JtiClaim { nonce: None, ..asks("", NOW_S, 0) }).await.is_err());
    }
}
