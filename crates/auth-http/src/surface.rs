//! Which of the server's faces a path belongs to: it decides how errors look.

use http::HeaderValue;

use crate::media;

/// A face of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// The addresses below `/auth` where people are: pages.
    Page,
    /// The rest of `/auth/…`: RFC 6749 JSON.
    OAuth,
    /// `/rpc`: an error object.
    Rpc,
    /// Everything else: resources, in one of two forms.
    Resources(ResourceFormat),
}

/// The form resources are read and written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceFormat {
    /// The native base endpoint: as stored.
    Native,
    /// `/fhir`: as FHIR has it.
    Fhir,
}

impl Api {
    /// Returns the face a path shows.
    pub(crate) fn of(path: &str) -> Self {
        let mut segments = path.split('/').skip(1);
        match segments.next() {
            Some("auth") => match segments.next() {
                Some("authorize" | "login" | "patient" | "grant" | "apps" | "logout") => Self::Page,
                _ => Self::OAuth,
            },
            Some("rpc") => Self::Rpc,
            Some("fhir") => Self::Resources(ResourceFormat::Fhir),
            _ => Self::Resources(ResourceFormat::Native),
        }
    }
}

impl ResourceFormat {
    /// Returns the dialect of a resource endpoint's path.
    pub(crate) fn of(path: &str) -> Self {
        match Api::of(path) {
            Api::Resources(dialect) => dialect,
            Api::OAuth | Api::Page | Api::Rpc => Self::Native,
        }
    }

    /// Returns what the dialect's addresses start with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Native => "",
            Self::Fhir => "/fhir",
        }
    }

    /// Returns the media type of the dialect's answers.
    pub(crate) fn media_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Native => media::JSON,
            Self::Fhir => media::FHIR_JSON,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segments_decide() {
        let native = Api::Resources(ResourceFormat::Native);
        let fhir = Api::Resources(ResourceFormat::Fhir);
        for (path, surface) in [
            ("/auth/token", Api::OAuth),
            ("/auth", Api::OAuth),
            ("/auth/style/x.css", Api::OAuth),
            ("/auth/authorize", Api::Page),
            ("/auth/apps/revoke", Api::Page),
            ("/authority/x", native),
            ("/rpc", Api::Rpc),
            ("/fhir", fhir),
            ("/fhir/Client/x", fhir),
            ("/fhirs", native),
            ("/", native),
            ("", native),
        ] {
            assert_eq!(Api::of(path), surface, "{path}");
        }
    }
}
