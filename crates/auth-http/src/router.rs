//! Every route, and every layer around them.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get, post};
use http::Uri;

use crate::api::Api;
use crate::endpoint::{
    apps, authorize, b2b_claim, bundle, consent, discovery, everything, explain, export, health, history, home,
    introspect, jobs, jwks, login, logout, member_match, metadata, migrations, packages, patient, resource, revoke,
    rpc, search, session, style, token, userinfo, validate, version,
};
use crate::error::ApiError;
use crate::middleware::{self, accept, cors, observe, panic, rate, stall};
use crate::page;
use crate::state::{App, AppState, RouterComponents};

/// Returns the router of the authorization server: every route with its middleware.
///
/// The caller inserts `ConnectInfo<SocketAddr>` into the extensions of each request (axum's
/// `into_make_service_with_connect_info` does), so that the rate limit can distinguish callers by their addresses.
pub fn authorization_router(parts: RouterComponents) -> Router {
    let app: App = Arc::new(AppState::new(parts));
    // A layer costs every request; without a limit there is nothing to count.
    let counted = |routes: Router<App>| match app.rate_limit_per_minute {
        0 => routes,
        _ => routes.layer(from_fn_with_state(Arc::clone(&app), rate::limit)),
    };
    // Inside out: a request passes the layers from the last one here to the first.
    Router::new()
        .merge(counted(documents()).layer(from_fn(panic::catch)).layer(cors::any_origin()))
        .merge(
            counted(pages())
                .layer(from_fn(panic::catch))
                .layer(from_fn_with_state(Arc::clone(&app), page::security_headers)),
        )
        .merge(oauth().layer(from_fn(panic::catch)).layer(cors::echoed_origin()))
        .merge(counted(people()).layer(from_fn(panic::catch)).layer(cors::echoed_origin()))
        .merge(counted(resources()).layer(from_fn(panic::catch)).layer(cors::echoed_origin()))
        .merge(operations())
        .layer(from_fn_with_state(Arc::clone(&app), stall::refuse))
        .layer(from_fn(middleware::drain))
        .layer(from_fn_with_state(Arc::clone(&app), observe::observe))
        .with_state(app)
}

/// Public documents, the same for everybody.
fn documents() -> Router<App> {
    Router::new()
        .route("/.well-known/smart-configuration", get(discovery::smart))
        .route("/fhir/.well-known/smart-configuration", get(discovery::smart))
        .route("/.well-known/openid-configuration", get(discovery::openid))
        .route("/.well-known/oauth-authorization-server", get(discovery::oauth))
        .route("/.well-known/jwks.json", get(jwks::get))
        .route("/fhir/metadata", get(metadata::get))
        .route(oauth_core::smart_style::SMART_STYLE_PATH, get(discovery::smart_style))
        .route("/auth/style/{name}", get(style::get))
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn(accept::negotiate))
}

/// What people see. No other origin reads it.
fn pages() -> Router<App> {
    Router::new()
        .route(page::AUTHORIZE, get(authorize::get).post(authorize::post))
        .route(page::LOGIN, get(login::get).post(login::post))
        .route(page::PATIENT, get(patient::get).post(patient::post))
        .route(page::GRANT, get(consent::get).post(consent::post))
        .route(page::APPS, get(apps::get))
        .route(page::REVOKE, post(apps::revoke))
        .route(page::LOGOUT, post(logout::post))
        .method_not_allowed_fallback(method_not_allowed)
}

/// What OAuth clients call. Forms count against the rate where they are read.
fn oauth() -> Router<App> {
    Router::new()
        .route("/auth/token", post(token::post))
        .route("/auth/introspect", post(introspect::post))
        .route("/auth/revoke", post(revoke::post))
        .method_not_allowed_fallback(method_not_allowed)
}

/// Returns what apps ask about the person who let them in.
fn people() -> Router<App> {
    Router::new()
        .route("/auth/userinfo", get(userinfo::answer).post(userinfo::answer))
        .method_not_allowed_fallback(method_not_allowed)
}

/// Resources, natively and as FHIR, and whatever is nothing else.
fn resources() -> Router<App> {
    Router::new()
        .route("/", get(home::get))
        .route("/rpc", post(rpc::post))
        .route("/$explain-access", get(explain::get))
        .route("/Session", delete(session::delete))
        .route("/db/migrations", get(migrations::get).post(migrations::post))
        .merge(resources_under(""))
        .merge(resources_under("/fhir"))
        .merge(payers())
        .fallback(unknown_route)
        .method_not_allowed_fallback(resource_method_not_allowed)
        .layer(from_fn(accept::negotiate))
}

/// Returns what payers and providers ask each other for, and the jobs that come of it.
fn payers() -> Router<App> {
    Router::new()
        .route("/fhir/$export", get(export::system).post(export::system))
        .route("/fhir/Patient/$export", get(export::patients).post(export::patients))
        .route("/fhir/Group/{id}/$export", get(export::group).post(export::group))
        .route("/fhir/Group/{id}/$davinci-data-export", post(export::davinci))
        .route("/fhir/$export-status/{job}", get(jobs::export).delete(jobs::end_export))
        .route("/fhir/$export-output/{job}/{file}", get(jobs::output))
        .route("/fhir/Patient/$member-match", post(member_match::one))
        .route("/fhir/Group/$bulk-member-match", post(member_match::bulk))
        .route("/fhir/Group/$bulk-member-match-status/{job}", get(jobs::bulk).delete(jobs::end_bulk))
        .route("/fhir/Group/$bulk-member-match-cancel/{job}", delete(jobs::end_bulk))
        .route("/fhir/Group/$provider-member-match", post(member_match::provider))
        .route("/fhir/Group/$provider-member-match-status/{job}", get(jobs::provider).delete(jobs::end_provider))
        .route("/fhir/Group/$provider-member-match-cancel/{job}", delete(jobs::end_provider))
}

/// The same addresses under each prefix; [`fhir_service::resource_format::ResourceFormat`] is which one.
fn resources_under(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}{path}");
    let base = post(bundle::post).put(bundle::put);
    let of_type = get(search::get)
        .post(resource::post)
        .put(resource::put_found)
        .patch(resource::patch_found)
        .delete(resource::delete_found);
    let of_id = get(resource::get).put(resource::put).patch(resource::patch).delete(resource::delete);
    let router = Router::new()
        .route(&at("/"), base.clone())
        .route(&at("/_history"), get(history::of_system))
        .route(&at("/{type}"), of_type)
        .route(&at("/{type}/_search"), post(search::post))
        .route(&at("/{type}/_history"), get(history::of_type))
        .route(&at("/{type}/{id}"), of_id)
        .route(&at("/{type}/{id}/_history"), get(history::of_resource))
        .route(&at("/{type}/{id}/_history/{version}"), get(version::get))
        .route(&at("/Client/{id}/$b2b-claim"), get(b2b_claim::get))
        .route(&at("/Patient/{id}/$everything"), get(everything::get).post(everything::post))
        .route(&at("/$packages"), get(packages::get))
        .route(&at("/$fhir-package-install"), post(packages::install))
        .route(&at("/$fhir-package-uninstall"), post(packages::uninstall));
    if prefix.is_empty() {
        return router;
    }
    router
        .route(prefix, base)
        .route(&at("/{type}/$validate"), post(validate::of_type))
        .route(&at("/{type}/{id}/$validate"), post(validate::of_id))
        .route(&at("/{type}/{id}/{kind}"), get(search::get_about).fallback(unknown_route))
        .route(&at("/{type}/{id}/{kind}/_search"), post(search::post_about).fallback(unknown_route))
}

/// Routes for the operator: neither counted nor shared with other origins.
fn operations() -> Router<App> {
    Router::new().route("/health", get(health::get)).method_not_allowed_fallback(method_not_allowed)
}

async fn unknown_route() -> ApiError {
    ApiError::UnknownRoute
}

async fn method_not_allowed() -> ApiError {
    ApiError::MethodNotAllowed
}

/// Below `/auth` the patterns of resources match addresses that do not exist.
async fn resource_method_not_allowed(uri: Uri) -> ApiError {
    match Api::of(uri.path()) {
        Api::OAuth | Api::Page => ApiError::UnknownRoute,
        Api::Rpc | Api::Resources(_) => ApiError::MethodNotAllowed,
    }
}
