//! How often somebody may try.
//!
//! Wrong passwords are counted in four ways. Each allows so many at once, and one more after every pause:
//!
//! | Counted for | At once | Pause | Holds back |
//! |---|---|---|---|
//! | an account, from one neighbourhood | 10 | 30 s | who guesses at one account |
//! | an account, from anywhere | 500 | 5 s | who does that from many networks |
//! | an address | 60 | 1 s | who tries one password with many accounts |
//! | a neighbourhood | 600 | 0.1 s | who does that from all the addresses of a network |
//!
//! Nobody locks others out cheaply: what comes from one neighbourhood delays that one alone, and what comes from
//! everywhere does not delay who signed in from this neighbourhood lately. An account is what was typed, not who it
//! is: two names of one person are counted apart, so that no refusal tells that they are one, and all is counted
//! before anything is looked up, so that a name nobody has is refused as soon and as fast as another. One thing shows:
//! who has used up the second budget of an account sees in a neighbourhood of its own whether the account signs in
//! there.
//!
//! Attempts that nobody has judged yet are not wrong ones: where they take all the room that is left, a further attempt
//! waits until one of them is settled. So any number of right passwords may come at once, and of guesses that come at
//! once no more are answered than the budget allows.
//!
//! Not specified; each node counts its own, because the only shared place is the database, and a row for each wrong
//! password would let strangers write to it. So behind N nodes a guesser has up to N times as many tries. For the same
//! reason a restart forgets the counts, and where people signed in from. The road not taken is a cookie for each
//! device that signed in: it would outlive both, but needs a key, an end and a list of its own, for those alone who
//! sign in from a new neighbourhood while their account is being attacked from dozens of networks.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::hmac;
use tokio::sync::{Notify, Semaphore};

use crate::env::Env;

/// Places of each kind of counter, so that memory is bounded whatever strangers send (3 MiB, once all are used).
/// Two accounts that share one share its limit, which costs an honest one some seconds at worst; nobody can aim at
/// it, because which they are hangs on a secret of the process.
const PLACES: usize = 1 << 16;

/// Leading bytes of an IPv4 and an IPv6 address that name who has it: whoever has one of IPv6 has all of its network.
const NETWORK_BYTES: (usize, usize) = (4, 8);
/// Leading bytes that name the neighbourhood: what is commonly rented together.
const NEIGHBOURHOOD_BYTES: (usize, usize) = (3, 6);

/// A time that is this much earlier than the one before, in microseconds, is of a clock that was set back: requests
/// that are answered at once do not lie an hour apart.
const CLOCK_SET_BACK_US: u64 = 3_600_000_000;

/// What is counted for, in the order of [`State::counters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    AccountHere,
    Account,
    Address,
    Neighbourhood,
}

/// How many are allowed.
#[derive(Debug, Clone, Copy)]
struct Budget {
    at_once: u64,
    pause_us: u64,
}

const BUDGETS: [(Kind, Budget); 4] = [
    (Kind::AccountHere, Budget { at_once: 10, pause_us: 30_000_000 }),
    (Kind::Account, Budget { at_once: 500, pause_us: 5_000_000 }),
    (Kind::Address, Budget { at_once: 60, pause_us: 1_000_000 }),
    (Kind::Neighbourhood, Budget { at_once: 600, pause_us: 100_000 }),
];

/// The attempts of one node.
pub(crate) struct AttemptLimits {
    key: hmac::Key,
    state: Mutex<State>,
    /// An attempt was settled.
    ended: Notify,
    /// Places for attempts that wait for that.
    waiting: Semaphore,
}

/// Attempts that wait for others to be settled, on all accounts together.
const WAITING_MAX: usize = 256;
/// The refusal where more than [`WAITING_MAX`] wait.
const CROWDED: Held = Held { wait_s: 1, reason: "too many people sign in" };

/// Why an attempt is not let through now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AdmitError {
    /// Too many wrong passwords came before.
    Held(Held),
    /// Attempts that are not settled take the room that is left.
    Busy,
}

struct State {
    /// The latest time any request has told; rules read no clock.
    now_us: u64,
    counters: [Counter; 4],
    /// Marks of accounts and the neighbourhoods they signed in from; a later one takes the place of another.
    regulars: Vec<u64>,
}

/// Where an attempt comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin<'a> {
    /// The listener names no peer.
    Unknown,
    /// The person's device.
    Device(IpAddr),
    /// The server of an app that proved who it is: its address says nothing of the person's, and all its people
    /// share it.
    App(&'a str),
}

/// An attempt that is let through. It counts as a wrong password, also when nobody waits for its end, unless it is
/// settled otherwise.
pub(crate) struct Admitted<'a> {
    limits: &'a AttemptLimits,
    /// Its place in each counter that it counts in.
    places: Places,
    regular: Option<u64>,
    outcome: Outcome,
}

type Places = [Option<u16>; 4];

/// What an attempt turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It counts.
    Wrong,
    /// It does not, and this is where the account signs in from.
    Right,
    /// Nobody looked at the password: it does not count.
    Unchecked,
}

/// One attempt too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// Seconds to wait, rounded up.
    pub(crate) wait_s: u64,
    /// For the audit.
    pub(crate) reason: &'static str,
}

impl AttemptLimits {
    /// Counts nothing yet.
    pub(crate) fn new(env: &Env<'_>) -> Self {
        let counters = BUDGETS.map(|(_, budget)| Counter::new(budget, PLACES));
        let state = State { now_us: 0, counters, regulars: vec![0; PLACES] };
        let (ended, waiting) = (Notify::new(), Semaphore::new(WAITING_MAX));
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &env.bytes::<32>()), state: Mutex::new(state), ended, waiting }
    }

    /// Lets an attempt with `login`, as typed, through, once those before it are settled where they take all the room
    /// there is.
    ///
    /// # Errors
    /// [`Held`]; nothing is counted then.
    pub(crate) async fn admit(&self, env: &Env<'_>, login: &str, origin: Origin<'_>) -> Result<Admitted<'_>, Held> {
        let mut waiting = None;
        loop {
            // Before it is tried, so that no end is missed.
            let ended = self.ended.notified();
            match self.try_admit(env, login, origin) {
                Ok(admitted) => return Ok(admitted),
                Err(AdmitError::Held(held)) => return Err(held),
                Err(AdmitError::Busy) if waiting.is_none() => {
                    waiting = Some(self.waiting.try_acquire().map_err(|_| CROWDED)?);
                }
                Err(AdmitError::Busy) => {}
            }
            ended.await;
        }
    }

    /// Lets an attempt through. Until it is settled it takes the room of a wrong one, because of many that are made at
    /// once no more than the budget may be answered.
    fn try_admit(&self, env: &Env<'_>, login: &str, origin: Origin<'_>) -> Result<Admitted<'_>, AdmitError> {
        // As the lookup has it, or every spelling would have a budget of its own.
        let login = login.to_ascii_lowercase();
        let (family, neighbourhood) = origin.neighbourhood();
        let here = self.mark(Kind::AccountHere, &[login.as_bytes(), family, &neighbourhood]);
        let everywhere = place(self.mark(Kind::Account, &[login.as_bytes()]));
        let network = origin.network();
        let neighbourhood = network.as_ref().map(|_| place(self.mark(Kind::Neighbourhood, &[&neighbourhood])));
        let address = network.map(|network| place(self.mark(Kind::Address, &[&network])));
        let regular = (origin != Origin::Unknown).then_some(here);

        let mut state = self.state();
        state.advance(env);
        let is_regular = regular.is_some_and(|mark| state.is_regular(mark));
        let everywhere = (!is_regular).then_some(everywhere);
        let places = [Some(place(here)), everywhere, address, neighbourhood];
        state.hold(&places)?;
        Ok(Admitted { limits: self, places, regular, outcome: Outcome::Wrong })
    }

    /// A number for what is counted, that nobody outside can compute.
    fn mark(&self, kind: Kind, parts: &[&[u8]]) -> u64 {
        let mut message = vec![kind as u8];
        for part in parts {
            // The length in front keeps two lists of parts from meaning one.
            message.extend_from_slice(&part.len().to_be_bytes());
            message.extend_from_slice(part);
        }
        let tag = hmac::sign(&self.key, &message);
        tag.as_ref().first_chunk().copied().map_or(0, u64::from_be_bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place(mark: u64) -> u16 {
    let [first, second, ..] = mark.to_be_bytes();
    u16::from_be_bytes([first, second])
}

impl State {
    /// A request that tells an earlier time than another gains nothing by it. When the clock was set back, all that
    /// is counted moves with it: an account that is held would otherwise stay held until the clock is as late again.
    fn advance(&mut self, env: &Env<'_>) {
        let now_us = u64::try_from(env.now_us).unwrap_or_default();
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

    /// All counters are asked before any counts: what one refuses costs the others nothing.
    fn hold(&mut self, places: &Places) -> Result<(), AdmitError> {
        let now_us = self.now_us;
        let asked = || self.counters.iter().zip(BUDGETS).zip(*places);
        let waits =
            asked().filter_map(|((counter, (kind, _)), place)| Some((counter.wait_us((place?, now_us), 0), kind)));
        if let Some((wait_us @ 1.., kind)) = waits.max_by_key(|(wait_us, _)| *wait_us) {
            return Err(AdmitError::Held(Held { wait_s: wait_us.div_ceil(1_000_000), reason: kind.reason() }));
        }
        let is_full = |((counter, _), place): ((&Counter, _), Option<u16>)| {
            place.is_some_and(|place| counter.wait_us((place, now_us), counter.pending_at(place)) > 0)
        };
        if asked().any(is_full) {
            return Err(AdmitError::Busy);
        }
        self.each(places, Counter::hold);
        Ok(())
    }

    fn each(&mut self, places: &Places, change: impl Fn(&mut Counter, u16)) {
        for (counter, place) in self.counters.iter_mut().zip(*places) {
            if let Some(place) = place {
                change(counter, place);
            }
        }
    }
}

impl Admitted<'_> {
    pub(crate) fn settle(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let mut state = self.limits.state();
        let now_us = state.now_us;
        let is_wrong = self.outcome == Outcome::Wrong;
        state.each(&self.places, |counter, place| {
            counter.release(place);
            if is_wrong {
                counter.take(place, now_us);
            }
        });
        if self.outcome == Outcome::Right
            && let Some(mark) = self.regular
            && let Some(kept) = state.regulars.get_mut(usize::from(place(mark)))
        {
            *kept = mark;
        }
        drop(state);
        self.limits.ended.notify_waiters();
    }
}

/// Attempts of one kind. Numbers that are all 0 at first, in lists of their own: what is never used takes no memory.
struct Counter {
    budget: Budget,
    /// When each place has its whole budget back: one number says how much of it is used.
    whole_at_us: Vec<u64>,
    /// Attempts that are let through and not settled.
    pending: Vec<u16>,
}

impl Counter {
    fn new(budget: Budget, places: usize) -> Self {
        Self { budget, whole_at_us: vec![0; places], pending: vec![0; places] }
    }

    /// Attempts that are let through and not settled.
    fn pending_at(&self, place: u16) -> u16 {
        self.pending.get(usize::from(place)).copied().unwrap_or_default()
    }

    /// How long to wait for one more, if so many that are let through turn out wrong; 0 is not at all.
    fn wait_us(&self, (place, now_us): (u16, u64), pending: u16) -> u64 {
        let Budget { at_once, pause_us } = self.budget;
        let whole_at_us = self.whole_at_us.get(usize::from(place)).copied().unwrap_or_default();
        let more_us = (u64::from(pending) + 1).saturating_mul(pause_us);
        let with_one_more = whole_at_us.max(now_us).saturating_add(more_us);
        with_one_more.saturating_sub(now_us.saturating_add(at_once.saturating_mul(pause_us)))
    }

    fn set_back(&mut self, back_us: u64) {
        for whole_at_us in &mut self.whole_at_us {
            *whole_at_us = whole_at_us.saturating_sub(back_us);
        }
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

    fn take(&mut self, place: u16, now_us: u64) {
        if let Some(whole_at_us) = self.whole_at_us.get_mut(usize::from(place)) {
            *whole_at_us = (*whole_at_us).max(now_us).saturating_add(self.budget.pause_us);
        }
    }
}

impl Kind {
    const fn reason(self) -> &'static str {
        match self {
            Self::AccountHere | Self::Account => "too many attempts for this account",
            Self::Address | Self::Neighbourhood => "too many attempts from this address",
        }
    }
}

impl<'a> Origin<'a> {
    /// An `app` that proved who it is, else the device at `address`, as far as the wire knows it.
    pub(crate) fn of(address: Option<&str>, app: Option<&'a str>) -> Self {
        let device = || address.and_then(|address| address.parse::<IpAddr>().ok());
        match app {
            Some(app) => Self::App(app),
            None => device().map_or(Self::Unknown, |address| Self::Device(address.to_canonical())),
        }
    }

    /// The address that is counted, or of IPv6 its network.
    pub(crate) fn network(self) -> Option<Vec<u8>> {
        match self {
            Self::Device(address) => Some(leading(address, NETWORK_BYTES)),
            Self::Unknown | Self::App(_) => None,
        }
    }

    /// What is near enough to be one guesser; for an app itself.
    pub(crate) fn neighbourhood(self) -> (&'static [u8], Vec<u8>) {
        match self {
            Self::Unknown => (b"unknown", Vec::new()),
            Self::Device(address) => (b"device", leading(address, NEIGHBOURHOOD_BYTES)),
            Self::App(client_id) => (b"app", client_id.into()),
        }
    }
}

/// The first bytes of an address, so many for each family.
fn leading(address: IpAddr, (v4, v6): (usize, usize)) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into_iter().take(v4).collect(),
        IpAddr::V6(address) => address.octets().into_iter().take(v6).collect(),
    }
}

impl std::fmt::Debug for AttemptLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AttemptLimits")
    }
}

#[cfg(test)]
mod tests;
