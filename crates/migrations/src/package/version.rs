//! Versions: which one of several is meant, and which of two is newer.

use std::cmp::Ordering;

use semver::Version;

use super::id::is_exact;

/// Which version of a dependency a package asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// This one.
    Exact(String),
    /// The newest that begins with these numbers.
    Newest(Vec<u64>),
}

impl Wanted {
    /// Reads `1.2.3`, and `1.2.x`, `1.x`, `1.2` for the newest of a series. Anything else (`current`,
    /// `latest`, ranges) may mean another version tomorrow and is `None`.
    pub(super) fn read(text: &str) -> Option<Self> {
        if is_exact(text) {
            return Some(Self::Exact(text.to_owned()));
        }
        let mut parts: Vec<&str> = text.split('.').collect();
        while parts.last().is_some_and(|last| matches!(*last, "x" | "X" | "*")) {
            parts.pop();
        }
        let numbers: Option<Vec<u64>> = parts.iter().map(|part| number(part)).collect();
        numbers.filter(|numbers| matches!(numbers.len(), 1 | 2)).map(Self::Newest)
    }

    /// Returns the newest of `versions` that is meant. A version with a label (`-ballot`) counts only where no other
    /// fits.
    pub(super) fn newest_of<'a>(&self, versions: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let numbers = match self {
            Self::Exact(version) => return versions.into_iter().find(|offered| offered == version),
            Self::Newest(numbers) => numbers,
        };
        let meant = versions.into_iter().filter_map(|text| Some((Version::parse(text).ok()?, text)));
        let meant = meant.filter(|(version, _)| [version.major, version.minor].starts_with(numbers));
        let best = meant
            .max_by(|(one, _), (other, _)| one.pre.is_empty().cmp(&other.pre.is_empty()).then_with(|| one.cmp(other)));
        best.map(|(_, text)| text)
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Compares the versions of two canonicals by the rules of semantic versioning; missing numbers count as 0. A version
/// that does not follow these rules is older than one that does; two such are compared as texts.
///
/// Not specified; FHIR leaves the form of `version` open and recommends this one.
#[must_use]
pub fn compare_canonical_versions(one: &str, other: &str) -> Ordering {
    lenient(one).cmp(&lenient(other)).then_with(|| one.cmp(other))
}

fn lenient(text: &str) -> Option<Version> {
    let dots = text.split(['-', '+']).next().unwrap_or_default().matches('.').count();
    match dots {
        0 => Version::parse(&format!("{text}.0.0")),
        1 => Version::parse(&format!("{text}.0")),
        _ => Version::parse(text),
    }
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_its_newest_release() {
        let offered = ["1.2.3", "1.2.10", "1.2.11-ballot", "1.3.0", "2.0.0", "no version"];
        let chosen = |wanted: &str| Wanted::read(wanted).unwrap().newest_of(offered);
        assert_eq!(chosen("1.2.x"), Some("1.2.10"));
        assert_eq!(chosen("1.2"), Some("1.2.10"));
        assert_eq!(chosen("1.x"), Some("1.3.0"));
        assert_eq!(chosen("1.x.x"), Some("1.3.0"));
        assert_eq!(chosen("1.2.3"), Some("1.2.3"));
        assert_eq!(chosen("1.2.11-ballot"), Some("1.2.11-ballot"));
        assert_eq!(chosen("3.x"), None);
        assert_eq!(chosen("1.2.4"), None);
    }

    #[test]
    fn a_label_counts_where_there_is_no_release() {
        let wanted = Wanted::read("1.2.x").unwrap();
        assert_eq!(wanted.newest_of(["1.2.0-ballot", "1.2.0-snapshot1"]), Some("1.2.0-snapshot1"));
    }

    #[test]
    fn what_may_mean_another_version_tomorrow_is_not_read() {
        for text in ["", "x", "*", "x.1", "current", "latest", "dev", "^1.2.3", "~1.2", ">=1.0.0", "1.2.3.x", "1..x"] {
            assert_eq!(Wanted::read(text), None, "{text}");
        }
    }

    #[test]
    fn canonicals_without_a_regular_version_are_older() {
        let mut versions = ["2.0", "", "10", "2.0.0-rc", "draft", "2.0.1"];
        versions.sort_by(|one, other| compare_canonical_versions(one, other));
        assert_eq!(versions, ["", "draft", "2.0.0-rc", "2.0", "2.0.1", "10"]);
    }
}
