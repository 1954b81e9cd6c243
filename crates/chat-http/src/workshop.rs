//! Work that takes a core for a while: few pieces at a time, where it holds nobody up.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::error::Failure;

/// Pieces of work at once. Each may hold a decoded picture in memory.
const AT_ONCE: usize = 2;

/// Where pictures are made.
pub(crate) struct Workshop {
    places: Arc<Semaphore>,
}

impl Default for Workshop {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Workshop {
    /// Does the work when there is a place. The place is held by the work and not by who waits for it: a caller that
    /// goes away does not end what it began, so it must not make room for more of it.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|error| Failure::new("there is no place to work in", error))?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(|error| Failure::new("the work ended", error))
    }
}
