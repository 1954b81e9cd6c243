//! The addresses of a deployment, by which its own extension and Organizations are known.

/// The URLs of a deployment, by which its extension and Organizations are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeploymentUrls<'a> {
    /// The beginning of the extension's URL, with or without a slash at its end.
    pub ext_base: &'a str,
    /// The public address of the server without a slash at its end; absolute references are not resolved without it.
    pub base_url: Option<&'a str>,
}

impl<'a> From<&'a str> for DeploymentUrls<'a> {
    fn from(ext_base: &'a str) -> Self {
        Self { ext_base, base_url: None }
    }
}

impl<'a> From<&'a String> for DeploymentUrls<'a> {
    fn from(ext_base: &'a String) -> Self {
        ext_base.as_str().into()
    }
}

impl DeploymentUrls<'_> {
    /// A reference below one of the deployment's own endpoints, relative to it; any other one as it is.
    pub(crate) fn relative<'t>(&self, text: &'t str) -> &'t str {
        let own = self.base_url.and_then(|base_url| text.strip_prefix(base_url)?.strip_prefix('/'));
        own.map_or(text, |path| path.strip_prefix("fhir/").unwrap_or(path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::OrganizationReference;

    #[test]
    fn an_absolute_reference_to_an_own_organization_is_read() {
        let deployment =
            DeploymentUrls { ext_base: "http://platform.example/fhir", base_url: Some("https://payer.example") };
        let id = |reference: serde_json::Value| OrganizationReference::parse(&reference, deployment).map(|one| one.id);
        for own in
            ["https://payer.example/fhir/Organization/a", "https://payer.example/Organization/a", "Organization/a"]
        {
            assert_eq!(id(json!({"reference": own})).as_deref(), Some("a"), "{own}");
            assert_eq!(id(json!({"uri": own})).as_deref(), Some("a"), "{own}");
        }
        for other in [
            "https://other.example/fhir/Organization/a",
            "https://payer.example.evil/fhir/Organization/a",
            "http://payer.example/fhir/Organization/a",
            "https://payer.example/fhir/Patient/a",
            "https://payer.example/fhir/Organization/a/_history/2",
            "https://payer.example/fhir/fhir/Organization/a",
            "https://payer.example",
        ] {
            assert_eq!(id(json!({"reference": other})), None, "{other}");
        }
        let unknown =
            OrganizationReference::parse(&json!({"reference": "https://payer.example/fhir/Organization/a"}), "e");
        assert_eq!(unknown, None, "without an address of the deployment");
    }
}
