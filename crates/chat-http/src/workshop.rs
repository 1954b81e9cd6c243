//! Work that takes a core and much memory for a while: few pieces at a time, where it holds nobody up.

use std::sync::Arc;

use chat_pictures::MAX_DECODING_BYTES;
use tokio::sync::Semaphore;

use crate::error::Failure;

/// Pieces of work at once.
const AT_ONCE: usize = 2;
/// Bytes of memory that go with one permit.
const PERMIT_BYTES: u64 = 64 * 1024;
/// Permits of all pieces of work together: the largest picture alone, or several small ones.
const PERMITS: u32 = 6_144;
const _: () = assert!(MAX_DECODING_BYTES == PERMITS as u64 * PERMIT_BYTES);

/// Where such work is done.
pub(crate) struct Workshop {
    places: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

impl Default for Workshop {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), memory: Arc::new(Semaphore::new(PERMITS as usize)) }
    }
}

impl Workshop {
    /// Does work that takes so many bytes of memory, when there is a place and room for it. Both are held by the work and
    /// not by who waits for it: a caller that goes away does not end what it began, so it must not make room for more.
    ///
    /// Work that claims more than [`MAX_DECODING_BYTES`] is given those.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        bytes: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let no_place = |error| Failure::new("there is no place to work in", error);
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(no_place)?;
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(PERMITS).min(PERMITS);
        let memory = Arc::clone(&self.memory).acquire_many_owned(permits).await.map_err(no_place)?;
        let done = tokio::task::spawn_blocking(move || {
            let _held = (place, memory);
            work()
        });
        done.await.map_err(|error| Failure::new("the work ended", error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[tokio::test]
    async fn pictures_in_work_never_take_more_memory_than_there_is_for_them() {
        let workshop = Arc::new(Workshop::default());
        let (now, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for piece in 0..40_u64 {
            let (workshop, now, most) = (Arc::clone(&workshop), Arc::clone(&now), Arc::clone(&most));
            let bytes = MAX_DECODING_BYTES / (1 + piece % 4);
            tasks.spawn(async move {
                let work = move || {
                    most.fetch_max(now.fetch_add(bytes, Ordering::SeqCst) + bytes, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(bytes, Ordering::SeqCst);
                };
                workshop.run(bytes, work).await.unwrap();
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        let most = most.load(Ordering::SeqCst);
        assert!((MAX_DECODING_BYTES / 2..=MAX_DECODING_BYTES).contains(&most), "{most}");
    }
}
