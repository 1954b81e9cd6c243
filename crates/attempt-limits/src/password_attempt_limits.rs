//! Limits of wrong passwords.
//!
//! Wrong passwords are counted in four ways. Each allows a number at once, and one more after every pause:
//!
//! | Counted for | At once | Pause | Slows down |
//! |---|---|---|---|
//! | an account, from one neighborhood | [`ServerAttemptPolicy`] | [`ServerAttemptPolicy`] | guesses at one account |
//! | an account, from anywhere | 500 | 5 s | the same from many networks |
//! | a subscriber | 60 | 1 s | one password tried with many accounts |
//! | a neighborhood | 600 | 0.1 s | the same from all addresses of a network |
//!
//! A stranger cannot lock a member out cheaply: attempts from one neighborhood delay that one alone, and attempts from
//! everywhere do not delay a member who signed in from the same neighborhood before. An account is the name that was
//! typed, whether it exists or not, and attempts are counted before the account is looked up, so a refusal does not
//! show whether there is an account. One thing shows: a guesser who has used up the second limit of an account sees, in
//! a neighborhood where it was not used up, whether the account signs in there.
//!
//! Attempts that are not settled yet are not wrong ones: where they take all the room that is left, a further attempt
//! waits until one of them is settled. So any number of right passwords may arrive at once, and of
//! concurrent guesses no more are answered than the limit allows.
//!
//! Not specified; each node counts for itself, because the only shared place is the database, and a row for each wrong
//! password would let strangers write to it. So behind N nodes a guesser has up to N times as many tries, and a restart
//! forgets the counts and where members signed in from. The road not taken is a cookie for each device that signed in:
//! it would outlive both, but needs a key, an end and a list, for the few who sign in from a new neighborhood while
//! their account is attacked from dozens of networks.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, Semaphore};

use crate::address_networks;

/// Places of each counter, so that memory is bounded whatever strangers send (3 MiB, once all are used). Two accounts
/// with the same place share its limit; no client can aim at that, because places depend on a secret of the process.
const PLACES: usize = 1 << 16;

/// The most attempts that may wait, on all accounts together, for other attempts to be settled.
pub const WAITING_ATTEMPTS_MAX: usize = 256;

/// A time that is this much earlier than the one before, in microseconds, is of a clock that was set back: concurrent
/// attempts do not lie an hour apart.
const CLOCK_SET_BACK_US: u64 = 3_600_000_000;

/// A rate limit of attempts: a number at once, then one more after every pause.
#[derive(Debug, Clone, Copy)]
pub struct AttemptRateLimit {
    /// Attempts that are allowed at once.
    pub at_once: u32,
    /// Microseconds after which one more is allowed.
    pub pause_us: u64,
}

/// The part of the attempt limits that differs between servers.
#[derive(Debug, Clone, Copy)]
pub struct ServerAttemptPolicy {
    /// The limit of an account from one neighborhood.
    pub account_nearby: AttemptRateLimit,
    /// What a right password does to the wrong ones before it.
    pub after_success: FailuresAfterSuccess,
}

/// The effect of a right password on earlier failures from the same neighborhood: they stay counted, or do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailuresAfterSuccess {
    /// Earlier failures stay counted.
    KeepFailures,
    /// Earlier failures from the neighborhood are forgotten.
    ForgetFailures,
}

/// The kinds of attempt counters, in their order: account from one neighborhood, account, subscriber, neighborhood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptCounterKind {
    /// Attempts on an account from one neighborhood.
    AccountNearby,
    /// Attempts on an account from anywhere, except those from a neighborhood that it signed in from.
    Account,
    /// Attempts from a subscriber's network, whatever the account.
    Subscriber,
    /// Attempts from a neighborhood, whatever the account.
    Neighborhood,
}

const KINDS: [AttemptCounterKind; 4] = [
    AttemptCounterKind::AccountNearby,
    AttemptCounterKind::Account,
    AttemptCounterKind::Subscriber,
    AttemptCounterKind::Neighborhood,
];

/// The origin of an attempt: unknown, a device address, or an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOrigin<'a> {
    /// The listener knows no address.
    Unknown,
    /// The person's device.
    Device(IpAddr),
    /// The server of an app that has authenticated, by its id: its address is not the person's, and all its users share
    /// it.
    App(&'a str),
}

impl AttemptOrigin<'_> {
    /// Returns the bytes of the subscriber's network of a device address, the key of
    /// [`AttemptCounterKind::Subscriber`]; `None` for the other origins.
    #[must_use]
    pub fn subscriber_network(self) -> Option<Vec<u8>> {
        match self {
            Self::Device(address) => Some(bytes(address_networks::subscriber_network(address))),
            Self::Unknown | Self::App(_) => None,
        }
    }

    /// Returns the key of the neighborhood counters: a tag of the kind of origin, and the network of a device or the id
    /// of an app.
    #[must_use]
    pub fn neighborhood_with_kind(self) -> (&'static [u8], Vec<u8>) {
        match self {
            Self::Unknown => (b"unknown", Vec::new()),
            Self::Device(address) => (b"device", bytes(address_networks::neighborhood_network(address))),
            Self::App(id) => (b"app", id.into()),
        }
    }
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

/// The limiter of password attempts on one node.
pub struct AttemptLimiter {
    secret: [u8; 32],
    after_success: FailuresAfterSuccess,
    state: Mutex<State>,
    /// Notified when an attempt was settled.
    settled: Notify,
    /// Places for attempts that wait for that.
    waiting: Semaphore,
}

struct State {
    /// The latest time of any attempt; the rule reads no clock.
    now_us: u64,
    counters: [Counter; 4],
    /// Marks of accounts and the neighborhoods they signed in from; a later one replaces an earlier one.
    regulars: Vec<u64>,
}

/// An attempt that was admitted. It counts as a wrong password, also when it is dropped, unless
/// [`record_outcome`](Self::record_outcome) says otherwise.
#[must_use]
pub struct AdmittedAttempt<'a> {
    attempts: &'a AttemptLimiter,
    /// Its place in each counter that it counts in.
    places: Places,
    regular: Option<u64>,
    outcome: AttemptOutcome,
}

type Places = [Option<u16>; 4];

/// The outcome of a password attempt: wrong, right or unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The password was wrong: the attempt counts.
    Wrong,
    /// The password was right: the attempt does not count, and the account is known to sign in from its neighborhood.
    Right,
    /// The password was not checked: it does not count.
    Unchecked,
}

/// The reason why an attempt is not admitted: too many failures, or too many waiting attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmitAttemptError {
    /// Too many wrong passwords came before.
    Held(AttemptLimitExceeded),
    /// [`WAITING_ATTEMPTS_MAX`] attempts wait already.
    Crowded,
}

/// The reason why an attempt is not admitted at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TryAdmitError {
    Held(AttemptLimitExceeded),
    /// Attempts that are not settled take the room that is left.
    Busy,
}

/// The limit that an attempt exceeds, with the time until the next one is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptLimitExceeded {
    /// The counter that is used up; of several the one with the longest wait.
    pub by: AttemptCounterKind,
    /// Attempts that the limit allows at once.
    pub at_once: u32,
    /// Microseconds until one more attempt is admitted.
    pub wait_us: u64,
    /// Microseconds until [`at_once`](Self::at_once) attempts are admitted again, when none is made in the meantime.
    pub whole_us: u64,
}

impl AttemptLimiter {
    /// Creates a limiter without counted attempts; `secret` is random and belongs to this process.
    #[must_use]
    pub fn new(secret: [u8; 32], policy: ServerAttemptPolicy) -> Self {
        let budgets = [
            policy.account_nearby,
            AttemptRateLimit { at_once: 500, pause_us: 5_000_000 },
            AttemptRateLimit { at_once: 60, pause_us: 1_000_000 },
            AttemptRateLimit { at_once: 600, pause_us: 100_000 },
        ];
        let state = State { now_us: 0, counters: budgets.map(Counter::new), regulars: vec![0; PLACES] };
        let (settled, waiting) = (Notify::new(), Semaphore::new(WAITING_ATTEMPTS_MAX));
        Self { secret, after_success: policy.after_success, state: Mutex::new(state), settled, waiting }
    }

    /// Admits an attempt on `account`, after waiting for unsettled attempts that use up the limit. `now_us` returns the
    /// current time in UNIX microseconds; it is called at every try.
    ///
    /// # Errors
    /// [`AdmitAttemptError::Held`] at once when failures use up a limit, [`AdmitAttemptError::Crowded`] when the
    /// attempt would have to wait beside [`WAITING_ATTEMPTS_MAX`] others; nothing is counted then.
    pub async fn admit_attempt(
        &self,
        now_us: impl Fn() -> i64,
        account: &str,
        origin: AttemptOrigin<'_>,
    ) -> Result<AdmittedAttempt<'_>, AdmitAttemptError> {
        let mut waiting = None;
        loop {
            // Before the try, so that no end is missed.
            let settled = self.settled.notified();
            match self.try_admit(now_us(), account, origin) {
                Ok(admitted) => return Ok(admitted),
                Err(TryAdmitError::Held(held)) => return Err(AdmitAttemptError::Held(held)),
                Err(TryAdmitError::Busy) if waiting.is_none() => {
                    waiting = Some(self.waiting.try_acquire().map_err(|_| AdmitAttemptError::Crowded)?);
                }
                Err(TryAdmitError::Busy) => {}
            }
            settled.await;
        }
    }

    /// Admits an attempt. Until it is settled it takes the room of a wrong one, because of concurrent attempts no more
    /// than the limit may be answered.
    fn try_admit(
        &self,
        now_us: i64,
        account: &str,
        origin: AttemptOrigin<'_>,
    ) -> Result<AdmittedAttempt<'_>, TryAdmitError> {
        let (kind, near) = origin.neighborhood_with_kind();
        let here = self.mark(AttemptCounterKind::AccountNearby, &[account.as_bytes(), kind, &near]);
        let everywhere = place(self.mark(AttemptCounterKind::Account, &[account.as_bytes()]));
        let network = origin.subscriber_network();
        let neighborhood = network.as_ref().map(|_| place(self.mark(AttemptCounterKind::Neighborhood, &[&near])));
        let subscriber = network.map(|network| place(self.mark(AttemptCounterKind::Subscriber, &[&network])));
        let regular = (origin != AttemptOrigin::Unknown).then_some(here);

        let mut state = self.state();
        state.advance(u64::try_from(now_us).unwrap_or_default());
        let is_regular = regular.is_some_and(|mark| state.is_regular(mark));
        let everywhere = (!is_regular).then_some(everywhere);
        let places = [Some(place(here)), everywhere, subscriber, neighborhood];
        state.hold(&places)?;
        Ok(AdmittedAttempt { attempts: self, places, regular, outcome: AttemptOutcome::Wrong })
    }

    /// Returns a number for what is counted, which only this process can compute.
    fn mark(&self, by: AttemptCounterKind, parts: &[&[u8]]) -> u64 {
        let mut digest = Sha256::new_with_prefix(self.secret);
        digest.update([by as u8]);
        for part in parts {
            // The length in front keeps two lists of parts from having one mark.
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        digest.finalize().first_chunk().copied().map_or(0, u64::from_be_bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AdmittedAttempt<'_> {
    /// Settles the attempt with its outcome.
    pub fn record_outcome(mut self, outcome: AttemptOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for AdmittedAttempt<'_> {
    fn drop(&mut self) {
        let mut state = self.attempts.state();
        let (now_us, is_wrong) = (state.now_us, self.outcome == AttemptOutcome::Wrong);
        state.each(&self.places, |counter, place| {
            counter.release(place);
            if is_wrong {
                counter.take(place, now_us);
            }
        });
        if self.outcome == AttemptOutcome::Right {
            state.welcome(&self.places, self.regular, self.attempts.after_success);
        }
        drop(state);
        self.attempts.settled.notify_waiters();
    }
}

fn place(mark: u64) -> u16 {
    let [first, second, ..] = mark.to_be_bytes();
    u16::from_be_bytes([first, second])
}

impl State {
    /// An attempt with an earlier time than another gains nothing by it. When the clock was set back, all that is
    /// counted moves with it: an account that is held would otherwise stay held until the clock is as late again.
    fn advance(&mut self, now_us: u64) {
        match self.now_us.checked_sub(now_us) {
            Some(back_us) if back_us >= CLOCK_SET_BACK_US => {
                self.now_us = now_us;
                self.counters.iter_mut().for_each(|counter| counter.set_back(back_us));
            }
            _ => self.now_us = self.now_us.max(now_us),
        }
    }

    fn is_regular(&self, mark: u64) -> bool {
        self.regulars.get(usize::from(place(mark))) == Some(&mark)
    }

    /// All counters are checked before any counts: what one refuses costs the others nothing.
    fn hold(&mut self, places: &Places) -> Result<(), TryAdmitError> {
        let now_us = self.now_us;
        let counters = || self.counters.iter().zip(*places).zip(KINDS);
        let held = counters().filter_map(|((counter, place), by)| counter.held(by, (place?, now_us), 0));
        if let Some(held) = held.max_by_key(|held| held.wait_us) {
            return Err(TryAdmitError::Held(held));
        }
        let is_full = |((counter, place), by): ((&Counter, Option<u16>), AttemptCounterKind)| {
            place.is_some_and(|place| counter.held(by, (place, now_us), counter.pending_at(place)).is_some())
        };
        if counters().any(is_full) {
            return Err(TryAdmitError::Busy);
        }
        self.each(places, Counter::hold);
        Ok(())
    }

    /// Records where an account signed in from, and forgets the wrong passwords that came before from there, where the
    /// policy says so.
    fn welcome(&mut self, places: &Places, regular: Option<u64>, after_success: FailuresAfterSuccess) {
        if let (FailuresAfterSuccess::ForgetFailures, [Some(here), ..], [counter, ..]) =
            (after_success, places, &mut self.counters)
        {
            counter.forget(*here);
        }
        if let Some(mark) = regular
            && let Some(stored) = self.regulars.get_mut(usize::from(place(mark)))
        {
            *stored = mark;
        }
    }

    fn each(&mut self, places: &Places, change: impl Fn(&mut Counter, u16)) {
        for (counter, place) in self.counters.iter_mut().zip(*places) {
            if let Some(place) = place {
                change(counter, place);
            }
        }
    }
}

/// Attempts of one kind. The numbers are all 0 at first, in separate lists: what is never used takes no memory.
struct Counter {
    budget: AttemptRateLimit,
    /// The time at which each place has its whole budget back: one number says how much of it is used.
    whole_at_us: Vec<u64>,
    /// Attempts that were admitted and are not settled.
    pending: Vec<u16>,
}

impl Counter {
    fn new(budget: AttemptRateLimit) -> Self {
        Self { budget, whole_at_us: vec![0; PLACES], pending: vec![0; PLACES] }
    }

    fn pending_at(&self, place: u16) -> u16 {
        self.pending.get(usize::from(place)).copied().unwrap_or_default()
    }

    /// Returns why one more is too many, if all `pending` attempts turn out wrong.
    fn held(&self, by: AttemptCounterKind, (place, now_us): (u16, u64), pending: u16) -> Option<AttemptLimitExceeded> {
        let AttemptRateLimit { at_once, pause_us } = self.budget;
        let whole_at_us = self.whole_at_us.get(usize::from(place)).copied().unwrap_or_default();
        let used_us = whole_at_us.saturating_sub(now_us).saturating_add(u64::from(pending).saturating_mul(pause_us));
        let room_us = u64::from(at_once).saturating_mul(pause_us);
        let wait_us = used_us.saturating_add(pause_us).saturating_sub(room_us);
        (wait_us > 0).then_some(AttemptLimitExceeded { by, at_once, wait_us, whole_us: used_us })
    }

    fn hold(&mut self, place: u16) {
        if let Some(pending) = self.pending.get_mut(usize::from(place)) {
            *pending = pending.saturating_add(1);
        }
    }

    fn release(&mut self, place: u16) {
        if let Some(pending) = self.pending.get_mut(usize::from(place)) {
            *pending = pending.saturating_sub(1);
        }
    }

    fn forget(&mut self, place: u16) {
        if let Some(whole_at_us) = self.whole_at_us.get_mut(usize::from(place)) {
            *whole_at_us = 0;
        }
    }

    fn set_back(&mut self, back_us: u64) {
        for whole_at_us in &mut self.whole_at_us {
            *whole_at_us = whole_at_us.saturating_sub(back_us);
        }
    }

    fn take(&mut self, place: u16, now_us: u64) {
        if let Some(whole_at_us) = self.whole_at_us.get_mut(usize::from(place)) {
            *whole_at_us = (*whole_at_us).max(now_us).saturating_add(self.budget.pause_us);
        }
    }
}

impl fmt::Debug for AttemptLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts").field("after_success", &self.after_success).finish_non_exhaustive()
    }
}

impl fmt::Debug for AdmittedAttempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
