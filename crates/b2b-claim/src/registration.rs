//! What a Client registers about the organization it acts for.

use serde_json::Value;

use crate::extension::{StoredValue, cut, members, of_client, parts, quoted, stored_urls, stored_value, text};
use crate::{
    B2bClaim, ClaimVersion, DeploymentUrls, Omission, OrganizationId, OrganizationIdError, SubExtension, extension_url,
    limits,
};

/// The parsed `client-hl7B2b` extension of a Client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientB2bExtension {
    /// The Organization to look up.
    pub organization: OrganizationReference,
    /// The system of the Organization's identifier that becomes `organization_id`; not empty.
    pub identifier_system: String,
    /// The purposes that have both system and code, in order.
    pub purposes: Vec<PurposeOfUse>,
}

/// A reference to an Organization of this deployment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OrganizationReference {
    /// Its id; not empty, without `/`, `#`, `?`, `|` and spaces.
    pub id: String,
}

/// A purpose of use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PurposeOfUse {
    /// The code system; not empty.
    pub system: String,
    /// The code; not empty.
    pub code: String,
}

impl ClientB2bExtension {
    /// Parses the extension of a stored Client, for a token of the grant `grant`.
    ///
    /// `grant` is the name of the settings under `Client.auth`, such as `client_credentials`; `deployment` may be the
    /// `ext_base` alone, and then no absolute reference is one to an Organization of this deployment.
    ///
    /// # Errors
    /// The [`Omission`] that explains why the token carries no claim; the token is issued all the same.
    ///
    /// # Source
    /// Specification "Access token claim `extensions.hl7-b2b`", conditions 1 and 2.
    pub fn from_client<'a>(
        client: &Value,
        deployment: impl Into<DeploymentUrls<'a>>,
        grant: &str,
    ) -> Result<Self, Omission> {
        let deployment = deployment.into();
        let ext_base = deployment.ext_base;
        check_token_format(client, grant)?;
        let extension = match of_client(client, ext_base).as_slice() {
            [] => {
                let (expected, stored_urls) = (extension_url(ext_base), stored_urls(client));
                return Err(Omission::NoExtension { expected, stored_urls });
            }
            [(_, extension)] => *extension,
            several => return Err(Omission::RepeatedExtension { count: several.len() }),
        };
        let reference = single(extension, SubExtension::Organization)?;
        let organization = OrganizationReference::parse(reference, deployment)
            .ok_or_else(|| Omission::BadOrganizationReference { stored: quoted(reference) })?;
        let system = single(extension, SubExtension::OrganizationIdentifierSystem)?;
        let identifier_system = system
            .as_str()
            .filter(|system| !system.trim().is_empty())
            .ok_or_else(|| Omission::BadIdentifierSystem { stored: quoted(system) })?
            .to_owned();
        Ok(Self { organization, identifier_system, purposes: purposes(extension) })
    }

    /// Builds the claim from the current version of the Organization; `None` stands for a missing one.
    ///
    /// # Errors
    /// The [`Omission`] that explains why the token carries no claim; the token is issued all the same.
    /// A resource that is not the registered Organization is treated as absent.
    ///
    /// # Source
    /// Specification "Access token claim `extensions.hl7-b2b`", condition 3.
    pub fn build_claim(&self, organization: Option<&Value>) -> Result<B2bClaim, Omission> {
        let organization = organization
            .filter(|resource| self.organization.may_be(resource))
            .ok_or_else(|| Omission::OrganizationAbsent { id: self.organization.id.clone() })?;
        Ok(B2bClaim {
            version: ClaimVersion::One,
            organization_id: self.organization_id(organization)?,
            organization_name: text(organization, "name").map(str::to_owned),
            purpose_of_use: self.purposes.iter().map(|p| format!("{}#{}", p.system, p.code)).collect(),
        })
    }

    fn organization_id(&self, organization: &Value) -> Result<OrganizationId, Omission> {
        let system = self.identifier_system.as_str();
        let identifiers = members(organization, "identifier");
        let has_system = |one: &&Value| one.get("system").and_then(Value::as_str) == Some(system);
        let mut matching = identifiers.iter().filter(has_system).peekable();
        if matching.peek().is_none() {
            let systems = identifiers.iter().filter_map(|identifier| identifier.get("system"));
            let stored_systems = systems.map(quoted).take(limits::MAX_QUOTED_VALUES).collect();
            return Err(Omission::NoMatchingIdentifier { expected_system: cut(system), stored_systems });
        }
        let value = matching.find_map(|identifier| text(identifier, "value")).unwrap_or_default();
        OrganizationId::new(system, value).map_err(|error| match error {
            OrganizationIdError::EmptyValue => Omission::EmptyIdentifierValue { system: cut(system) },
            OrganizationIdError::EmptySystem => Omission::BadIdentifierSystem { stored: cut(system) },
            OrganizationIdError::SeparatorInValue | OrganizationIdError::NoSeparator => {
                Omission::SeparatorInValue { stored: cut(value) }
            }
        })
    }
}

impl OrganizationReference {
    /// Parses a reference to an Organization of this deployment, in FHIR's format or the native one.
    ///
    /// When several members are present, `reference` decides. `None` for any other form.
    #[must_use]
    pub fn parse<'a>(reference: &Value, deployment: impl Into<DeploymentUrls<'a>>) -> Option<Self> {
        let field = |name| reference.get(name).and_then(Value::as_str);
        let deployment = deployment.into();
        let id = if reference.get("reference").is_some() {
            deployment.relative(field("reference")?).strip_prefix("Organization/")?
        } else if let Some(uri) = field("uri") {
            deployment.relative(uri).strip_prefix("Organization/")?
        } else {
            field("resourceType").filter(|name| *name == "Organization").and_then(|_| field("id"))?
        };
        is_id(id).then(|| Self { id: id.to_owned() })
    }

    /// A wrong resource handed in would give the caller another organization's identity.
    fn may_be(&self, resource: &Value) -> bool {
        let agrees = |name, expected: &str| resource.get(name).is_none_or(|stored| stored.as_str() == Some(expected));
        resource.is_object() && agrees("resourceType", "Organization") && agrees("id", &self.id)
    }
}

fn is_id(id: &str) -> bool {
    let is_legal = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '/' | '#' | '?' | '|');
    !id.is_empty() && id.len() <= limits::MAX_REFERENCE_ID_BYTES && id.chars().all(is_legal)
}

fn check_token_format(client: &Value, grant: &str) -> Result<(), Omission> {
    let settings = client.get("auth").and_then(|auth| auth.get(grant));
    match settings.and_then(|settings| settings.get("token_format")) {
        Some(Value::String(format)) if format == "jwt" => Ok(()),
        stored => Err(Omission::NotJwt { grant: grant.to_owned(), stored: stored.map(quoted) }),
    }
}

/// Returns the value of a part that must be there once.
fn single(extension: &Value, kind: SubExtension) -> Result<&Value, Omission> {
    let part = match parts(extension, kind).as_slice() {
        [] if kind == SubExtension::Organization => {
            return Err(Omission::MissingOrganization { stored_urls: stored_urls(extension) });
        }
        [] => return Err(Omission::MissingIdentifierSystem { stored_urls: stored_urls(extension) }),
        [(_, part)] => *part,
        several => return Err(Omission::Repeated { sub_extension: kind, count: several.len() }),
    };
    match stored_value(part, kind) {
        StoredValue::Element(value) => Ok(value),
        StoredValue::Union => Err(Omission::UnionForm { sub_extension: kind }),
        StoredValue::Other(stored) => Err(Omission::WrongValueElement { sub_extension: kind, stored }),
    }
}

/// Purposes are optional, so one that cannot be read costs itself alone, not the claim.
fn purposes(extension: &Value) -> Vec<PurposeOfUse> {
    let codings = parts(extension, SubExtension::PurposeOfUse).into_iter().filter_map(|(_, part)| {
        match stored_value(part, SubExtension::PurposeOfUse) {
            StoredValue::Element(coding) => Some(coding),
            StoredValue::Union | StoredValue::Other(_) => None,
        }
    });
    codings.filter_map(PurposeOfUse::read).collect()
}

impl PurposeOfUse {
    /// Reads a Coding that has both system and code.
    pub(crate) fn read(coding: &Value) -> Option<Self> {
        let (system, code) = (text(coding, "system")?, text(coding, "code")?);
        Some(Self { system: system.to_owned(), code: code.to_owned() })
    }
}
