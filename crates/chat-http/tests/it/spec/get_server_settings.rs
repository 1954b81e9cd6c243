//! `GET /server_settings`
//!
//! - every field with its type: `chat_http::router::tests::settings::every_field_of_the_specification_is_there`
//! - the version's fields also have the names of the brand:
//!   `chat_http::router::tests::settings::the_brand_is_a_second_name_of_three_fields_or_none`
//! - `is_incompatible`: `chat_http::router::tests::settings::one_client_is_incompatible`
//! - `push_notifications_enabled`: `push::clients_are_told_whether_telephones_are_notified`
//! - `realm_web_public_access_enabled`:
//!   `startup::web_public_access_is_told_once_there_is_a_channel_for_it_and_until_it_is_archived`
//! - no authentication: `chat_http::router::tests::basic::an_endpoint_for_everybody_does_not_look_at_the_header`
//! - `realm_icon`: `startup::every_picture_clients_are_told_of_is_there_for_everybody`

use serde_json::json;

use crate::test_app::{Person, TestApp};

#[tokio::test]
async fn the_methods_of_authentication_are_booleans_under_every_key() {
    let app = TestApp::found().await;
    let response = app.call_as_nobody("GET /server_settings", &[]).await.success();
    let methods = response["authentication_methods"].as_object().unwrap();
    assert_eq!(methods.len(), 12);
    assert!(methods.values().all(serde_json::Value::is_boolean), "{methods:?}");
    for key in ["password", "dev", "email", "ldap", "remoteuser", "saml", "openid connect"] {
        assert!(methods.contains_key(key), "{key}");
    }
    assert_eq!((&methods["password"], &methods["email"], &methods["dev"]), (&json!(true), &json!(true), &json!(false)));
    assert_eq!(response["external_authentication_methods"], json!([]));
}

#[tokio::test]
async fn realm_url_is_the_canonical_one_and_realm_uri_its_deprecated_alias() {
    let app = TestApp::found().await;
    let response = app.call_as_nobody("GET /server_settings", &[]).await.success();
    assert_eq!(
        (&response["realm_url"], &response["realm_uri"]),
        (&json!("https://chat.example.org"), &response["realm_url"])
    );
}

#[tokio::test]
async fn name_and_description_are_told_as_they_are_now() {
    let app = TestApp::found().await;
    let change = [("name", "Clinic"), ("description", "We *care*")];
    app.call(&app.ada, "PATCH /realm", &change).await.success();
    let response = app.call_as_nobody("GET /server_settings", &[]).await.success();
    assert_eq!(response["realm_name"], json!("Clinic"));
    assert_eq!(response["realm_description"], json!("<p>We <em>care</em></p>"));
}

#[tokio::test]
async fn who_shows_a_key_of_nobody_is_answered_too() {
    let app = TestApp::found().await;
    let stranger = Person { id: 0, email: "x@example.org".to_owned(), key: "x".repeat(32) };
    app.call(&stranger, "GET /server_settings", &[]).await.success();
    let response = app.call_as_nobody("POST /server_settings", &[]).await;
    assert_eq!(response.status.as_u16(), 405);
}
