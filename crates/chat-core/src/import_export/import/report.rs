//! What an import took over, or an export has in it, and what not.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A report of an import or export: counts of what was transferred and what was omitted, by descriptions that an
/// operator reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferReport {
    /// What came along.
    pub taken: BTreeMap<String, u64>,
    /// What did not, or not as it was.
    pub left: BTreeMap<String, u64>,
    /// What the organization forbids there and cannot forbid here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub restrictions: BTreeSet<String>,
}

impl TransferReport {
    /// Counts objects that were transferred.
    pub fn count_transferred(&mut self, what: &str, count: usize) {
        add(&mut self.taken, what, count);
    }

    /// Counts objects that were omitted or altered.
    pub fn count_omitted(&mut self, what: &str, count: usize) {
        add(&mut self.left, what, count);
    }

    /// Adds the counts of another report.
    pub fn merge(&mut self, other: &Self) {
        let count = |count: &u64| usize::try_from(*count).unwrap_or(usize::MAX);
        for (what, taken) in &other.taken {
            self.count_transferred(what, count(taken));
        }
        for (what, left) in &other.left {
            self.count_omitted(what, count(left));
        }
        self.restrictions.extend(other.restrictions.iter().cloned());
    }
}

fn add(counts: &mut BTreeMap<String, u64>, what: &str, count: usize) {
    if count > 0 {
        let before = counts.entry(what.to_owned()).or_default();
        *before = before.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }
}
