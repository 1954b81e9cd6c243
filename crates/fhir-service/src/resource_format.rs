//! The two forms in which resources are read and written.

/// The format of resources at an endpoint: FHIR's or the native one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceFormat {
    /// The native format, at the base endpoint.
    Native,
    /// FHIR's format, at `/fhir`.
    Fhir,
}

impl ResourceFormat {
    /// Returns the format of the endpoint that a path belongs to.
    #[must_use]
    pub fn of_path(path: &str) -> Self {
        match path.split('/').nth(1) {
            Some("fhir") => Self::Fhir,
            Some(_) | None => Self::Native,
        }
    }

    /// Returns the path prefix of the endpoint of this format: empty, or `/fhir`.
    #[must_use]
    pub const fn path_prefix(self) -> &'static str {
        match self {
            Self::Native => "",
            Self::Fhir => "/fhir",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segment_decides() {
        for path in ["/fhir", "/fhir/", "/fhir/Client/x"] {
            assert_eq!(ResourceFormat::of_path(path), ResourceFormat::Fhir, "{path}");
        }
        for path in ["", "/", "/Client/x", "/fhirs", "/Patient/fhir", "fhir"] {
            assert_eq!(ResourceFormat::of_path(path), ResourceFormat::Native, "{path}");
        }
    }
}
