//! Which of the server's faces a path belongs to: it decides how errors look.

use http::HeaderValue;

use crate::media;

/// A face of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The addresses below `/auth` where people are: pages.
    Page,
    /// The rest of `/auth/…`: RFC 6749 JSON.
    OAuth,
    /// `/rpc`: an error object.
    Rpc,
    /// Everything else: resources, in one of two forms.
    Resources(Dialect),
}

/// The form resources are read and written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The native base endpoint: as stored.
    Native,
    /// `/fhir`: as FHIR has it.
    Fhir,
}

impl Surface {
    /// Returns the face a path shows.
    pub(crate) fn of(path: &str) -> Self {
        let mut segments = path.split('/').skip(1);
        match segments.next() {
            Some("auth") => match segments.next() {
                Some("authorize" | "login" | "patient" | "grant" | "apps" | "logout") => Self::Page,
                _ => Self::OAuth,
            },
            Some("rpc") => Self::Rpc,
            Some("fhir") => Self::Resources(Dialect::Fhir),
            _ => Self::Resources(Dialect::Native),
        }
    }
}

impl Dialect {
    /// Returns the dialect of a resource endpoint's path.
    pub(crate) fn of(path: &str) -> Self {
        match Surface::of(path) {
            Surface::Resources(dialect) => dialect,
            Surface::OAuth | Surface::Page | Surface::Rpc => Self::Native,
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
        let native = Surface::Resources(Dialect::Native);
        let fhir = Surface::Resources(Dialect::Fhir);
        for (path, surface) in [
            ("/auth/token", Surface::OAuth),
            ("/auth", Surface::OAuth),
            ("/auth/style/x.css", Surface::OAuth),
            ("/auth/authorize", Surface::Page),
            ("/auth/apps/revoke", Surface::Page),
            ("/authority/x", native),
            ("/rpc", Surface::Rpc),
            ("/fhir", fhir),
            ("/fhir/Client/x", fhir),
            ("/fhirs", native),
            ("/", native),
            ("", native),
        ] {
            assert_eq!(Surface::of(path), surface, "{path}");
        }
    }
}
