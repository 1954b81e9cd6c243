//! How many of the connections one address holds.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The open connections of each address. Memory: one entry per address that has one open.
#[derive(Debug)]
pub(crate) struct Shares {
    max: Option<NonZeroUsize>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

impl Shares {
    /// `max` connections per address; none is no limit, and counts nothing.
    pub(crate) fn new(max: Option<NonZeroUsize>) -> Arc<Self> {
        Arc::new(Self { max, open: Mutex::default() })
    }

    /// One more connection of `peer`, until it is dropped; `None` when it has its share.
    pub(crate) fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Share> {
        let Some(max) = self.max else {
            return Some(Share::unlimited());
        };
        let holder = holder(peer);
        let mut open = self.open();
        let count = open.get(&holder).copied().unwrap_or_default();
        if count >= max.get() {
            return None;
        }
        open.insert(holder, count + 1);
        Some(Share(Some((Arc::clone(self), holder))))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that may be; dropping it gives its place back.
#[derive(Debug)]
pub(crate) struct Share(Option<(Arc<Shares>, IpAddr)>);

impl Share {
    /// A connection that is not counted.
    pub(crate) const fn unlimited() -> Self {
        Self(None)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some((shares, holder)) = &self.0 else { return };
        let mut open = shares.open();
        match open.get_mut(holder) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.remove(holder)),
        }
    }
}

/// Not specified; an IPv6 address counts by its first 64 bits, because the rest is commonly one
/// subscriber's to choose, and an IPv4 address is the same in either notation.
fn holder(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_with_its_share_gets_no_more_until_one_is_given_back() {
        let shares = Shares::new(NonZeroUsize::new(2));
        let (here, there) = (address("192.0.2.1"), address("192.0.2.2"));
        let first = shares.take(here).unwrap();
        let _second = shares.take(here).unwrap();
        assert!(shares.take(here).is_none());
        assert!(shares.take(there).is_some());
        drop(first);
        let _third = shares.take(here).unwrap();
        assert!(shares.take(here).is_none());
    }

    #[test]
    fn one_subscriber_is_one_address() {
        let shares = Shares::new(NonZeroUsize::new(1));
        let _six = shares.take(address("2001:db8:0:1::1")).unwrap();
        assert!(shares.take(address("2001:db8:0:1:ffff::2")).is_none());
        assert!(shares.take(address("2001:db8:0:2::1")).is_some());
        let _four = shares.take(address("192.0.2.1")).unwrap();
        assert!(shares.take(address("::ffff:192.0.2.1")).is_none());
    }

    #[test]
    fn nothing_stays_of_an_address_that_is_gone() {
        let shares = Shares::new(NonZeroUsize::new(2));
        let both = (shares.take(address("192.0.2.1")), shares.take(address("192.0.2.1")));
        assert_eq!(shares.open().len(), 1);
        drop(both);
        assert!(shares.open().is_empty());
    }

    #[test]
    fn without_a_limit_nothing_is_refused_or_counted() {
        let shares = Shares::new(None);
        let held: Vec<_> = (0..1000).map(|_| shares.take(address("192.0.2.1"))).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(shares.open().is_empty());
    }
}
