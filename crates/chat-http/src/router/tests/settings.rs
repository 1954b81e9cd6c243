//! `GET /server_settings`.

use serde_json::{Value, json};

use super::test_router::{TestRequest, domain, parts};
use crate::build_chat_service;

async fn settings(brand: &str, agent: &str) -> Value {
    let (mut domain, _folder) = domain(false).await;
    brand.clone_into(&mut domain.settings.brand);
    let app = build_chat_service(parts(), Some(domain));
    let response = TestRequest::of(&app, "GET", "/api/v1/server_settings?x=1").header("user-agent", agent).send().await;
    response.success().clone()
}

#[tokio::test]
async fn every_field_of_the_specification_is_there() {
    let expected = json!({
        "result": "success", "msg": "",
        "service_version": "9.0+1.2.3", "service_merge_base": "9.0", "service_feature_level": 277,
        "zulip_version": "9.0", "zulip_merge_base": "9.0", "zulip_feature_level": 277,
        "authentication_methods": {
            "password": true, "dev": false, "email": true, "ldap": false, "remoteuser": false, "github": false,
            "azuread": false, "gitlab": false, "google": false, "apple": false, "saml": false,
            "openid connect": false,
        },
        "external_authentication_methods": [],
        "push_notifications_enabled": false, "email_auth_enabled": true, "require_email_format_usernames": true,
        "realm_url": "https://chat.example.com", "realm_uri": "https://chat.example.com", "realm_name": "Example",
        "realm_icon": "https://chat.example.com/static/icon.png", "realm_description": "<p>Ours</p>", "realm_web_public_access_enabled": false,
        "is_incompatible": false, "ignored_parameters_unsupported": ["x"],
    });
    assert_eq!(settings("zulip", "ZulipFlutter/1").await, expected);
}

#[tokio::test]
async fn the_brand_is_a_second_name_of_three_fields_or_none() {
    let other = settings("acme", "x").await;
    assert_eq!((&other["acme_feature_level"], &other["zulip_version"]), (&json!(277), &Value::Null));
    let none = settings("", "x").await;
    assert!(none.as_object().unwrap().keys().all(|key| !key.starts_with('_')), "{none}");
    assert_eq!(none["service_feature_level"], 277);
}

#[tokio::test]
async fn one_client_is_incompatible() {
    assert_eq!(settings("zulip", "ZulipInvalid/5").await["is_incompatible"], true);
}
