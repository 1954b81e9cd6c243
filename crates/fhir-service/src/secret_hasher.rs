//! Hashing of passwords and short secrets: expensive work that few requests may do at once.

use std::sync::Arc;

use oauth_core::ports::HashingPool;
use tokio::sync::{Semaphore, oneshot};

use crate::error::ServiceError;

/// Hashes that are made at once: 15 ms and 19 MiB each.
const AT_ONCE: usize = 2;

/// The threads that hash, and how many hash at once.
pub(crate) struct SecretHasher {
    places: Arc<Semaphore>,
    pool: Arc<dyn HashingPool>,
}

impl SecretHasher {
    /// Creates a hasher with all places free.
    pub(crate) fn new(pool: Arc<dyn HashingPool>) -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), pool }
    }

    /// Does the work when there is a place.
    ///
    /// **Why** the work holds the place, and not the request that waits for it: a caller that goes away does not end
    /// what it began, so it must not make room for more.
    ///
    /// # Errors
    /// When the pool ended under the work.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| ServiceError::HashingEnded)?;
        let (done, result) = oneshot::channel();
        self.pool.submit_work(Box::new(move || {
            let made = work();
            drop(place);
            // A caller that went away needs no answer.
            let _ = done.send(made);
        }));
        result.await.map_err(|_| ServiceError::HashingEnded)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn callers_that_go_away_do_not_pile_up_hashes() {
        let hashing =
            SecretHasher::new(Arc::new(|work: Box<dyn FnOnce() + Send>| drop(tokio::task::spawn_blocking(work))));
        let mut ends = Vec::new();
        for _ in 0..AT_ONCE {
            let (end, ended) = mpsc::channel::<()>();
            let mut asked = Box::pin(hashing.run(move || ended.recv()));
            assert!(asked.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(asked);
            ends.push(end);
        }
        assert_eq!(hashing.places.available_permits(), 0, "the work goes on");
        let mut next = Box::pin(hashing.run(|| 7));
        assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(ends);
        assert_eq!(next.await.unwrap(), 7);
    }
}
