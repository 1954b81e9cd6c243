//! `/server_settings`.

use chat_core::feature_level::FEATURE_LEVEL;
use chat_core::markdown::{self, EmoticonHandling, ImagePreviews, MarkdownContext};
use chat_core::model::channel::ChannelPrivacy;
use chat_core::model::organization_image::OrganizationImage;
use chat_core::model::realm_snapshot::RealmSnapshot;
use serde_json::{Map, Value, json};

use crate::api_call::{Anonymous, ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::endpoint::{icon, organization_images};
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::routes::{self, Routes};
use crate::state::AppState;

/// The release of the API to which [`FEATURE_LEVEL`] belongs. Exporters and clients parse it as a number, so it stands alone
/// wherever they read it.
const RELEASE: &str = "9.0";

pub(crate) fn routes() -> Routes {
    let get = endpoint(get).documented("Tell what clients ask before anybody logs in.", response_schema);
    Routes::of("server").api("/server_settings", routes::get(get))
}

/// Returns what clients ask before they let anybody log in.
///
/// # Source
/// Specification, `GET /server_settings`.
pub(crate) async fn get(call: ApiCall<Anonymous>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let mut fields = version(&call.app.server.version, &call.app.settings.brand);
    fields.extend(realm(&call.app));
    fields.insert("is_incompatible".to_owned(), call.user_agent().is_incompatible().into());
    ApiResponsePayload::from_payload(&fields)
}

/// Returns the members of the response.
fn response_schema() -> Vec<SchemaMember> {
    let methods = JsonSchema::map(JsonSchema::boolean()).with_description("Whether each way to log in is open.");
    let switches = [
        "push_notifications_enabled",
        "is_incompatible",
        "email_auth_enabled",
        "require_email_format_usernames",
        "realm_web_public_access_enabled",
    ];
    let texts = ["realm_url", "realm_uri", "realm_name", "realm_icon", "realm_description"];
    let more = [
        required_schema_member("authentication_methods", methods),
        required_schema_member("external_authentication_methods", JsonSchema::list(JsonSchema::any())),
    ];
    let switches = switches.map(|key| required_schema_member(key, JsonSchema::boolean()));
    let texts = texts.map(|key| required_schema_member(key, JsonSchema::string()));
    version_schema().into_iter().chain(more).chain(switches).chain(texts).collect()
}

/// Returns the members of [`version`], but for the brand.
pub(crate) fn version_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("service_version", JsonSchema::string()),
        required_schema_member("service_merge_base", JsonSchema::string()),
        required_schema_member("service_feature_level", JsonSchema::integer()),
    ]
}

/// Returns the version under the specification's names, and under those of the brand existing clients look for. The
/// build is in `service_version` alone.
pub(crate) fn version(build: &str, brand: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    for prefix in ["service", brand].into_iter().filter(|prefix| !prefix.is_empty()) {
        fields.insert(format!("{prefix}_version"), RELEASE.into());
        fields.insert(format!("{prefix}_merge_base"), RELEASE.into());
        fields.insert(format!("{prefix}_feature_level"), FEATURE_LEVEL.0.into());
    }
    fields.insert("service_version".to_owned(), format!("{RELEASE}+{build}").into());
    fields
}

/// Returns what strangers may know of the organization. Only the server's own accounts can log in, so every foreign
/// method of authentication is off, and an address is always the name to log in with.
fn realm(app: &AppState) -> Map<String, Value> {
    let snapshot = app.realm();
    let realm = snapshot.realm();
    let url = &app.settings.base_url;
    let password = true;
    let description = realm.map_or_else(String::new, |realm| rendered(&snapshot, url, &realm.description));
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
        "push_notifications_enabled": app.push.bouncer.is_some(),
        "email_auth_enabled": password,
        "require_email_format_usernames": true,
        "realm_url": url,
        "realm_uri": url,
        "realm_name": realm.map_or("", |realm| &realm.name),
        "realm_icon": realm.map_or_else(|| icon::url(url), |realm| organization_images::url(&realm.images, OrganizationImage::Icon, url)),
        "realm_description": description,
        "realm_web_public_access_enabled": has_web_public_channel(&snapshot),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A description as HTML.
fn rendered(realm: &RealmSnapshot, url: &str, description: &str) -> String {
    let context = MarkdownContext {
        directory: realm,
        linkifiers: &[],
        realm_url: url,
        emoticons: EmoticonHandling::Keep,
        image_previews: ImagePreviews::Hide,
        default_code_language: None,
    };
    markdown::render_message(&markdown::parse_message(description, &context)).html
}

fn has_web_public_channel(realm: &RealmSnapshot) -> bool {
    realm.channels().any(|channel| !channel.is_archived && channel.privacy == ChannelPrivacy::WebPublic)
}
