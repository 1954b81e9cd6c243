//! What the path of a resource endpoint names.

use axum::extract::{FromRequestParts, RawPathParams};
use fhir_store::compartment::{Membership, membership};
use fhir_store::{ResourceId, ResourceKey, ResourceType};
use http::request::Parts;

use crate::brand;
use crate::error::Fault;
use crate::state::{App, HttpSettings};

/// The type in the path.
pub(crate) struct Kind(pub(crate) ResourceType);

/// The type and the id in the path.
pub(crate) struct Target(pub(crate) ResourceKey);

/// The Client in the path of an operation on Clients.
pub(crate) struct ClientTarget(pub(crate) ResourceKey);

/// The Patient in the path of an operation on Patients.
pub(crate) struct PatientTarget(pub(crate) ResourceKey);

/// The Patient and the type in the path of what is searched within the patient's compartment.
pub(crate) struct InCompartment {
    pub(crate) patient: ResourceId,
    pub(crate) kind: ResourceType,
}

impl FromRequestParts<App> for InCompartment {
    type Rejection = Fault;

    /// Nobody answers where no resource of the type could be, or where there is no compartment.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let segments = segments(parts, app).await?;
        let kind = kind(&app.settings, segment(&segments, "kind")?)?;
        if segment(&segments, "type")? != "Patient" || !matches!(membership(&kind), Membership::Reference(_)) {
            return Err(Fault::UnknownRoute);
        }
        Ok(Self { patient: segment(&segments, "id")?.parse()?, kind })
    }
}

impl FromRequestParts<App> for PatientTarget {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let segments = segments(parts, app).await?;
        let id: ResourceId = segment(&segments, "id")?.parse()?;
        Ok(Self(ResourceKey { kind: kind(&app.settings, "Patient")?, id }))
    }
}

impl FromRequestParts<App> for ClientTarget {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let segments = segments(parts, app).await?;
        let id: ResourceId = segment(&segments, "id")?.parse()?;
        Ok(Self(ResourceKey { kind: kind(&app.settings, "Client")?, id }))
    }
}

impl FromRequestParts<App> for Kind {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let segments = segments(parts, app).await?;
        kind(&app.settings, segment(&segments, "type")?).map(Self)
    }
}

impl FromRequestParts<App> for Target {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Fault> {
        let segments = segments(parts, app).await?;
        let kind = kind(&app.settings, segment(&segments, "type")?)?;
        let id = segment(&segments, "id")?;
        let id: ResourceId = id.parse()?;
        Ok(Self(ResourceKey { kind, id }))
    }
}

/// Returns the type a path names. A word that can be no type is an address nobody answers at.
fn kind(settings: &HttpSettings, name: &str) -> Result<ResourceType, Fault> {
    brand::type_name(&settings.platform_name, name).parse().map_err(|_| Fault::UnknownRoute)
}

/// A path whose percent-encoding is no UTF-8 is no address either.
async fn segments(parts: &mut Parts, app: &App) -> Result<RawPathParams, Fault> {
    RawPathParams::from_request_parts(parts, app).await.map_err(|_| Fault::UnknownRoute)
}

fn segment<'a>(segments: &'a RawPathParams, name: &str) -> Result<&'a str, Fault> {
    let named = segments.iter().find(|(known, _)| *known == name);
    named.map(|(_, value)| value).ok_or(Fault::UnknownRoute)
}
