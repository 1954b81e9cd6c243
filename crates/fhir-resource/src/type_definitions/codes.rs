//! The codes of a value set.

use std::collections::{BTreeMap, BTreeSet};

/// A set of codes grouped by code system.
///
/// A code is compared as it is written: R4's code systems that bindings require are case-sensitive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodesBySystem {
    by_system: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
}

impl CodesBySystem {
    /// Adds a code.
    pub fn insert(&mut self, system: &str, code: &str) {
        let codes = match self.by_system.get_mut(system) {
            Some(codes) => codes,
            None => self.by_system.entry(system.into()).or_default(),
        };
        if !codes.contains(code) {
            codes.insert(code.into());
        }
    }

    /// Adds every code of another set.
    pub fn extend(&mut self, other: &Self) {
        for (system, code) in other.iter() {
            self.insert(system, code);
        }
    }

    /// Keeps the codes for which `keep(system, code)` holds.
    pub fn retain(&mut self, keep: impl Fn(&str, &str) -> bool) {
        for (system, codes) in &mut self.by_system {
            codes.retain(|code| keep(system, code));
        }
        self.by_system.retain(|_, codes| !codes.is_empty());
    }

    /// Returns whether the set has this code of this system.
    #[must_use]
    pub fn contains(&self, system: &str, code: &str) -> bool {
        self.by_system.get(system).is_some_and(|codes| codes.contains(code))
    }

    /// Returns whether the set has this code of any system, for elements whose code system is implied.
    #[must_use]
    pub fn contains_code_without_system(&self, code: &str) -> bool {
        self.by_system.values().any(|codes| codes.contains(code))
    }

    /// Returns every pair of system and code, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_system.iter().flat_map(|(system, codes)| codes.iter().map(|code| (&**system, &**code)))
    }

    /// Returns the number of codes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_system.values().map(BTreeSet::len).sum()
    }

    /// Returns whether the set has no code.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_system.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_a_code_of_its_system() {
        let mut codes = CodesBySystem::default();
        for (system, code) in [("s", "a"), ("s", "b"), ("t", "a"), ("s", "a")] {
            codes.insert(system, code);
        }
        assert!(codes.contains("s", "b") && !codes.contains("t", "b") && !codes.contains("s", "B"));
        assert!(codes.contains_code_without_system("a") && !codes.contains_code_without_system("c"));
        assert_eq!(codes.iter().collect::<Vec<_>>(), [("s", "a"), ("s", "b"), ("t", "a")]);
        codes.retain(|system, _| system == "t");
        assert_eq!((codes.len(), codes.is_empty()), (1, false));
    }
}
