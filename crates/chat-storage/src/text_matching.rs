//! Comparing texts with what a narrow searches for: processor work, kept off the threads that serve requests.

use std::sync::Arc;

use chat_core::StoreError;
use tokio::sync::Semaphore;

use crate::fault::failed;

/// Pages of messages that are compared at once; the others wait without holding a thread.
const AT_ONCE: usize = 2;

/// The places for such work.
pub(crate) struct TextMatching {
    places: Arc<Semaphore>,
}

impl Default for TextMatching {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl TextMatching {
    /// Does the work on the pool for blocking work when there is a place.
    ///
    /// **Invariant:** the work holds the place, not its caller: a caller that goes away does not end the work, so it
    /// makes no room for more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(failed)?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn texts_are_not_compared_on_the_thread_that_serves_requests() {
        let serving = std::thread::current().id();
        assert_ne!(TextMatching::default().run(|| std::thread::current().id()).await.unwrap(), serving);
    }

    #[tokio::test]
    async fn searches_whose_callers_went_away_do_not_pile_up() {
        let matching = TextMatching::default();
        let mut ends = Vec::new();
        for _ in 0..AT_ONCE {
            let (end, ended) = mpsc::channel::<()>();
            let mut asked = Box::pin(matching.run(move || ended.recv().is_ok()));
            assert!(asked.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(asked);
            ends.push(end);
        }
        let mut next = Box::pin(matching.run(|| 7));
        assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(ends);
        assert_eq!(next.await.unwrap(), 7);
    }
}
