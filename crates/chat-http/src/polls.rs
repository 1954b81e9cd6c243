//! Who waits for events of which queue: at most one at a time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The reason why a poll is over before an event or its time came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollEnd {
    /// A later poll of the same queue came to this node.
    Superseded,
    /// The queue was deleted.
    Deleted,
    /// The server stops.
    Stopping,
}

/// The long polls that run on this node. Those of other nodes end with their heartbeat.
#[derive(Default)]
pub struct RunningPolls(Mutex<PollTable>);

/// The polls by queue.
#[derive(Default)]
struct PollTable {
    by_queue: HashMap<Box<str>, (u64, oneshot::Sender<PollEnd>)>,
    next_number: u64,
    stopping: bool,
}

/// The registration of a running poll, removed when dropped.
pub(crate) struct PollSlot<'a> {
    polls: &'a RunningPolls,
    queue_id: &'a str,
    number: u64,
    ended: oneshot::Receiver<PollEnd>,
}

impl RunningPolls {
    /// Answers every running and future long poll at once, because the server stops: a client that was answered asks
    /// again elsewhere or later, which costs it no event.
    pub fn answer_all_on_shutdown(&self) {
        let mut table = self.lock();
        table.stopping = true;
        for (_, (_, end)) in table.by_queue.drain() {
            // It may have got its answer in this moment.
            let _ = end.send(PollEnd::Stopping);
        }
    }

    /// Ends the queue's poll that runs, and begins another.
    pub(crate) fn begin<'a>(&'a self, queue_id: &'a str) -> PollSlot<'a> {
        let (end, ended) = oneshot::channel();
        let mut table = self.lock();
        let number = table.next_number;
        table.next_number += 1;
        if table.stopping {
            // Its own receiver is there yet.
            let _ = end.send(PollEnd::Stopping);
            return PollSlot { polls: self, queue_id, number, ended };
        }
        if let Some((_, end)) = table.by_queue.insert(queue_id.into(), (number, end)) {
            // It may have got its answer in this moment.
            let _ = end.send(PollEnd::Superseded);
        }
        PollSlot { polls: self, queue_id, number, ended }
    }

    /// Ends the queue's poll that runs, because the queue is gone.
    pub(crate) fn end(&self, queue_id: &str) {
        if let Some((_, end)) = self.lock().by_queue.remove(queue_id) {
            let _ = end.send(PollEnd::Deleted);
        }
    }

    fn lock(&self) -> MutexGuard<'_, PollTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PollSlot<'_> {
    /// Returns when the poll is to end.
    pub(crate) async fn ended(&mut self) -> PollEnd {
        (&mut self.ended).await.unwrap_or(PollEnd::Superseded)
    }
}

impl Drop for PollSlot<'_> {
    fn drop(&mut self) {
        let mut table = self.polls.lock();
        if table.by_queue.get(self.queue_id).is_some_and(|(number, _)| *number == self.number) {
            table.by_queue.remove(self.queue_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_later_poll_ends_the_earlier_and_keeps_its_own_place() {
        let polls = RunningPolls::default();
        let mut first = polls.begin("q");
        let mut second = polls.begin("q");
        let _other = polls.begin("other");
        assert_eq!(first.ended().await, PollEnd::Superseded);
        drop(first);
        polls.end("q");
        assert_eq!(second.ended().await, PollEnd::Deleted);
    }

    #[tokio::test]
    async fn when_the_server_stops_polls_end_and_later_ones_at_once() {
        let polls = RunningPolls::default();
        let mut before = polls.begin("q");
        polls.answer_all_on_shutdown();
        assert_eq!(before.ended().await, PollEnd::Stopping);
        assert_eq!(polls.begin("q").ended().await, PollEnd::Stopping);
        assert!(polls.lock().by_queue.is_empty());
    }

    #[test]
    fn a_poll_that_is_dropped_leaves_nothing_behind() {
        let polls = RunningPolls::default();
        drop((polls.begin("q"), polls.begin("q")));
        assert!(polls.lock().by_queue.is_empty());
    }
}
