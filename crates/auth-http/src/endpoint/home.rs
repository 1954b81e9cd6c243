//! `/`: what runs here, and where to go.

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use http::header::ACCEPT;
use serde_json::json;

use crate::error::ApiError;
use crate::page::view::HomePage;
use crate::page::{self, APPS};
use crate::response::private_json;
use crate::state::App;

/// The addresses that programs begin at, by what they are.
const ADDRESSES: [(&str, &str); 6] = [
    ("fhir_base", "/fhir"),
    ("capability_statement", "/fhir/metadata"),
    ("smart_configuration", "/.well-known/smart-configuration"),
    ("openid_configuration", "/.well-known/openid-configuration"),
    ("jwks_uri", "/.well-known/jwks.json"),
    ("health", "/health"),
];

/// A page for people; for programs that accept JSON and no page, the same addresses as JSON.
pub(crate) async fn get(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    let base_url = app.base_url().trim_end_matches('/');
    if accepts_json_alone(&headers) {
        let mut addresses = serde_json::Map::new();
        addresses.insert("service".to_owned(), json!("auth-server"));
        addresses.extend(ADDRESSES.map(|(name, path)| (name.to_owned(), json!(format!("{base_url}{path}")))));
        return private_json(&addresses);
    }
    let response = page::show(&HomePage {
        frame: app.pages.frame(),
        apps_url: app.pages.link(APPS),
        fhir_base: &format!("{base_url}/fhir"),
        capability_statement: app.pages.link("/fhir/metadata"),
        smart_configuration: app.pages.link("/.well-known/smart-configuration"),
        openid_configuration: app.pages.link("/.well-known/openid-configuration"),
        health: app.pages.link("/health"),
    })?;
    Ok(page::shielded(&app, response))
}

fn accepts_json_alone(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accepted = accepted.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    accepted.contains("json") && !accepted.contains("text/html")
}
