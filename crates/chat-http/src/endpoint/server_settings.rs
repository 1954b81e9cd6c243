//! `/server_settings`.

use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::{Anyone, Call};
use crate::error::Fault;
use crate::state::AboutRealm;

/// The level of the API whose behaviours the server keeps.
const FEATURE_LEVEL: u32 = 277;
/// The release of the API that level belongs to; our own version follows it.
const RELEASE: &str = "9.0";

/// What clients ask before they let anybody log in.
///
/// # Source
/// Specification, `GET /server_settings`.
pub(crate) async fn get(call: Call<Anyone>, (): ()) -> Result<Answer, Fault> {
    let mut fields = version(&call.app.frame.version, &call.app.settings.brand);
    fields.extend(realm(&call.app.realm.about()));
    fields.insert("is_incompatible".to_owned(), call.agent.is_incompatible().into());
    Answer::of(&fields)
}

/// The version under the specification's names, and under those of the brand existing clients look for.
fn version(build: &str, brand: &str) -> Map<String, Value> {
    let version = format!("{RELEASE}+{build}");
    let mut fields = Map::new();
    for prefix in ["service", brand].into_iter().filter(|prefix| !prefix.is_empty()) {
        fields.insert(format!("{prefix}_version"), version.clone().into());
        fields.insert(format!("{prefix}_merge_base"), version.clone().into());
        fields.insert(format!("{prefix}_feature_level"), FEATURE_LEVEL.into());
    }
    fields
}

/// Only the server's own accounts can log in, so every foreign method of authentication is off, and an address is
/// always the name to log in with.
fn realm(about: &AboutRealm) -> Map<String, Value> {
    let password = about.password_login;
    let fields = json!({
        "authentication_methods": {
            "password": password,
            "dev": false,
            "email": password,
            "ldap": false,
            "remoteuser": false,
            "github": false,
            "azuread": false,
            "gitlab": false,
            "google": false,
            "apple": false,
            "saml": false,
            "openid connect": false,
        },
        "external_authentication_methods": [],
        "push_notifications_enabled": about.push_notifications,
        "email_auth_enabled": password,
        "require_email_format_usernames": true,
        "realm_url": about.url,
        "realm_uri": about.url,
        "realm_name": about.name,
        "realm_icon": about.icon_url,
        "realm_description": about.description_html,
        "realm_web_public_access_enabled": about.web_public_access,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
