//! What the path of a resource endpoint names.

use axum::extract::{FromRequestParts, RawPathParams};
use fhir_resource::patient_compartment::{CompartmentMembership, patient_compartment_membership};
use fhir_resource::{ResourceId, ResourceKey, ResourceType};
use fhir_service::access::OperationRequestLine;
use fhir_service::brand_type_names;
use fhir_service::error::ServiceError;
use http::request::Parts;
use http::{Method, Uri};

use crate::error::ApiError;
use crate::state::App;

/// The type in the path.
pub(crate) struct TypePath(pub(crate) ResourceType);

/// The type and the id in the path.
pub(crate) struct ResourcePath(pub(crate) ResourceKey);

/// The Client in the path of an operation on Clients.
pub(crate) struct ClientPath(pub(crate) ResourceKey);

/// The Patient in the path of an operation on Patients.
pub(crate) struct PatientPath(pub(crate) ResourceKey);

/// The address that an operation was called at.
pub(crate) struct CalledAddress<'a> {
    /// The method in lower case.
    method: String,
    uri: &'a Uri,
}

impl<'a> CalledAddress<'a> {
    pub(crate) fn new(method: &Method, uri: &'a Uri) -> Self {
        Self { method: method.as_str().to_ascii_lowercase(), uri }
    }

    /// Returns the address as the FHIR service takes it.
    pub(crate) fn as_operation(&self) -> OperationRequestLine<'_> {
        let path_and_query = self.uri.path_and_query().map_or("", |path| path.as_str());
        OperationRequestLine { method: &self.method, path: self.uri.path(), path_and_query }
    }
}

/// The Patient and the type in the path of what is searched within the patient's compartment.
pub(crate) struct CompartmentPath {
    pub(crate) patient: ResourceId,
    pub(crate) kind: ResourceType,
}

impl FromRequestParts<App> for CompartmentPath {
    type Rejection = ApiError;

    /// There is no route where no resource of the type could be, or where there is no compartment.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let kind = kind(app, segment(&segments, "kind")?)?;
        if segment(&segments, "type")? != "Patient"
            || !matches!(patient_compartment_membership(&kind), CompartmentMembership::Reference(_))
        {
            return Err(ApiError::UnknownRoute);
        }
        Ok(Self { patient: id(&segments)?, kind })
    }
}

impl FromRequestParts<App> for PatientPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let id = id(&segments)?;
        Ok(Self(ResourceKey { resource_type: kind(app, "Patient")?, id }))
    }
}

impl FromRequestParts<App> for ClientPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let id = id(&segments)?;
        Ok(Self(ResourceKey { resource_type: kind(app, "Client")?, id }))
    }
}

impl FromRequestParts<App> for TypePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        kind(app, segment(&segments, "type")?).map(Self)
    }
}

impl FromRequestParts<App> for ResourcePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let segments = segments(parts, app).await?;
        let kind = kind(app, segment(&segments, "type")?)?;
        Ok(Self(ResourceKey { resource_type: kind, id: id(&segments)? }))
    }
}

/// Returns the type a path names. A word that cannot be a type is an unknown route.
fn kind(app: &App, name: &str) -> Result<ResourceType, ApiError> {
    brand_type_names::stored_type_name(&app.fhir.settings().platform_name, name)
        .parse()
        .map_err(|_| ApiError::UnknownRoute)
}

/// Returns the id a path names.
fn id(segments: &RawPathParams) -> Result<ResourceId, ApiError> {
    Ok(segment(segments, "id")?.parse().map_err(ServiceError::Id)?)
}

/// A path whose percent-encoding is no UTF-8 is no address either.
async fn segments(parts: &mut Parts, app: &App) -> Result<RawPathParams, ApiError> {
    RawPathParams::from_request_parts(parts, app).await.map_err(|_| ApiError::UnknownRoute)
}

fn segment<'a>(segments: &'a RawPathParams, name: &str) -> Result<&'a str, ApiError> {
    let named = segments.iter().find(|(known, _)| *known == name);
    named.map(|(_, value)| value).ok_or(ApiError::UnknownRoute)
}
