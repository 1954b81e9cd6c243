//! Which package: a name and an exact version.

use std::fmt;
use std::str::FromStr;

/// Longest name, as in the registry these packages come from.
const NAME_MAX_BYTES: usize = 214;
/// Longest version.
const VERSION_MAX_BYTES: usize = 256;

/// The name and exact version of a FHIR package: `<name>@<version>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackageId {
    name: String,
    version: String,
}

/// The reason why a text is not a package name and version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageIdError {
    /// No `@` or `#`, or nothing on one of its sides.
    #[error("{0:?} is not <package-name>@<version>")]
    Shape(String),
    /// The name has characters that no package name has.
    #[error("{0:?} is not a package name: lower-case letters, digits, '.', '-' and '_'")]
    Name(String),
    /// The version is not exact: a range, or one that moves. A migration runs once, so what it installs has to be fixed
    /// when it is written.
    #[error("{0:?} is not an exact version such as 5.0.0; ranges, current, dev and latest are not installed")]
    Version(String),
}

impl PackageId {
    /// Creates the id of a package from its name and exact version.
    ///
    /// # Errors
    /// [`PackageIdError::Name`] and [`PackageIdError::Version`].
    pub fn new(name: &str, version: &str) -> Result<Self, PackageIdError> {
        if !is_name(name) {
            return Err(PackageIdError::Name(name.to_owned()));
        }
        if !is_exact(version) {
            return Err(PackageIdError::Version(version.to_owned()));
        }
        Ok(Self { name: name.to_owned(), version: version.to_owned() })
    }

    /// Returns the name, such as `hl7.fhir.us.core`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the exact version, such as `5.0.0`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl FromStr for PackageId {
    type Err = PackageIdError;

    /// Splits at the last `@`; without one at the `#` that other tools of the field write.
    fn from_str(text: &str) -> Result<Self, PackageIdError> {
        let parts = text.rsplit_once('@').or_else(|| text.rsplit_once('#'));
        let parts = parts.filter(|(name, version)| !name.is_empty() && !version.is_empty());
        let (name, version) = parts.ok_or_else(|| PackageIdError::Shape(text.to_owned()))?;
        Self::new(name, version)
    }
}

/// Returns whether a package may be called this. It becomes part of addresses and of file names.
pub(super) fn is_name(name: &str) -> bool {
    let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
    !name.is_empty() && name.len() <= NAME_MAX_BYTES && !name.starts_with('.') && name.chars().all(of_name)
}

/// Three numbers and what semantic versioning allows behind them.
pub(super) fn is_exact(version: &str) -> bool {
    let (numbers, label) = version.find(['-', '+']).map_or((version, None), |at| {
        let (numbers, label) = version.split_at(at);
        (numbers, label.get(1..))
    });
    let of_label = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    let numbers: Vec<_> = numbers.split('.').collect();
    version.len() <= VERSION_MAX_BYTES
        && numbers.len() == 3
        && numbers.iter().all(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
        && label.is_none_or(|label| !label.is_empty() && label.chars().all(of_label))
}

impl fmt::Display for PackageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_a_name_and_an_exact_version() {
        for text in ["hl7.fhir.us.core@5.0.0", "hl7.fhir.r4.core@4.0.1", "a_b-c@1.2.3-ballot.1", "x@1.0.0+build"] {
            assert_eq!(text.parse::<PackageId>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_spelling_of_other_tools_is_read_too() {
        let package: PackageId = "hl7.fhir.us.core#5.0.0".parse().unwrap();
        assert_eq!(package, "hl7.fhir.us.core@5.0.0".parse().unwrap());
    }

    #[test]
    fn a_moving_version_is_refused_by_name() {
        for version in ["1.2.x", "current", "dev", "latest", "1.2", "1.2.3.4", "^1.2.3", "1..3", "1.2.3-", "1.2.3-a/b"]
        {
            let fault = format!("hl7.fhir.us.core@{version}").parse::<PackageId>().unwrap_err();
            assert_eq!(fault, PackageIdError::Version(version.to_owned()));
        }
    }

    #[test]
    fn a_name_that_could_leave_its_folder_is_refused() {
        let long = format!("{}@1.0.0", "a".repeat(215));
        for text in [&long, "../x@1.0.0", "A@1.0.0", "a/b@1.0.0", "a b@1.0.0", "@scope@1.0.0"] {
            assert!(matches!(text.parse::<PackageId>(), Err(PackageIdError::Name(_))), "{text}");
        }
        for text in ["", "hl7.fhir.us.core", "@1.0.0", "x@"] {
            assert!(matches!(text.parse::<PackageId>(), Err(PackageIdError::Shape(_))), "{text}");
        }
    }
}
