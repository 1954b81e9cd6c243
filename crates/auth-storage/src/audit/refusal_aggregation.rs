//! Refusals that anybody can cause: the first of a kind is a record, the others are a number.
//!
//! A stranger who is refused a million times would otherwise fill the disk, or the queue in which the
//! records of members and partners wait. Of refusals alike in what was tried, why it was refused, for
//! whom and from which network, the first is told at once and the rest together when the interval is
//! over. How many kinds are told apart in an interval is limited, for registered apps and people apart
//! from strangers, so that nobody is lost in a crowd of invented names; what is beyond is counted by
//! what was tried alone.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use oauth_core::ports::{AuditAction, AuditRecord};
use tokio::sync::Notify;

/// For how long refusals alike are gathered. What was gathered is lost with a process that is killed.
pub(super) const INTERVAL: Duration = Duration::from_mins(10);
/// Kinds of refusals of registered apps and people that an interval tells apart.
const KNOWN_MAX: usize = 512;
/// Kinds of refusals of strangers that an interval tells apart.
const STRANGERS_MAX: usize = 128;
/// What is said of refusals beyond those.
const BEYOND: &str = "refusals of more kinds, or from more places, than are told apart";

/// A record, and for how many events it stands.
#[derive(Debug)]
pub(super) struct Entry {
    /// Of the last event.
    pub(super) record: AuditRecord,
    /// How often it happened.
    pub(super) times: u64,
    /// When it happened first, microseconds since the UNIX epoch.
    pub(super) first_us: i64,
}

impl Entry {
    /// A record of one event.
    pub(super) fn once(record: AuditRecord) -> Self {
        Self { first_us: record.at_us, times: 1, record }
    }

    fn again(&mut self, at_us: i64) {
        self.times = self.times.saturating_add(1);
        self.first_us = self.first_us.min(at_us);
        self.record.at_us = self.record.at_us.max(at_us);
    }
}

/// What makes refusals alike. What an unregistered app calls itself does not: it is free to invent.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kind {
    action: AuditAction,
    reason: Option<String>,
    client_id: Option<String>,
    user_id: Option<String>,
    network: Option<String>,
}

impl Kind {
    fn of(record: &AuditRecord) -> Self {
        Self {
            action: record.action,
            reason: record.refused.clone(),
            client_id: record.client_id.clone(),
            user_id: record.user_id.clone(),
            network: record.address.as_deref().map(network),
        }
    }

    const fn is_known(&self) -> bool {
        self.client_id.is_some() || self.user_id.is_some()
    }
}

/// Whoever has one address of IPv6 has a network of them.
fn network(address: &str) -> String {
    match address.parse() {
        Ok(IpAddr::V6(v6)) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).to_string(),
        _ => address.to_owned(),
    }
}

/// The refusals of an interval.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    gathered: Mutex<Gathered>,
    /// Told of the first of a kind.
    news: Notify,
}

#[derive(Debug, Default)]
struct Gathered {
    /// The first of each kind, to be written.
    fresh: Vec<Entry>,
    /// The others; `None` while there is no other.
    known: HashMap<Kind, Option<Entry>>,
    strangers: HashMap<Kind, Option<Entry>>,
    beyond: HashMap<AuditAction, Entry>,
}

impl Refusals {
    /// Takes a refusal.
    pub(super) fn note(&self, record: AuditRecord) {
        if self.gathered.lock().unwrap_or_else(PoisonError::into_inner).note(record) {
            self.news.notify_one();
        }
    }

    /// Waits until there is a first refusal of a kind to be written.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Returns what there is to write: the first of each kind, and with the end of the interval the sums.
    pub(super) fn take(&self, ends: bool) -> Vec<Entry> {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = std::mem::take(&mut gathered.fresh);
        if ends {
            let Gathered { known, strangers, beyond, .. } = std::mem::take(&mut *gathered);
            entries.extend(known.into_values().chain(strangers.into_values()).flatten());
            entries.extend(beyond.into_values());
        }
        entries
    }
}

impl Gathered {
    /// Returns whether it is the first of its kind.
    fn note(&mut self, record: AuditRecord) -> bool {
        let (kind, at_us) = (Kind::of(&record), record.at_us);
        let (kinds, most) =
            if kind.is_known() { (&mut self.known, KNOWN_MAX) } else { (&mut self.strangers, STRANGERS_MAX) };
        if let Some(others) = kinds.get_mut(&kind) {
            match others {
                Some(entry) => entry.again(at_us),
                None => *others = Some(Entry::once(AuditRecord { claimed_id: None, ..record })),
            }
            return false;
        }
        if kinds.len() < most {
            kinds.insert(kind, None);
            self.fresh.push(Entry::once(record));
            return true;
        }
        let told = || AuditRecord { refused: Some(BEYOND.to_owned()), ..AuditRecord::new(at_us, record.action) };
        self.beyond.entry(record.action).and_modify(|entry| entry.again(at_us)).or_insert_with(|| Entry::once(told()));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(reason: &str, address: &str, at_us: i64) -> AuditRecord {
        AuditRecord {
            refused: Some(reason.to_owned()),
            address: Some(address.to_owned()),
            ..AuditRecord::new(at_us, AuditAction::Token)
        }
    }

    fn counts(entries: &[Entry]) -> Vec<u64> {
        let mut counts: Vec<_> = entries.iter().map(|entry| entry.times).collect();
        counts.sort_unstable();
        counts
    }

    #[test]
    fn the_first_of_a_kind_is_told_at_once_and_the_others_as_a_number() {
        let refusals = Refusals::default();
        for at_us in [5, 9, 7] {
            refusals.note(refusal("a", "2001:db8::1", at_us));
        }
        refusals.note(refusal("a", "2001:db8::ffff", 6));
        refusals.note(refusal("b", "2001:db8::1", 8));
        assert_eq!(counts(&refusals.take(false)), [1, 1]);
        assert_eq!(counts(&refusals.take(false)), [0; 0]);
        let sums = refusals.take(true);
        assert_eq!(counts(&sums), [3]);
        assert_eq!((sums[0].first_us, sums[0].record.at_us), (6, 9));
        assert!(refusals.take(true).is_empty());
        refusals.note(refusal("a", "2001:db8::1", 10));
        assert_eq!(counts(&refusals.take(false)), [1], "another interval tells again");
    }

    #[test]
    fn a_crowd_of_strangers_hides_nobody_who_is_registered_and_fills_no_memory() {
        let refusals = Refusals::default();
        for n in 0..10_000_u32 {
            refusals.note(refusal("a", &Ipv6Addr::from_bits(u128::from(n) << 64).to_string(), 1));
        }
        for n in 0..10_000 {
            let named = AuditRecord { claimed_id: Some(n.to_string()), ..refusal("b", "192.0.2.1", 1) };
            refusals.note(named);
        }
        refusals.note(AuditRecord { user_id: Some("ada".to_owned()), ..refusal("a", "192.0.2.1", 2) });
        let fresh = refusals.take(false);
        assert_eq!(fresh.len(), STRANGERS_MAX + 1);
        assert!(fresh.iter().any(|entry| entry.record.user_id.as_deref() == Some("ada")));
        let sums = refusals.take(true);
        let all: u64 = sums.iter().map(|entry| entry.times).sum();
        assert_eq!(all + u64::try_from(fresh.len()).unwrap(), 20_001);
        assert_eq!(sums.len(), 1, "{sums:?}");
        assert_eq!(sums[0].record.refused.as_deref(), Some(BEYOND));
    }

    #[test]
    fn one_address_that_invents_names_is_one_kind() {
        let refusals = Refusals::default();
        for n in 0..1000 {
            let named = AuditRecord { claimed_id: Some(n.to_string()), ..refusal("b", "192.0.2.1", n) };
            refusals.note(named);
        }
        let fresh = refusals.take(false);
        assert_eq!(fresh.len(), 1);
        assert_eq!(fresh[0].record.claimed_id.as_deref(), Some("0"));
        let sums = refusals.take(true);
        assert_eq!(counts(&sums), [999]);
        assert_eq!(sums[0].record.claimed_id, None);
    }
}
