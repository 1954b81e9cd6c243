//! The API of the server that a path belongs to. It decides how errors look.

use fhir_service::resource_format::ResourceFormat;

/// An API of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// The addresses below `/auth` for people: pages.
    Page,
    /// The rest of `/auth/…`: RFC 6749 JSON.
    OAuth,
    /// `/rpc`: an error object.
    Rpc,
    /// Everything else: resources, in one of two formats.
    Resources(ResourceFormat),
}

impl Api {
    /// Returns the API that a path belongs to.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segments_decide() {
        let native = Api::Resources(ResourceFormat::Native);
        let fhir = Api::Resources(ResourceFormat::Fhir);
        for (path, api) in [
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
            assert_eq!(Api::of(path), api, "{path}");
        }
    }
}
