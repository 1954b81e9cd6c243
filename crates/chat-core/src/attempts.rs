//! How often somebody may try a password.
//!
//! Wrong passwords are counted in four ways. Each allows so many at once, and one more after every pause:
//!
//! | Counted for | At once | Pause | Holds back |
//! |---|---|---|---|
//! | an account, from one neighbourhood | 5 | 6 min | who guesses at one account |
//! | an account, from anywhere | 500 | 5 s | who does that from many networks |
//! | an address | 60 | 1 s | who tries one password with many accounts |
//! | a neighbourhood | 600 | 0.1 s | who does that from all the addresses of a network |
//!
//! Nobody locks a member out cheaply: what comes from one neighbourhood delays that one alone, and what comes from
//! everywhere does not delay who signed in from this neighbourhood lately. An account is the e-mail address as typed,
//! folded, whether anybody has it or not, and all is counted before anything is looked up: a limit tells nobody who
//! has an account.
//!
//! The specification shows no limits. Servers of this family allow five wrong passwords in half an hour for a name;
//! we keep that measure, but for a name and a neighbourhood together, because for the name alone anybody who knows it
//! could keep its owner out for good.
//!
//! Attempts that nobody has judged yet are not wrong ones: where they take all the room that is left, a further attempt
//! is [`AdmitError::Busy`] and waits until one of them is settled. So any number of right passwords may come at once, and
//! of guesses that come at once no more are answered than the limit allows.
//!
//! Each node counts its own, so behind several a guesser has as many tries as there are nodes, and a restart forgets
//! them. The road not taken is a row for each wrong password, which would let strangers write to the database.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

/// Places of each kind of counter, so that memory is bounded whatever strangers send (3 MiB, once all are used). Two
/// accounts that share one share its limit; nobody can aim at that, because which they are hangs on a secret of the
/// process.
const PLACES: usize = 1 << 16;

/// Leading bytes of an IPv4 and an IPv6 address that name who has it: whoever has one of IPv6 has all of its network.
const NETWORK_BYTES: (usize, usize) = (4, 8);
/// Leading bytes that name the neighbourhood: what is commonly rented together.
const NEIGHBOURHOOD_BYTES: (usize, usize) = (3, 6);

/// What is counted for, in the order of [`BUDGETS`].
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
    at_once: u32,
    pause_us: u64,
}

const BUDGETS: [Budget; 4] = [
    Budget { at_once: 5, pause_us: 360_000_000 },
    Budget { at_once: 500, pause_us: 5_000_000 },
    Budget { at_once: 60, pause_us: 1_000_000 },
    Budget { at_once: 600, pause_us: 100_000 },
];

/// A time that is this much earlier than the one before, in microseconds, is of a clock that was set back: requests
/// that are answered at once do not lie an hour apart.
const CLOCK_SET_BACK_US: u64 = 3_600_000_000;

/// The attempts of one node.
pub struct Attempts {
    secret: [u8; 32],
    state: Mutex<State>,
}

struct State {
    /// The latest time any attempt has told; rules read no clock.
    now_us: u64,
    counters: [Counter; 4],
    /// Marks of accounts and the neighbourhoods they signed in from; a later one takes the place of another.
    regulars: Vec<u64>,
}

/// An attempt that is let through. It counts as a wrong password, also when nobody waits for its end, unless it is
/// settled otherwise.
#[must_use]
pub struct Admitted<'a> {
    attempts: &'a Attempts,
    /// Its place in each counter that it counts in.
    places: Places,
    regular: Option<u64>,
    outcome: Outcome,
}

type Places = [Option<u16>; 4];

/// What an attempt turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It counts.
    Wrong,
    /// It does not, nor do the wrong ones before it from the same neighbourhood, which is one the account signs in from.
    Right,
    /// Nobody looked at the password: it does not count.
    Unchecked,
}

/// Why an attempt is not let through now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmitError {
    /// Too many wrong passwords came before.
    Held(Held),
    /// Attempts that are not settled take the room that is left; once one of them is, the attempt may be made again.
    Busy,
}

/// One attempt too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Attempts that the limit allows at once.
    pub at_once: u32,
    /// Microseconds until one more is let through.
    pub wait_us: u64,
    /// Microseconds until all are again, if none is tried.
    pub whole_us: u64,
}

impl Attempts {
    /// Counts nothing yet. The secret is of random bytes, and of this process alone.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        let state = State { now_us: 0, counters: BUDGETS.map(Counter::new), regulars: vec![0; PLACES] };
        Self { secret, state: Mutex::new(state) }
    }

    /// Lets an attempt on `account`, an address as [`crate::user::fold`] makes it, through. Until it is settled it takes
    /// the room of a wrong one, because of many that are made at once no more than the limit may be answered.
    ///
    /// # Errors
    /// See [`AdmitError`]; nothing is counted then.
    pub fn admit(&self, now_us: i64, account: &str, from: Option<IpAddr>) -> Result<Admitted<'_>, AdmitError> {
        let near = from.map(|address| leading(address, NEIGHBOURHOOD_BYTES)).unwrap_or_default();
        let network = from.map(|address| leading(address, NETWORK_BYTES));
        let here = self.mark(Kind::AccountHere, &[account.as_bytes(), &near]);
        let everywhere = place(self.mark(Kind::Account, &[account.as_bytes()]));
        let neighbourhood = from.map(|_| place(self.mark(Kind::Neighbourhood, &[&near])));
        let address = network.map(|network| place(self.mark(Kind::Address, &[&network])));
        let regular = from.map(|_| here);

        let mut state = self.state();
        state.advance(u64::try_from(now_us).unwrap_or_default());
        let is_regular = regular.is_some_and(|mark| state.is_regular(mark));
        let everywhere = (!is_regular).then_some(everywhere);
        let places = [Some(place(here)), everywhere, address, neighbourhood];
        state.hold(&places)?;
        Ok(Admitted { attempts: self, places, regular, outcome: Outcome::Wrong })
    }

    /// A number for what is counted, that nobody outside can compute.
    fn mark(&self, kind: Kind, parts: &[&[u8]]) -> u64 {
        let mut digest = Sha256::new_with_prefix(self.secret);
        digest.update([kind as u8]);
        for part in parts {
            // The length in front keeps two lists of parts from meaning one.
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

impl Admitted<'_> {
    /// Says how it ended.
    pub fn settle(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let mut state = self.attempts.state();
        let (now_us, is_wrong) = (state.now_us, self.outcome == Outcome::Wrong);
        state.each(&self.places, |counter, place| {
            counter.release(place);
            if is_wrong {
                counter.take(place, now_us);
            }
        });
        if self.outcome == Outcome::Right {
            state.welcome(&self.places, self.regular);
        }
    }
}

fn place(mark: u64) -> u16 {
    let [first, second, ..] = mark.to_be_bytes();
    u16::from_be_bytes([first, second])
}

/// The first bytes of an address, so many for each family, after the family.
fn leading(address: IpAddr, (v4, v6): (usize, usize)) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(address) => [4].into_iter().chain(address.octets().into_iter().take(v4)).collect(),
        IpAddr::V6(address) => [6].into_iter().chain(address.octets().into_iter().take(v6)).collect(),
    }
}

impl State {
    /// An attempt that tells an earlier time than another gains nothing by it. When the clock was set back, all that
    /// is counted moves with it: an account that is held would otherwise stay held until the clock is as late again.
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

    /// All counters are asked before any counts: what one refuses costs the others nothing.
    fn hold(&mut self, places: &Places) -> Result<(), AdmitError> {
        let now_us = self.now_us;
        let asked = || self.counters.iter().zip(*places);
        let held = asked().filter_map(|(counter, place)| counter.held((place?, now_us), 0));
        if let Some(held) = held.max_by_key(|held| held.wait_us) {
            return Err(AdmitError::Held(held));
        }
        let is_full = |(counter, place): (&Counter, Option<u16>)| {
            place.is_some_and(|place| counter.held((place, now_us), counter.pending_at(place)).is_some())
        };
        if asked().any(is_full) {
            return Err(AdmitError::Busy);
        }
        self.each(places, Counter::hold);
        Ok(())
    }

    /// Remembers where somebody signed in from, and forgets the wrong passwords that came before from there.
    fn welcome(&mut self, places: &Places, regular: Option<u64>) {
        if let ([Some(here), ..], [counter, ..]) = (places, &mut self.counters) {
            counter.forget(*here);
        }
        if let Some(mark) = regular
            && let Some(kept) = self.regulars.get_mut(usize::from(place(mark)))
        {
            *kept = mark;
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

/// Attempts of one kind. Numbers that are all 0 at first, in lists of their own: what is never used takes no memory.
struct Counter {
    budget: Budget,
    /// When each place has its whole budget back: one number says how much of it is used.
    whole_at_us: Vec<u64>,
    /// Attempts that are let through and not settled.
    pending: Vec<u16>,
}

impl Counter {
    fn new(budget: Budget) -> Self {
        Self { budget, whole_at_us: vec![0; PLACES], pending: vec![0; PLACES] }
    }

    /// Attempts that are let through and not settled.
    fn pending_at(&self, place: u16) -> u16 {
        self.pending.get(usize::from(place)).copied().unwrap_or_default()
    }

    /// Why one more is too many, if so many that are let through turn out wrong.
    fn held(&self, (place, now_us): (u16, u64), pending: u16) -> Option<Held> {
        let Budget { at_once, pause_us } = self.budget;
        let whole_at_us = self.whole_at_us.get(usize::from(place)).copied().unwrap_or_default();
        let used_us = whole_at_us.saturating_sub(now_us).saturating_add(u64::from(pending).saturating_mul(pause_us));
        let room_us = u64::from(at_once).saturating_mul(pause_us);
        let wait_us = used_us.saturating_add(pause_us).saturating_sub(room_us);
        (wait_us > 0).then_some(Held { at_once, wait_us, whole_us: used_us })
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

impl std::fmt::Debug for Attempts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Attempts")
    }
}

impl std::fmt::Debug for Admitted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admitted").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
