//! One question for all who ask it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chat_core::StoreError;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::fault::failed;

/// Least time from the beginning of a round to that of the next while many ask. Who comes alone does not wait; of
/// many at once each waits for this long at most and pays for a small part of a question.
const PACE: Duration = Duration::from_millis(1);
/// How long many are taken to ask after a round answered several. Not from one round to the next: of a crowd, too,
/// a user is now and then the only one of a round, and would begin the next at once.
const CROWD: Duration = Duration::from_millis(20);

/// Merges concurrent callers of one query into rounds: who comes while it is being asked joins the next round, and one
/// of them asks for all.
///
/// An answer that was on its way before a user came may be older than what they have to see, so nobody is given
/// the answer of a round that had begun when they came.
#[derive(Default)]
pub(crate) struct Coalescer {
    /// How many have begun.
    begun: AtomicU64,
    /// The last one that has ended, and how. Held by who asks.
    ended: Mutex<LastRound>,
}

#[derive(Default)]
struct LastRound {
    round: u64,
    began: Option<Instant>,
    /// When a user was last answered by a round that another asked for.
    joined: Option<Instant>,
    failed: Option<Arc<StoreError>>,
}

/// What the others of a round are told whose question was not answered.
#[derive(Debug, thiserror::Error)]
#[error("the question asked for all of them failed")]
struct NotAnswered(#[source] Arc<StoreError>);

impl Coalescer {
    /// Waits until the question was asked and answered after this call, by this caller or by another.
    ///
    /// # Errors
    /// That of the round. Who comes later asks again.
    pub(crate) async fn ask(&self, question: impl Future<Output = Result<(), StoreError>>) -> Result<(), StoreError> {
        let before = self.begun.load(Ordering::SeqCst);
        let mut ended = self.ended.lock().await;
        if ended.round > before {
            ended.joined = Some(Instant::now());
        } else {
            let many_ask = ended.joined.is_some_and(|joined| joined.elapsed() < CROWD);
            if let Some(last) = ended.began.filter(|_| many_ask) {
                sleep_until(last + PACE).await;
            }
            // A round whose asker went away ends with the next.
            let round = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
            let began = Some(Instant::now());
            let failed = question.await.err().map(Arc::new);
            *ended = LastRound { round, began, failed, joined: ended.joined };
        }
        ended.failed.as_ref().map_or(Ok(()), |error| Err(failed(NotAnswered(Arc::clone(error)))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use tokio::sync::Semaphore;
    use tokio::task::JoinSet;

    use super::*;

    /// A question that counts how often it was asked and is answered when it may be.
    struct Asked {
        rounds: Coalescer,
        times: AtomicU32,
        answers: Semaphore,
    }

    impl Asked {
        fn new() -> Arc<Self> {
            Arc::new(Self { rounds: Coalescer::default(), times: AtomicU32::new(0), answers: Semaphore::new(0) })
        }

        async fn ask(&self, fails: bool) -> Result<(), StoreError> {
            let question = async {
                self.times.fetch_add(1, Ordering::SeqCst);
                self.answers.acquire().await.unwrap().forget();
                tokio::task::yield_now().await;
                if fails { Err(failed("no")) } else { Ok(()) }
            };
            self.rounds.ask(question).await
        }

        fn times(&self) -> u32 {
            self.times.load(Ordering::SeqCst)
        }
    }

    /// Lets everything run that can, for longer than a round waits for the one before it. The clock stands still
    /// while anything runs.
    async fn settle() {
        tokio::time::sleep(10 * PACE).await;
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_while_a_question_is_asked_is_answered_by_the_next_one() {
        let asked = Asked::new();
        let mut askers = JoinSet::new();
        let ask = |askers: &mut JoinSet<_>| {
            let asked = Arc::clone(&asked);
            askers.spawn(async move { asked.ask(false).await.unwrap() });
        };
        ask(&mut askers);
        settle().await;
        for _ in 0..20 {
            ask(&mut askers);
        }
        settle().await;
        assert_eq!(asked.times(), 1);
        asked.answers.add_permits(1);
        settle().await;
        // The first alone has its answer; one asks for the twenty.
        assert_eq!(asked.times(), 2);
        assert!(askers.try_join_next().is_some() && askers.try_join_next().is_none());
        asked.answers.add_permits(1);
        while let Some(ended) = askers.join_next().await {
            ended.unwrap();
        }
        assert_eq!(asked.times(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_alone_asks_and_does_not_wait() {
        let asked = Asked::new();
        asked.answers.add_permits(3);
        for times in 1..=3 {
            let before = Instant::now();
            asked.ask(false).await.unwrap();
            assert_eq!(asked.times(), times);
            assert_eq!(before.elapsed(), Duration::ZERO);
            settle().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn many_at_once_wait_for_each_other_and_one_after_another_do_not() {
        let asked = Asked::new();
        asked.answers.add_permits(100);
        let before = Instant::now();
        for _ in 0..20 {
            asked.ask(false).await.unwrap();
        }
        assert_eq!((asked.times(), before.elapsed()), (20, Duration::ZERO));

        let mut askers = JoinSet::new();
        for _ in 0..30 {
            let asked = Arc::clone(&asked);
            askers.spawn(async move {
                for _ in 0..10 {
                    asked.ask(false).await.unwrap();
                    tokio::task::yield_now().await;
                }
            });
        }
        while let Some(ended) = askers.join_next().await {
            ended.unwrap();
        }
        // 300 were answered; the first alone, the others of its first turn together, and so on.
        let rounds = asked.times() - 20;
        assert!((10..=20).contains(&rounds), "{rounds} questions");
        assert!(before.elapsed() >= (rounds - 2) * PACE, "{rounds} questions in {:?}", before.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_of_its_round_and_of_no_other() {
        let asked = Asked::new();
        let mut askers = JoinSet::new();
        for _ in 0..3 {
            let asked = Arc::clone(&asked);
            askers.spawn(async move { asked.ask(true).await.is_err() });
        }
        settle().await;
        asked.answers.add_permits(2);
        while let Some(ended) = askers.join_next().await {
            assert!(ended.unwrap());
        }
        assert_eq!(asked.times(), 2);
        asked.answers.add_permits(1);
        asked.ask(false).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_while_asking_leaves_the_question_to_the_next() {
        let asked = Asked::new();
        let (first, second) = (Arc::clone(&asked), Arc::clone(&asked));
        let mut askers = JoinSet::new();
        let goes = askers.spawn(async move { first.ask(false).await.is_ok() });
        settle().await;
        askers.spawn(async move { second.ask(false).await.is_ok() });
        settle().await;
        goes.abort();
        settle().await;
        assert_eq!(asked.times(), 2);
        asked.answers.add_permits(1);
        assert!(askers.join_next().await.unwrap().unwrap_err().is_cancelled());
        assert!(askers.join_next().await.unwrap().unwrap());
    }
}
