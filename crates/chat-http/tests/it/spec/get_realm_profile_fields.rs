//! `GET /realm/profile_fields`
//!
//! - `custom_fields` are the objects with every field, `field_data` may be empty and is absent for type 8:
//!   `profile_fields::a_field_of_each_type_from_1_to_8_is_made_and_listed`
//! - `display_in_profile_summary` is present only on some fields:
//!   `profile_fields::at_most_two_fields_organization_wide_are_displayed_in_the_profile_summary`
//! - they have an order: `profile_fields::fields_are_put_into_another_order_only_as_a_whole`
//! - all accounts may ask: `profile_fields::only_administrators_make_change_order_and_remove_fields`

use serde_json::json;

use crate::personal::bot;
use crate::test_app::TestApp;
use chat_core::model::role::Role;

#[tokio::test]
async fn a_realm_begins_without_fields_and_bots_and_guests_are_told_so() {
    let app = TestApp::found().await;
    for who in [bot(&app, "robot").await, app.person("gus", Role::Guest).await] {
        let response = app.call(&who, "GET /realm/profile_fields", &[]).await.success();
        assert_eq!(response["custom_fields"], json!([]));
    }
}

#[tokio::test]
async fn the_data_of_options_is_json_text_that_maps_keys_to_text_and_order() {
    let app = TestApp::found().await;
    let options = json!({"0": {"text": "Vim", "order": "1"}, "1": {"text": "Emacs", "order": "2"}});
    let data = options.to_string();
    let parameters = [("name", "Editor"), ("field_type", "3"), ("field_data", data.as_str()), ("required", "true")];
    app.call(&app.ada, "POST /realm/profile_fields", &parameters).await.success();
    let response = app.call(&app.ada, "GET /realm/profile_fields", &[]).await.success();
    let field = &response["custom_fields"][0];
    let read: serde_json::Value = serde_json::from_str(field["field_data"].as_str().unwrap()).unwrap();
    assert_eq!((read, &field["required"]), (options, &json!(true)));
}
