//! `/export/realm`: archives of the organization, and `/exports`, where administrators download them.

use axum::body::Body;
use axum::response::Response;
use axum::routing;
use chat_core::files::FileKey;
use chat_core::organization::data_exports::{self, DataExport, DataExportError, DataExportType, MAX_EXPORTED_MESSAGES};
use chat_core::permission::access;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, header};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::uploads::file_response;
use crate::error::{ApiError, InternalError, OrganizationItemError};
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, EnumNumberJson, JsonParam, NumberEnum, ParamError, ParamReader};
use crate::raw_endpoint::{RawCall, raw_endpoint};
use crate::routes::{Routes, delete, get, no_members};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the data exports.", listed)).post(
        endpoint(request)
            .documented("Request a data export.", || vec![required_schema_member("id", JsonSchema::integer())]),
    );
    let one = delete(endpoint(remove).documented("Delete the archive of a data export.", no_members));
    let consents =
        get(endpoint(consents).documented("List who allows that their private data is exported.", listed_consents));
    Routes::of("organization")
        .api("/export/realm", all)
        .api("/export/realm/consents", consents)
        .api("/export/realm/{export_id}", one)
        .route("/exports/{name}", routing::get(raw_endpoint(download)))
}

/// All exports, in the order of their numbers.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let exports = data_exports::list(&call.caller.realm, &call.caller.user, &call.app.settings.base_url)?;
    ApiResponsePayload::from_payload(&json!({"exports": exports}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("exports", JsonSchema::list(JsonSchema::reference_to("DataExport")))]
}

impl NumberEnum for DataExportType {
    const NUMBERS: &'static [(i64, Self)] = &Self::NUMBERS;
}

/// The parameters of `POST /export/realm`.
struct ExportParams {
    export_type: DataExportType,
}

impl EndpointParams for ExportParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let public = EnumNumberJson(DataExportType::Public);
        let EnumNumberJson(export_type) =
            reader.optional_or::<JsonParam<EnumNumberJson<DataExportType>>>("export_type", public)?;
        Ok(Self { export_type })
    }
}

/// Requests an export, which a node writes in the background. The answer is its number.
async fn request(call: ApiCall<AuthenticatedCaller>, params: ExportParams) -> Result<ApiResponsePayload, ApiError> {
    let (app, caller) = (&call.app, &call.caller);
    // Others are refused before anything is counted.
    access::require_administrator(&caller.user)?;
    let size = app.exports.organization_size(MAX_EXPORTED_MESSAGES).await?;
    let wanted = (params.export_type, size, app.settings.base_url.as_str());
    let id = app
        .commit(|realm, commit| Ok(data_exports::request(realm, caller.account_in_realm(realm)?, wanted, commit)?))
        .await?;
    ApiResponsePayload::from_payload(&json!({"id": id}))
}

/// Deletes an archive.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let export = (call.path_id("export_id")?, call.app.settings.base_url.as_str());
    let caller = &call.caller;
    call.app
        .commit(|realm, commit| Ok(data_exports::delete(realm, caller.account_in_realm(realm)?, export, commit)?))
        .await?;
    Ok(ApiResponsePayload::empty())
}

/// People with an open account, and whether they allow that their private data is exported.
async fn consents(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let consents = data_exports::consents(&call.caller.realm, &call.caller.user)?;
    ApiResponsePayload::from_payload(&json!({"export_consents": consents}))
}

/// Returns the members of the response.
fn listed_consents() -> Vec<SchemaMember> {
    let consent = JsonSchema::object([
        required_schema_member("user_id", JsonSchema::integer()),
        required_schema_member("consented", JsonSchema::boolean()),
    ]);
    vec![required_schema_member("export_consents", JsonSchema::list(consent))]
}

/// An archive, to administrators: with the session of a browser or an API key, as for uploads. The address is no
/// secret.
async fn download(call: RawCall<AuthenticatedCaller>, _: Body) -> Result<Response, ApiError> {
    let name = call.path_text("name")?;
    let id = DataExport::number_in(name).ok_or(OrganizationItemError::NoFile)?;
    let size_bytes = match data_exports::downloadable(&call.caller.realm, &call.caller.user, id) {
        Err(DataExportError::NotFound) => return Err(OrganizationItemError::NoFile.into()),
        found => found?,
    };
    let mut response = file_response(&call, &FileKey::of_data_export(id), size_bytes).await?;
    let attachment = HeaderValue::try_from(format!("attachment; filename=\"{name}\""))
        .map_err(|error| InternalError::new("an archive has no head", error))?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
    headers.insert(CONTENT_DISPOSITION, attachment);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    Ok(response)
}
