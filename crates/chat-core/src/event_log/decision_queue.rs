//! Decisions on the realm: taken on its newest state, and again when that changed before they were written.

use tokio::sync::Mutex;

use crate::StoreError;
use crate::event_log::realm_commit::{CommitOutcome, RealmCommit};
use crate::event_log::store::RealmStore;
use crate::model::realm_snapshot::RealmSnapshot;

/// The maximum number of times a decision is retried because another node committed first.
pub const MAX_DECISION_ATTEMPTS: usize = 32;

/// A decision was given up because the realm changed before each attempt was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} changed faster than a decision on it")]
pub struct StaleDecisionError(pub &'static str);

/// The queue of this node's decisions on the realm, which are taken one at a time, so that only another node can commit
/// in between.
#[derive(Debug, Default)]
pub struct RealmDecisionQueue {
    turn: Mutex<()>,
}

/// A completed decision: its result, and whether it changed anything.
#[derive(Debug)]
pub struct CommittedDecision<T> {
    /// What the decision returned.
    pub outcome: T,
    /// Whether it changed anything.
    pub is_written: bool,
}

impl RealmDecisionQueue {
    /// Takes a decision on the newest realm and commits it unless the commit is empty; retries when the realm changed
    /// in the meantime. `decide` fills the commit, whose time is set; access that it revokes is closed on all nodes
    /// when this returns. A key that was shut out opens nothing on any node when this returns.
    ///
    /// # Errors
    /// Those of `decide`, or when the database failed or the realm changed each time.
    pub async fn decide_and_commit<T, E>(
        &self,
        store: &dyn RealmStore,
        now_s: i64,
        decide: impl Fn(&RealmSnapshot, &mut RealmCommit) -> Result<T, E> + Send + Sync,
    ) -> Result<CommittedDecision<T>, E>
    where
        E: From<StoreError> + From<StaleDecisionError>,
    {
        let turn = self.turn.lock().await;
        for _ in 0..MAX_DECISION_ATTEMPTS {
            let realm = store.snapshot();
            let mut commit = RealmCommit { decided_at: realm.changed_at(), at_s: now_s, ..RealmCommit::default() };
            let outcome = decide(&realm, &mut commit)?;
            if commit.is_empty() {
                return Ok(CommittedDecision { outcome, is_written: false });
            }
            let revokes = commit.revokes_access(&realm);
            drop(realm);
            if let CommitOutcome::Done { .. } = store.commit(commit).await? {
                // Other decisions need not wait for this.
                drop(turn);
                if revokes {
                    store.wait_for_all_nodes().await;
                }
                return Ok(CommittedDecision { outcome, is_written: true });
            }
        }
        Err(StaleDecisionError("the realm").into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;

    use super::*;
    use crate::event_log::store::Credentials;
    use crate::id::{EventId, UserId};
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    /// A realm that another node changes so many times before it takes a commit.
    struct BusyRealm {
        changes_left: AtomicUsize,
    }

    #[async_trait]
    impl RealmStore for BusyRealm {
        fn snapshot(&self) -> Arc<RealmSnapshot> {
            Arc::new(testing::realm(RealmPermissionSettings::default(), Vec::new()))
        }

        async fn commit(&self, _: RealmCommit) -> Result<CommitOutcome, StoreError> {
            let left = self.changes_left.load(Ordering::Relaxed);
            self.changes_left.store(left.saturating_sub(1), Ordering::Relaxed);
            let done = CommitOutcome::Done { first: EventId(11), last: EventId(11) };
            Ok(if left == 0 { done } else { CommitOutcome::Stale(EventId(11)) })
        }

        async fn load_credentials(&self, _: UserId) -> Result<Option<Credentials>, StoreError> {
            Ok(None)
        }

        fn is_realm_current(&self) -> bool {
            true
        }

        async fn refresh_realm(&self) -> Result<(), StoreError> {
            Ok(())
        }

        async fn wait_for_all_nodes(&self) {}
    }

    /// Returns how often the decision was taken, and what became of it.
    async fn taken(changes: usize, fill: fn(&mut RealmCommit)) -> (usize, Result<bool, String>) {
        let store = BusyRealm { changes_left: AtomicUsize::new(changes) };
        let count = AtomicUsize::new(0);
        let decide = |_: &RealmSnapshot, commit: &mut RealmCommit| {
            count.fetch_add(1, Ordering::Relaxed);
            fill(commit);
            Ok::<_, Box<dyn std::error::Error>>(())
        };
        let committed = RealmDecisionQueue::default().decide_and_commit(&store, testing::NOW_S, decide).await;
        let committed = committed.map(|committed| committed.is_written).map_err(|error| error.to_string());
        (count.into_inner(), committed)
    }

    fn renamed(commit: &mut RealmCommit) {
        commit.changes.push(RealmChange::Realm(Box::new(testing::realm_of(RealmPermissionSettings::default()))));
    }

    #[tokio::test]
    async fn a_decision_is_taken_again_while_the_realm_changes_and_given_up_at_last() {
        assert_eq!(taken(0, renamed).await, (1, Ok(true)));
        assert_eq!(taken(MAX_DECISION_ATTEMPTS - 1, renamed).await, (MAX_DECISION_ATTEMPTS, Ok(true)));
        let given_up = Err("the realm changed faster than a decision on it".to_owned());
        assert_eq!(taken(MAX_DECISION_ATTEMPTS, renamed).await, (MAX_DECISION_ATTEMPTS, given_up));
    }

    #[tokio::test]
    async fn a_decision_that_changes_nothing_is_not_written() {
        assert_eq!(taken(MAX_DECISION_ATTEMPTS, |_| {}).await, (1, Ok(false)));
    }
}
