//! Why a token carries no claim.

use serde::Serialize;

use crate::SubExtension;

/// The reason why a token carries no `hl7-b2b` claim, with what is stored and what was expected.
///
/// The text is one sentence for the engineer who integrates the Client. Stored values in it are cut to
/// the lengths in [`crate::limits`]; none of them is a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Omission {
    /// The grant issues opaque tokens, which carry no claims.
    #[error(
        "tokens of this grant are not JWTs: set Client.auth.{grant}.token_format to 'jwt' (stored: {})",
        shown(stored.as_deref())
    )]
    NotJwt {
        /// The name of the settings under `Client.auth`.
        grant: String,
        /// What `token_format` holds, if anything.
        stored: Option<String>,
    },
    /// The Client does not carry the extension.
    #[error("the Client has no extension with url '{expected}' (stored urls: {})", listed(stored_urls))]
    NoExtension {
        /// The URL of the extension.
        expected: String,
        /// The urls of the extensions it has.
        stored_urls: Vec<String>,
    },
    /// The extension is there several times, so that it does not say which organization is meant.
    #[error("the Client carries the client-hl7B2b extension {count} times: keep one")]
    RepeatedExtension {
        /// The number of occurrences.
        count: usize,
    },
    /// The value was rewritten into the union form when the Client was written through `/fhir`.
    #[error(
        "sub-extension '{sub_extension}' is stored in the union form 'value': write the Client through the native \
         base endpoint, not through /fhir, so that '{}' is kept",
        sub_extension.value_element()
    )]
    UnionForm {
        /// The first sub-extension in that form.
        sub_extension: SubExtension,
    },
    /// There is no `organization`.
    #[error("the extension has no sub-extension 'organization' (stored urls: {})", listed(stored_urls))]
    MissingOrganization {
        /// The urls of the parts it has.
        stored_urls: Vec<String>,
    },
    /// There is no `organizationIdentifierSystem`.
    #[error("the extension has no sub-extension 'organizationIdentifierSystem' (stored urls: {})", listed(stored_urls))]
    MissingIdentifierSystem {
        /// The urls of the parts it has.
        stored_urls: Vec<String>,
    },
    /// A sub-extension that must occur once occurs several times.
    #[error("sub-extension '{sub_extension}' is there {count} times: keep one")]
    Repeated {
        /// The sub-extension.
        sub_extension: SubExtension,
        /// The number of occurrences.
        count: usize,
    },
    /// The value is neither in its element nor in the union form.
    #[error(
        "sub-extension '{sub_extension}' has no '{}' (stored elements: {})",
        sub_extension.value_element(),
        listed(stored)
    )]
    WrongValueElement {
        /// The sub-extension.
        sub_extension: SubExtension,
        /// The names of the elements it has beside `url`.
        stored: Vec<String>,
    },
    /// The reference is not of a form that [`OrganizationReference::parse`](crate::OrganizationReference::parse)
    /// resolves.
    #[error("the organization reference is not of the form 'Organization/<id>' (stored: {})", shown(Some(stored)))]
    BadOrganizationReference {
        /// The reference.
        stored: String,
    },
    /// The identifier system is not a text, or is empty.
    #[error("organizationIdentifierSystem holds no system (stored: {})", shown(Some(stored)))]
    BadIdentifierSystem {
        /// The value.
        stored: String,
    },
    /// The referenced Organization does not exist in this deployment.
    #[error("Organization/{id} does not exist here: create it before the Client that references it")]
    OrganizationAbsent {
        /// The id in the reference.
        id: String,
    },
    /// No identifier of the Organization has the registered system, byte for byte.
    #[error(
        "no identifier of the Organization has exactly the system '{expected_system}' (stored systems: {}){}",
        listed(stored_systems),
        near_miss(expected_system, stored_systems)
    )]
    NoMatchingIdentifier {
        /// The system registered in the extension.
        expected_system: String,
        /// The systems of the Organization's identifiers.
        stored_systems: Vec<String>,
    },
    /// The identifiers with the registered system have no value.
    #[error("the Organization's identifier with system '{system}' has no value")]
    EmptyIdentifierValue {
        /// The system.
        system: String,
    },
    /// The value contains `#`, so the split at the last one would read another system and value.
    #[error("the Organization's identifier value '{stored}' contains '#', which organization_id cannot carry")]
    SeparatorInValue {
        /// The value.
        stored: String,
    },
}

/// An [`Omission`] as data, for administrators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OmissionDiagnosis {
    /// The condition that is not met ([`Omission::failed_condition`]): 1 the token format, 2 the extension, 3 the
    /// Organization.
    pub condition: u8,
    /// [`Omission::metric_label`].
    pub check: &'static str,
    /// The values found where the check looked; empty when there were none.
    pub stored: Vec<String>,
    /// The value that the check expects.
    pub expected: String,
    /// The text of the omission: what is wrong and what to do about it, in one sentence.
    pub advice: String,
}

impl Omission {
    /// Returns a stable word for metric labels and log filters.
    #[must_use]
    pub const fn metric_label(&self) -> &'static str {
        match self {
            Self::NotJwt { .. } => "not_jwt",
            Self::NoExtension { .. } => "no_extension",
            Self::RepeatedExtension { .. } => "repeated_extension",
            Self::UnionForm { .. } => "union_form",
            Self::MissingOrganization { .. } => "missing_organization",
            Self::MissingIdentifierSystem { .. } => "missing_identifier_system",
            Self::Repeated { .. } => "repeated_sub_extension",
            Self::WrongValueElement { .. } => "wrong_value_element",
            Self::BadOrganizationReference { .. } => "bad_organization_reference",
            Self::BadIdentifierSystem { .. } => "bad_identifier_system",
            Self::OrganizationAbsent { .. } => "organization_absent",
            Self::NoMatchingIdentifier { .. } => "no_matching_identifier",
            Self::EmptyIdentifierValue { .. } => "empty_identifier_value",
            Self::SeparatorInValue { .. } => "separator_in_value",
        }
    }

    /// Returns the number of the condition that is not met: 1 the token format, 2 the extension, 3 the Organization.
    ///
    /// # Source
    /// Specification "Access token claim `extensions.hl7-b2b`".
    #[must_use]
    pub const fn failed_condition(&self) -> u8 {
        match self {
            Self::NotJwt { .. } => 1,
            Self::NoExtension { .. }
            | Self::RepeatedExtension { .. }
            | Self::UnionForm { .. }
            | Self::MissingOrganization { .. }
            | Self::MissingIdentifierSystem { .. }
            | Self::Repeated { .. }
            | Self::WrongValueElement { .. }
            | Self::BadOrganizationReference { .. }
            | Self::BadIdentifierSystem { .. } => 2,
            Self::OrganizationAbsent { .. }
            | Self::NoMatchingIdentifier { .. }
            | Self::EmptyIdentifierValue { .. }
            | Self::SeparatorInValue { .. } => 3,
        }
    }

    /// Returns the omission as data for administrators.
    #[must_use]
    pub fn to_diagnosis(&self) -> OmissionDiagnosis {
        OmissionDiagnosis {
            condition: self.failed_condition(),
            check: self.metric_label(),
            stored: self.stored(),
            expected: self.expected(),
            advice: self.to_string(),
        }
    }

    fn stored(&self) -> Vec<String> {
        match self {
            Self::NotJwt { stored, .. } => stored.iter().cloned().collect(),
            Self::NoExtension { stored_urls, .. }
            | Self::MissingOrganization { stored_urls }
            | Self::MissingIdentifierSystem { stored_urls } => stored_urls.clone(),
            Self::WrongValueElement { stored, .. } => stored.clone(),
            Self::NoMatchingIdentifier { stored_systems, .. } => stored_systems.clone(),
            Self::UnionForm { .. } => vec!["value".to_owned()],
            Self::RepeatedExtension { count } | Self::Repeated { count, .. } => vec![count.to_string()],
            Self::BadOrganizationReference { stored }
            | Self::BadIdentifierSystem { stored }
            | Self::SeparatorInValue { stored } => vec![stored.clone()],
            Self::OrganizationAbsent { .. } | Self::EmptyIdentifierValue { .. } => Vec::new(),
        }
    }

    fn expected(&self) -> String {
        match self {
            Self::NotJwt { .. } => "jwt".to_owned(),
            Self::NoExtension { expected, .. } => expected.clone(),
            Self::RepeatedExtension { .. } | Self::Repeated { .. } => "1".to_owned(),
            Self::UnionForm { sub_extension } | Self::WrongValueElement { sub_extension, .. } => {
                sub_extension.value_element().to_owned()
            }
            Self::MissingOrganization { .. } => SubExtension::Organization.url().to_owned(),
            Self::MissingIdentifierSystem { .. } => SubExtension::OrganizationIdentifierSystem.url().to_owned(),
            Self::BadOrganizationReference { .. } => "Organization/<id>".to_owned(),
            Self::BadIdentifierSystem { .. } => "a system that is not empty".to_owned(),
            Self::OrganizationAbsent { id } => format!("Organization/{id}"),
            Self::NoMatchingIdentifier { expected_system, .. } => expected_system.clone(),
            Self::EmptyIdentifierValue { system } => format!("a value for the system {system}"),
            Self::SeparatorInValue { .. } => "a value without #".to_owned(),
        }
    }
}

fn shown(stored: Option<&str>) -> String {
    stored.map_or_else(|| "nothing".to_owned(), |stored| format!("'{stored}'"))
}

fn listed(stored: &[String]) -> String {
    if stored.is_empty() { "none".to_owned() } else { format!("'{}'", stored.join("', '")) }
}

/// Names the two differences that are easy to overlook.
fn near_miss(expected: &str, stored: &[String]) -> &'static str {
    let without_slash = |system: &str| system.trim_end_matches('/').to_owned();
    let without_scheme = |system: &str| system.split_once("://").map_or(system, |(_, rest)| rest).to_owned();
    if stored.iter().any(|system| without_slash(system) == without_slash(expected)) {
        "; one differs only by a slash at the end"
    } else if stored.iter().any(|system| without_scheme(system) == without_scheme(expected)) {
        "; one differs only by http or https"
    } else {
        ""
    }
}
