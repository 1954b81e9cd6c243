//! How long a statement waits for a Postgres that does not answer.
//!
//! A database that hangs, or a machine that vanished, answers with neither a row nor an error, and the operating system
//! waits for it for a quarter of an hour. Statements as such have no time limit, because a large one may run for
//! long. So a task ([`crate::pg_pools::PgPools::watch`]) asks Postgres for a sign of life, and while none comes every
//! statement of this node fails: those that wait, at once, and new ones before they begin.
//!
//! Roads not taken: a limit for each statement, which would end the large ones too; `statement_timeout`, which needs a
//! server that answers; a limit for each request, which leaves the tasks of a node and its connections waiting.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

/// Whether Postgres is out of reach. A clone is another handle on the same.
#[derive(Debug, Clone)]
pub(crate) struct Outage(Arc<watch::Sender<bool>>);

impl Default for Outage {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Outage {
    /// Returns what `work` with Postgres returns, or an error as soon as Postgres is out of reach. The work is dropped
    /// then, and whether its last statement was carried out is not known, as when a connection is lost.
    pub(crate) fn bound<'a, T: Send + 'a>(
        &'a self,
        work: impl Future<Output = Result<T, sqlx::Error>> + Send + 'a,
    ) -> Pin<Box<dyn Future<Output = Result<T, sqlx::Error>> + Send + 'a>> {
        // In a box, because callers run many statements and would make room for each.
        Box::pin(async move {
            let mut state = self.0.subscribe();
            tokio::select! {
                biased;
                _ = state.wait_for(|is_out| *is_out) => Err(out_of_reach()),
                done = work => done,
            }
        })
    }

    /// Returns whether Postgres is out of reach.
    pub(crate) fn is_on(&self) -> bool {
        *self.0.borrow()
    }

    /// Notes whether Postgres is out of reach. Returns whether that is news.
    pub(crate) fn note(&self, is_out: bool) -> bool {
        self.0.send_if_modified(|was_out| std::mem::replace(was_out, is_out) != is_out)
    }
}

fn out_of_reach() -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "Postgres does not answer"))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::task::JoinSet;

    use super::*;
    use crate::fault::failed;

    #[tokio::test]
    async fn a_statement_that_waits_ends_when_postgres_is_out_of_reach() {
        let outage = Outage::default();
        let waits = outage.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { waits.bound(pending::<Result<(), sqlx::Error>>()).await });
        tokio::task::yield_now().await;
        assert!(tasks.try_join_next().is_none());
        assert!(outage.note(true) && !outage.note(true));
        let ended = tasks.join_next().await.unwrap().unwrap();
        assert!(failed(ended.unwrap_err()).is_database_unavailable());
    }

    #[tokio::test]
    async fn no_statement_begins_during_an_outage_and_all_do_after_it() {
        let outage = Outage::default();
        assert_eq!(outage.bound(ready(Ok(1))).await.unwrap(), 1);
        outage.note(true);
        let begun = outage.bound(async { panic!("a statement began") });
        let refused: Result<(), sqlx::Error> = begun.await;
        assert!(failed(refused.unwrap_err()).is_database_unavailable());
        assert!(outage.note(false));
        assert_eq!(outage.bound(ready(Ok(2))).await.unwrap(), 2);
    }
}
