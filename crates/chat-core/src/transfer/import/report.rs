//! What an import took over, or an export has in it, and what not.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Counts by what they count, in the words an operator reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// What came along.
    pub taken: BTreeMap<String, u64>,
    /// What did not, or not as it was.
    pub left: BTreeMap<String, u64>,
    /// What the organization forbids there and cannot forbid here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub restrictions: BTreeSet<String>,
}

impl ImportReport {
    /// Counts things that came along.
    pub fn take(&mut self, what: &str, count: usize) {
        add(&mut self.taken, what, count);
    }

    /// Counts things that were not, or not as they were.
    pub fn leave(&mut self, what: &str, count: usize) {
        add(&mut self.left, what, count);
    }

    /// Counts what another report has, too.
    pub fn add(&mut self, other: &Self) {
        let count = |count: &u64| usize::try_from(*count).unwrap_or(usize::MAX);
        for (what, taken) in &other.taken {
            self.take(what, count(taken));
        }
        for (what, left) in &other.left {
            self.leave(what, count(left));
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
