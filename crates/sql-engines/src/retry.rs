//! Transactions that are tried again while others are in the way.

use std::future::Future;
use std::time::{Duration, Instant};

use crate::fault::is_contention;

/// How often a transaction that lost against others is tried at most.
const ATTEMPTS: u32 = 5;
/// How long the first repetition waits; each further one waits one such step longer.
const RETRY_STEP: Duration = Duration::from_millis(5);
/// How long a transaction is tried. On SQLite, losing against another process takes as long as the busy timeout.
const RETRY_MAX: Duration = Duration::from_secs(5);

/// An error of a transaction that says whether the transaction may be retried.
pub trait RetryableError {
    /// Returns whether other transactions conflicted.
    fn is_contention(&self) -> bool;
}

impl RetryableError for sqlx::Error {
    fn is_contention(&self) -> bool {
        is_contention(self)
    }
}

/// Runs a transaction, and retries it on contention: five attempts at most, and none begins later than about five
/// seconds after the first.
///
/// # Errors
/// The error of the last attempt.
pub async fn retry_on_contention<T, E, F>(mut attempt: impl FnMut() -> F) -> Result<T, E>
where
    E: RetryableError,
    F: Future<Output = Result<T, E>>,
{
    let began = Instant::now();
    for tried in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_contention() && began.elapsed() < RETRY_MAX => {
                tokio::time::sleep(RETRY_STEP * tried).await;
            }
            done => return done,
        }
    }
    attempt().await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Refusal {
        Contended,
        Final,
    }

    impl RetryableError for Refusal {
        fn is_contention(&self) -> bool {
            *self == Self::Contended
        }
    }

    /// Runs an attempt that is contended so many times, and returns how often it ran.
    async fn attempts(contended: u32, last: Result<(), Refusal>) -> (u32, Result<(), Refusal>) {
        let runs = Cell::new(0);
        let last = Cell::new(Some(last));
        let done = retry_on_contention(|| async {
            runs.set(runs.get() + 1);
            if runs.get() <= contended { Err(Refusal::Contended) } else { last.take().unwrap() }
        });
        let done = done.await;
        (runs.get(), done)
    }

    #[tokio::test]
    async fn a_contended_transaction_is_tried_five_times_at_most() {
        assert_eq!(attempts(0, Ok(())).await, (1, Ok(())));
        assert_eq!(attempts(4, Ok(())).await, (5, Ok(())));
        assert_eq!(attempts(9, Ok(())).await, (5, Err(Refusal::Contended)));
    }

    #[tokio::test]
    async fn another_failure_is_final() {
        assert_eq!(attempts(1, Err(Refusal::Final)).await, (2, Err(Refusal::Final)));
    }
}
