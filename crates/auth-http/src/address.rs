//! What the path of a resource endpoint names.

use axum::extract::{FromRequestParts, RawPathParams};
use fhir_store::compartment::{CompartmentMembership, membership};
use fhir_store::{ResourceId, ResourceKey, ResourceType};
use http::request::Parts;

use crate::brand;
use crate::error::ApiError;
use crate::state::{App, HttpSettings};

/// The type in the path.
pub(crate) struct TypePath(pub(crate) ResourceType);

/// The type and the id in the path.
pub(crate) struct ResourcePath(pub(crate) ResourceKey);

/// The Client in the path of an operation on Clients.
pub(crate) struct ClientPath(pub(crate) ResourceKey);

/// The Patient in the path of an operation on Patients.
pub(crate) struct PatientPath(pub(crate) ResourceKey);

/// The Patient and the type in the path of what is searched within the patient's compartment.
pub(crate) struct CompartmentPath {
    pub(crate) patient: ResourceId,
    pub(crate) kind: ResourceType,
}

impl FromRequestParts<App> for CompartmentPath {
    type Rejection = ApiError;

    /// Nobody answers where no resource of the type could be, or where there is no compartment.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let kind = kind(&app.settings, segment(&segments, "kind")?)?;
        if segment(&segments, "type")? != "Patient" || !matches!(membership(&kind), CompartmentMembership::Reference(_))
        {
            return Err(ApiError::UnknownRoute);
        }
        Ok(Self { patient: segment(&segments, "id")?.parse()?, kind })
    }
}

impl FromRequestParts<App> for PatientPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let id: ResourceId = segment(&segments, "id")?.parse()?;
        Ok(Self(ResourceKey { kind: kind(&app.settings, "Patient")?, id }))
    }
}

impl FromRequestParts<App> for ClientPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let id: ResourceId = segment(&segments, "id")?.parse()?;
        Ok(Self(ResourceKey { kind: kind(&app.settings, "Client")?, id }))
    }
}

impl FromRequestParts<App> for TypePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        kind(&app.settings, segment(&segments, "type")?).map(Self)
    }
}

impl FromRequestParts<App> for ResourcePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let kind = kind(&app.settings, segment(&segments, "type")?)?;
        let id = segment(&segments, "id")?;
        let id: ResourceId = id.parse()?;
        Ok(Self(ResourceKey { kind, id }))
    }
}

/// Returns the type a path names. A word that can be no type is an address nobody answers at.
fn kind(settings: &HttpSettings, name: &str) -> Result<ResourceType, ApiError> {
    brand::type_name(&settings.platform_name, name).parse().map_err(|_| ApiError::UnknownRoute)
}

/// A path whose percent-encoding is no UTF-8 is no address either.
async fn segments(parts: &mut Parts, app: &App) -> Result<RawPathParams, ApiError> {
    RawPathParams::from_request_parts(parts, app).await.map_err(|_| ApiError::UnknownRoute)
}

fn segment<'a>(segments: &'a RawPathParams, name: &str) -> Result<&'a str, ApiError> {
    let named = segments.iter().find(|(known, _)| *known == name);
    named.map(|(_, value)| value).ok_or(ApiError::UnknownRoute)
}
