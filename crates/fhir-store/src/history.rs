//! Versions of resources: what a store has of what was written before.
//!
//! A history is a list of versions, newest first, read a page at a time. A page begins where the one
//! before it ended, by time and number, so what is written in the meantime moves no page.
//!
//! # Source
//! FHIR R4, `RESTful` API, history and vread.

use std::fmt;
use std::str::FromStr;

use fhir_resource::{ResourceId, ResourceType, StoredResource};

use crate::access_filter::AccessFilter;
use crate::limits;

/// The interaction that made a version: create, update or delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionInteraction {
    /// The first version, or the first after a deletion.
    Created,
    /// A further version.
    Updated,
    /// The deletion of the resource.
    Deleted,
}

/// A version of a resource, with the interaction that made it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceVersion {
    /// The interaction that made it.
    pub change: VersionInteraction,
    /// The resource in this version; of a deletion the deleted resource, under the number and the time of the deletion.
    /// That is for deciding who may learn of it, and is not shown.
    pub stored: StoredResource,
}

/// A query for one page of a history, with the access filters of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The types, each with the filter of the caller: versions outside of it are not shown.
    pub kinds: Vec<(ResourceType, AccessFilter)>,
    /// The id of one resource, of the one type in `kinds`; every resource when `None`.
    pub id: Option<ResourceId>,
    /// The page that is requested.
    pub window: HistoryPageRange,
}

/// The requested page of a history: since when, after which position, and how many versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPageRange {
    /// Only versions made at this time or later, UNIX microseconds.
    pub since_us: Option<i64>,
    /// Only versions that come after this position.
    pub after: Option<HistoryPosition>,
    /// Most versions of the page, at most [`fhir_search::limits::MAX_PAGE_SIZE`].
    pub count: u32,
}

impl Default for HistoryPageRange {
    /// Returns the first page.
    fn default() -> Self {
        Self { since_us: None, after: None, count: fhir_search::limits::DEFAULT_PAGE_SIZE }
    }
}

/// The position of a version in a history, which is ordered newest first. Positions of later versions are smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPosition {
    /// The time at which the version was made, UNIX microseconds.
    pub updated_us: i64,
    /// The number of the write.
    pub version: i64,
}

impl HistoryPosition {
    /// Returns the position of a version.
    #[must_use]
    pub const fn of_version(stored: &StoredResource) -> Self {
        Self { updated_us: stored.updated_us, version: stored.version }
    }

    /// Returns whether a version comes after this position.
    #[must_use]
    pub fn is_before_version(&self, stored: &StoredResource) -> bool {
        (stored.updated_us, stored.version) < (self.updated_us, self.version)
    }
}

/// The error of a text that is not a position in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a place in a history is taken from the link of a page")]
pub struct ParseHistoryPositionError;

impl FromStr for HistoryPosition {
    type Err = ParseHistoryPositionError;

    fn from_str(text: &str) -> Result<Self, ParseHistoryPositionError> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| digits).ok_or(ParseHistoryPositionError)
        };
        let (updated_us, version) = text.split_once('-').ok_or(ParseHistoryPositionError)?;
        Ok(Self { updated_us: number(updated_us)?, version: number(version)? })
    }
}

impl fmt::Display for HistoryPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.updated_us, self.version)
    }
}

/// A page of a history, with the position of the next page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryPage {
    /// The versions, newest first.
    pub entries: Vec<ResourceVersion>,
    /// The position at which the next page begins; `None` on the last page.
    ///
    /// A page may be shorter than requested, and even empty, without being the last: a store reads at most
    /// [`limits::MAX_HISTORY_VERSIONS_SCANNED`] versions for one page, however few of them the caller may access.
    pub next: Option<HistoryPosition>,
}

/// Builds a history page from versions that arrive newest first, with the same rules for every engine.
#[derive(Debug)]
pub struct HistoryPageBuilder<'a> {
    query: &'a HistoryQuery,
    page: HistoryPage,
    last: Option<HistoryPosition>,
    looked_at: usize,
}

/// The demand of a [`HistoryPageBuilder`] for versions: one more, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryVersionDemand {
    /// The builder needs the next version.
    More,
    /// The page is complete.
    Nothing,
}

impl<'a> HistoryPageBuilder<'a> {
    /// Creates a builder without any version yet.
    #[must_use]
    pub fn new(query: &'a HistoryQuery) -> Self {
        Self { query, page: HistoryPage::default(), last: query.window.after, looked_at: 0 }
    }

    /// Takes the next version, adds it to the page when the caller may access it, and returns whether more are needed.
    pub fn add_version(&mut self, version: ResourceVersion) -> HistoryVersionDemand {
        let full = self.page.entries.len() >= usize::try_from(self.query.window.count).unwrap_or(usize::MAX);
        let within =
            self.query.kinds.iter().find(|(resource_type, _)| *resource_type == version.stored.key.resource_type);
        let reached =
            within.is_some_and(|(_, within)| within.contains_resource(&version.stored.key, &version.stored.resource));
        if (full && reached) || self.looked_at >= limits::MAX_HISTORY_VERSIONS_SCANNED {
            self.page.next = self.last;
            return HistoryVersionDemand::Nothing;
        }
        self.looked_at += 1;
        self.last = Some(HistoryPosition::of_version(&version.stored));
        if reached {
            self.page.entries.push(version);
        }
        HistoryVersionDemand::More
    }

    /// Returns the page.
    #[must_use]
    pub fn finish(self) -> HistoryPage {
        self.page
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::access_filter::AccessFilterBranch;
    use fhir_resource::PatientCompartment;

    fn version(number: i64, patient: &str) -> ResourceVersion {
        let resource = json!({"subject": {"reference": format!("Patient/{patient}")}});
        let key = "Observation/o".parse().unwrap();
        ResourceVersion {
            change: VersionInteraction::Updated,
            stored: StoredResource { key, version: number, updated_us: number * 10, resource },
        }
    }

    fn query(count: u32) -> HistoryQuery {
        let compartment = Some(PatientCompartment::of_patient("me".parse().unwrap(), "https://payer.example/fhir"));
        let within = AccessFilter::union_of_branches(vec![AccessFilterBranch { compartment, criteria: Vec::new() }]);
        let window = HistoryPageRange { count, ..HistoryPageRange::default() };
        HistoryQuery { kinds: vec![("Observation".parse().unwrap(), within)], id: None, window }
    }

    fn numbers(page: &HistoryPage) -> Vec<i64> {
        page.entries.iter().map(|version| version.stored.version).collect()
    }

    #[test]
    fn a_page_holds_what_is_reached_and_the_next_one_begins_behind_it() {
        let query = query(2);
        let mut pager = HistoryPageBuilder::new(&query);
        for (number, patient) in [(9, "you"), (8, "me"), (7, "you"), (6, "me"), (5, "you")] {
            assert_eq!(pager.add_version(version(number, patient)), HistoryVersionDemand::More);
        }
        assert_eq!(pager.add_version(version(4, "me")), HistoryVersionDemand::Nothing);
        let page = pager.finish();
        assert_eq!(numbers(&page), [8, 6]);
        assert_eq!(page.next, Some(HistoryPosition { updated_us: 50, version: 5 }));
    }

    #[test]
    fn nothing_is_said_of_a_next_page_that_would_hold_nothing() {
        let query = query(1);
        let mut pager = HistoryPageBuilder::new(&query);
        for (number, patient) in [(3, "me"), (2, "you"), (1, "you")] {
            assert_eq!(pager.add_version(version(number, patient)), HistoryVersionDemand::More);
        }
        assert_eq!(pager.finish().next, None);
    }

    #[test]
    fn a_type_that_was_not_asked_for_is_not_told_of() {
        let query = query(5);
        let mut pager = HistoryPageBuilder::new(&query);
        let mut other = version(3, "me");
        other.stored.key = "Condition/o".parse().unwrap();
        assert_eq!(pager.add_version(other), HistoryVersionDemand::More);
        assert_eq!(numbers(&pager.finish()), [0; 0]);
    }

    #[test]
    fn a_search_for_the_few_that_are_reached_ends() {
        let query = query(1);
        let mut pager = HistoryPageBuilder::new(&query);
        let bound = i64::try_from(limits::MAX_HISTORY_VERSIONS_SCANNED).unwrap();
        for number in (1..=bound).rev() {
            assert_eq!(pager.add_version(version(number + 10, "you")), HistoryVersionDemand::More);
        }
        assert_eq!(pager.add_version(version(1, "me")), HistoryVersionDemand::Nothing);
        let page = pager.finish();
        assert_eq!((numbers(&page), page.next), (vec![], Some(HistoryPosition { updated_us: 110, version: 11 })));
    }

    #[test]
    fn a_place_reads_as_it_prints_and_nothing_else_is_one() {
        let place = HistoryPosition { updated_us: 12, version: 7 };
        assert_eq!(place.to_string().parse(), Ok(place));
        assert!(place.is_before_version(&version(1, "me").stored));
        assert!(!place.is_before_version(&version(2, "me").stored));
        for text in ["", "-", "1", "1-", "-1", "1-2-3", "+1-2", "99999999999999999999-1"] {
            assert_eq!(text.parse::<HistoryPosition>(), Err(ParseHistoryPositionError), "{text}");
        }
    }
}
