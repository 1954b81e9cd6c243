//! Named background tasks that run until their owner stops them.
//!
//! A task of a server that ends by itself leaves a server that only seems to run. A [`TaskSet`] reports such an end
//! with the name of the task, so that the owner can stop the server. It refuses detached tasks: dropping the set aborts
//! all of them.
//!
//! **Decision:** this is a separate crate because the storage crates and the binaries both own tasks, and a storage
//! crate must not depend on a listener. The road not taken is `tokio_util::task::TaskTracker`, which neither names
//! tasks nor reports that one has ended.

use std::collections::HashMap;
use std::task::{Context, Poll, ready};

use tokio::task::{Id, JoinError, JoinSet};

/// A set of named background tasks that its owner joins; dropping it aborts them.
#[derive(Debug, Default)]
pub struct TaskSet {
    tasks: JoinSet<()>,
    running: HashMap<Id, Running>,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    name: &'static str,
    may_return: bool,
}

/// A task that panicked, or that returned although it should run until it is stopped.
#[derive(Debug, thiserror::Error)]
#[error("the task {name:?} ended")]
pub struct UnexpectedTaskEnd {
    /// The name it was spawned under.
    pub name: &'static str,
    /// The panic that ended it; `None` when it returned.
    #[source]
    pub cause: Option<JoinError>,
}

impl TaskSet {
    /// Spawns a task that runs until it is stopped.
    pub fn spawn_until_stopped(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.add(Running { name, may_return: false }, task);
    }

    /// Spawns a task that may return when it has done its work; only a panic of it is reported.
    pub fn spawn_finite(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.add(Running { name, may_return: true }, task);
    }

    fn add(&mut self, running: Running, task: impl Future<Output = ()> + Send + 'static) {
        let handle = self.tasks.spawn(task);
        self.running.insert(handle.id(), running);
    }

    /// Polls for a task that panicked, or that returned although it should run until it is stopped.
    ///
    /// Pending while there is none, also while the set is empty; the caller polls again after it has spawned a task.
    pub fn poll_unexpected_end(&mut self, context: &mut Context<'_>) -> Poll<UnexpectedTaskEnd> {
        loop {
            let Some(joined) = ready!(self.tasks.poll_join_next_with_id(context)) else { return Poll::Pending };
            let (id, cause) = match joined {
                Ok((id, ())) => (id, None),
                Err(error) => (error.id(), Some(error)),
            };
            let Some(Running { name, may_return }) = self.running.remove(&id) else { continue };
            if cause.is_some() || !may_return {
                return Poll::Ready(UnexpectedTaskEnd { name, cause });
            }
        }
    }

    /// Waits until every task has ended by itself, and logs each panic.
    pub async fn join_all(&mut self) {
        while let Some(joined) = self.tasks.join_next_with_id().await {
            if let Err(error) = joined {
                let name = self.running.get(&error.id()).map_or("", |running| running.name);
                tracing::error!(task = name, %error, "task failed");
            }
        }
    }

    /// Aborts every task and waits until all have ended.
    pub async fn abort_and_join_all(&mut self) {
        self.tasks.shutdown().await;
        self.running.clear();
    }
}

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};

    use tokio::task::yield_now;

    use super::*;

    /// Returns what is reported when every task has had its turns on the one thread of a test.
    async fn ended(tasks: &mut TaskSet) -> Option<UnexpectedTaskEnd> {
        for _ in 0..10 {
            yield_now().await;
        }
        poll_fn(|context| match tasks.poll_unexpected_end(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    #[tokio::test]
    async fn a_task_that_panics_or_returns_is_reported_by_its_name() {
        let mut tasks = TaskSet::default();
        tasks.spawn_until_stopped("runs", pending());
        assert!(ended(&mut tasks).await.is_none());
        tasks.spawn_until_stopped("returns", async {});
        let report = ended(&mut tasks).await.unwrap();
        assert_eq!((report.name, report.cause.is_none()), ("returns", true));
        tasks.spawn_finite("panics", async { panic!("out of order") });
        let report = ended(&mut tasks).await.unwrap();
        assert_eq!((report.name, report.cause.unwrap().is_panic()), ("panics", true));
    }

    #[tokio::test]
    async fn a_task_with_an_end_and_a_task_that_is_stopped_are_not_reported() {
        let mut tasks = TaskSet::default();
        tasks.spawn_finite("ends", async {});
        tasks.spawn_until_stopped("runs", pending());
        assert!(ended(&mut tasks).await.is_none());
        tasks.abort_and_join_all().await;
        assert!(ended(&mut tasks).await.is_none());
    }
}
