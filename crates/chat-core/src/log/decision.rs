//! Decisions on the realm: taken on its newest state, and again when that changed before they were written.

use tokio::sync::Mutex;

use crate::StoreError;
use crate::log::commit::{CommitOutcome, RealmCommit};
use crate::log::store::RealmStore;
use crate::model::snapshot::RealmSnapshot;

/// How often a decision is taken again because another node was faster, before it is given up.
pub const DECISIONS_MAX: usize = 32;

/// A decision was given up: each time, what it was taken on changed before the decision was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StaleDecisionError {
    /// The realm changed.
    #[error("the realm changed faster than a decision on it")]
    Realm,
    /// A message changed.
    #[error("a message changed faster than a decision on it")]
    Message,
    /// A scheduled message changed.
    #[error("a scheduled message changed faster than a decision on it")]
    ScheduledMessage,
}

/// The reason why a decision that refuses nothing is not committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The realm changed faster.
    #[error(transparent)]
    Stale(#[from] StaleDecisionError),
}

/// The queue of this node's decisions on the realm: they are taken one after the other, so that only another node can
/// be faster.
#[derive(Debug, Default)]
pub struct DecisionQueue {
    turn: Mutex<()>,
}

/// A decision that holds.
#[derive(Debug)]
pub struct CommittedDecision<T> {
    /// What the decision returned.
    pub outcome: T,
    /// Whether it changed anything.
    pub is_written: bool,
}

impl DecisionQueue {
    /// Takes a decision on the newest realm and commits it, and takes it again when the realm changed in between.
    /// `decide` is given the realm and the commit to fill, whose time is set; a commit left empty is not written. A key
    /// that was shut out opens nothing on any node when this returns.
    ///
    /// # Errors
    /// Those of `decide`, or when the database failed or the realm changed each time.
    pub async fn commit<T, E>(
        &self,
        store: &dyn RealmStore,
        now_s: i64,
        decide: impl Fn(&RealmSnapshot, &mut RealmCommit) -> Result<T, E> + Send + Sync,
    ) -> Result<CommittedDecision<T>, E>
    where
        E: From<StoreError> + From<StaleDecisionError>,
    {
        let turn = self.turn.lock().await;
        for _ in 0..DECISIONS_MAX {
            let realm = store.realm();
            let mut commit = RealmCommit { decided_at: realm.changed(), at_s: now_s, ..RealmCommit::default() };
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
                    store.known_everywhere().await;
                }
                return Ok(CommittedDecision { outcome, is_written: true });
            }
        }
        Err(StaleDecisionError::Realm.into())
    }
}
