//! The quota of connections of one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attempt_limits::address_networks;

/// The open connections of each address. Memory: one entry per address that has one open.
#[derive(Debug)]
pub(super) struct ConnectionQuota {
    max: Option<NonZeroUsize>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

impl ConnectionQuota {
    /// Creates a quota of `max` connections per address; `None` is no limit, and counts nothing.
    pub(super) fn new(max: Option<NonZeroUsize>) -> Arc<Self> {
        Arc::new(Self { max, open: Mutex::default() })
    }

    /// Counts one more connection of `peer` until the permit is dropped; `None` when its quota is used up.
    pub(super) fn acquire(self: &Arc<Self>, peer: IpAddr) -> Option<QuotaPermit> {
        let Some(max) = self.max else {
            return Some(QuotaPermit::unlimited());
        };
        let subscriber = address_networks::subscriber_network(peer);
        let mut open = self.open();
        let count = open.get(&subscriber).copied().unwrap_or_default();
        if count >= max.get() {
            return None;
        }
        open.insert(subscriber, count + 1);
        Some(QuotaPermit(Some((Arc::clone(self), subscriber))))
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permission to hold one connection; dropping it gives the place back.
#[derive(Debug)]
pub(super) struct QuotaPermit(Option<(Arc<ConnectionQuota>, IpAddr)>);

impl QuotaPermit {
    /// Creates a permit of a connection that is not counted.
    pub(super) const fn unlimited() -> Self {
        Self(None)
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        let Some((quota, subscriber)) = &self.0 else { return };
        let mut open = quota.open();
        match open.get_mut(subscriber) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.remove(subscriber)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_gets_no_more_than_its_quota_until_a_permit_is_dropped() {
        let quota = ConnectionQuota::new(NonZeroUsize::new(2));
        let (here, there) = (address("192.0.2.1"), address("192.0.2.2"));
        let first = quota.acquire(here).unwrap();
        let _second = quota.acquire(here).unwrap();
        assert!(quota.acquire(here).is_none());
        assert!(quota.acquire(there).is_some());
        drop(first);
        let _third = quota.acquire(here).unwrap();
        assert!(quota.acquire(here).is_none());
    }

    #[test]
    fn an_ipv6_network_of_64_bits_has_one_quota() {
        let quota = ConnectionQuota::new(NonZeroUsize::new(1));
        let _six = quota.acquire(address("2001:db8:0:1::1")).unwrap();
        assert!(quota.acquire(address("2001:db8:0:1:ffff::2")).is_none());
        assert!(quota.acquire(address("2001:db8:0:2::1")).is_some());
        let _four = quota.acquire(address("192.0.2.1")).unwrap();
        assert!(quota.acquire(address("::ffff:192.0.2.1")).is_none());
    }

    #[test]
    fn an_address_without_connections_takes_no_memory() {
        let quota = ConnectionQuota::new(NonZeroUsize::new(2));
        let both = (quota.acquire(address("192.0.2.1")), quota.acquire(address("192.0.2.1")));
        assert_eq!(quota.open().len(), 1);
        drop(both);
        assert!(quota.open().is_empty());
    }

    #[test]
    fn a_quota_without_a_limit_refuses_and_counts_nothing() {
        let quota = ConnectionQuota::new(None);
        let held: Vec<_> = (0..1000).map(|_| quota.acquire(address("192.0.2.1"))).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(quota.open().is_empty());
    }
}
