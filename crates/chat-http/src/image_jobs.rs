//! Jobs that take a core and much memory for a while: few at a time, on threads that serve no requests.

use std::sync::Arc;

use chat_pictures::MAX_DECODING_BYTES;
use tokio::sync::Semaphore;

use crate::error::InternalError;

/// Jobs that run at the same time.
const AT_ONCE: usize = 2;
/// Bytes of memory that go with one permit.
const PERMIT_BYTES: u64 = 64 * 1024;
/// Permits of all jobs together: the largest picture alone, or several small ones.
const PERMITS: u32 = 6_144;
const _: () = assert!(MAX_DECODING_BYTES == PERMITS as u64 * PERMIT_BYTES);

/// A pool for blocking work, bounded in jobs and in memory.
pub(crate) struct JobPool {
    slots: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

impl Default for JobPool {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(AT_ONCE)), memory: Arc::new(Semaphore::new(PERMITS as usize)) }
    }
}

impl JobPool {
    /// Runs a job that takes so many bytes of memory, when a slot and memory are free. Both are held by the job and not
    /// by the caller that waits for it: a caller that goes away does not end what it began, so it must not make room
    /// for more.
    ///
    /// A job that claims more than [`MAX_DECODING_BYTES`] is given those.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        bytes: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, InternalError> {
        let closed = |error| InternalError::new("there is no place to work in", error);
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(closed)?;
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(PERMITS).min(PERMITS);
        let memory = Arc::clone(&self.memory).acquire_many_owned(permits).await.map_err(closed)?;
        let done = tokio::task::spawn_blocking(move || {
            let _held = (slot, memory);
            work()
        });
        done.await.map_err(|error| InternalError::new("the work ended", error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[tokio::test]
    async fn pictures_in_work_never_take_more_memory_than_there_is_for_them() {
        let pool = Arc::new(JobPool::default());
        let (now, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for piece in 0..40_u64 {
            let (pool, now, most) = (Arc::clone(&pool), Arc::clone(&now), Arc::clone(&most));
            let bytes = MAX_DECODING_BYTES / (1 + piece % 4);
            tasks.spawn(async move {
                let work = move || {
                    most.fetch_max(now.fetch_add(bytes, Ordering::SeqCst) + bytes, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(bytes, Ordering::SeqCst);
                };
                pool.run(bytes, work).await.unwrap();
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        let most = most.load(Ordering::SeqCst);
        assert!((MAX_DECODING_BYTES / 2..=MAX_DECODING_BYTES).contains(&most), "{most}");
    }
}
