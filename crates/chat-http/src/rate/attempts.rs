//! So many wrong passwords for an address.
//!
//! Each node counts its own: behind several, a guesser has as many tries as there are nodes. The road not taken is a
//! row for each wrong password, which would let strangers write to the database.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Exceeded, Standing};
use crate::limits::{ATTEMPTS_ADDRESSES_MAX, ATTEMPTS_MAX, ATTEMPTS_SPAN_S};

/// When the latest wrong passwords for each address came, in unix seconds, the oldest first. Addresses nobody has are
/// counted too, so that the limit does not tell them apart.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<HashMap<String, Vec<i64>>>);

impl Attempts {
    /// Refuses while the tries for the address are used up.
    pub(crate) fn check(&self, address: &str, now_s: i64) -> Result<(), Exceeded> {
        let recent = self.lock().get(address).map_or_else(Vec::new, |times| recent(times, now_s));
        match recent.first() {
            Some(oldest_s) if recent.len() >= most() => Err(exceeded(*oldest_s, now_s)),
            Some(_) | None => Ok(()),
        }
    }

    /// Notes how a password turned out. When others used up the tries meanwhile it is refused after all, right or
    /// wrong: of many sent at once no more than the limit are answered.
    pub(crate) fn settle(&self, address: &str, is_right: bool, now_s: i64) -> Result<(), Exceeded> {
        self.check(address, now_s)?;
        let mut addresses = self.lock();
        if is_right {
            addresses.remove(address);
            return Ok(());
        }
        if !addresses.contains_key(address) && addresses.len() >= ATTEMPTS_ADDRESSES_MAX {
            forget_one(&mut addresses);
        }
        let times = addresses.entry(address.to_owned()).or_default();
        *times = recent(times, now_s);
        times.push(now_s);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<i64>>> {
        // Nothing is left half done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn most() -> usize {
    usize::try_from(ATTEMPTS_MAX).unwrap_or(usize::MAX)
}

fn recent(times: &[i64], now_s: i64) -> Vec<i64> {
    times.iter().copied().filter(|time_s| now_s.saturating_sub(*time_s) < ATTEMPTS_SPAN_S).collect()
}

fn forget_one(addresses: &mut HashMap<String, Vec<i64>>) {
    let oldest = addresses.iter().min_by_key(|(_, times)| times.last().copied());
    if let Some(address) = oldest.map(|(address, _)| address.clone()) {
        addresses.remove(&address);
    }
}

/// The tries come back one by one, as each wrong password is forgotten.
fn exceeded(oldest_s: i64, now_s: i64) -> Exceeded {
    let reset_unix_s = oldest_s.saturating_add(ATTEMPTS_SPAN_S);
    let wait_s = u64::try_from(reset_unix_s.saturating_sub(now_s)).unwrap_or(0);
    let standing = Standing { limit: ATTEMPTS_MAX, remaining: 0, reset_unix_s };
    Exceeded { retry_after: Duration::from_secs(wait_s), standing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_wrong_passwords_close_an_address_until_the_first_is_forgotten() {
        let attempts = Attempts::default();
        for now_s in [0, 10, 20, 30, 40] {
            assert_eq!(attempts.check("a", now_s), Ok(()));
            assert_eq!(attempts.settle("a", false, now_s), Ok(()));
        }
        assert_eq!(attempts.check("a", 50).unwrap_err().retry_after_s(), 1_750);
        assert_eq!(attempts.check("b", 50), Ok(()));
        assert!(attempts.check("a", ATTEMPTS_SPAN_S - 1).is_err());
        assert_eq!(attempts.check("a", ATTEMPTS_SPAN_S), Ok(()));
        assert_eq!(attempts.settle("a", false, ATTEMPTS_SPAN_S), Ok(()));
        assert!(attempts.check("a", ATTEMPTS_SPAN_S).is_err());
    }

    #[test]
    fn a_right_password_forgets_the_wrong_ones() {
        let attempts = Attempts::default();
        for is_right in [false, false, false, false, true, false, false, false, false] {
            assert_eq!(attempts.settle("a", is_right, 0), Ok(()));
        }
        assert_eq!(attempts.check("a", 0), Ok(()));
    }

    #[test]
    fn of_passwords_tried_at_once_the_sixth_is_not_answered_even_when_right() {
        let attempts = Attempts::default();
        for _ in 0..5 {
            assert_eq!(attempts.settle("a", false, 0), Ok(()));
        }
        assert!(attempts.settle("a", true, 0).is_err());
        assert!(attempts.check("a", 0).is_err());
    }

    #[test]
    fn memory_is_bounded_and_the_address_longest_without_a_try_goes() {
        let attempts = Attempts::default();
        for (place, now_s) in (0..ATTEMPTS_ADDRESSES_MAX).zip(0..) {
            attempts.lock().insert(place.to_string(), vec![now_s; 5]);
        }
        assert_eq!(attempts.settle("new", false, 0), Ok(()));
        let addresses = attempts.lock();
        assert_eq!(addresses.len(), ATTEMPTS_ADDRESSES_MAX);
        assert!(!addresses.contains_key("0") && addresses.contains_key("1") && addresses.contains_key("new"));
    }
}
