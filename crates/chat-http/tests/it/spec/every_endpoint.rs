//! What holds for every endpoint
//!
//! - every answer is in the envelope, and an error has a code:
//!   `document::sweep::every_operation_refuses_what_is_wrong_and_does_what_is_right`
//! - form fields, and for GET the query; lists and objects are JSON:
//!   `chat_http::router::tests::parameters::every_method_reads_query_and_both_kinds_of_body`
//! - `ignored_parameters_unsupported`: `startup::what_an_endpoint_does_not_read_it_reports_whatever_it_answers`,
//!   `chat_http::router::tests::parameters::what_is_not_supported_is_reported_sorted_and_on_success_only`
//! - ADMIN, and who else may what: `roles::every_role_is_told_what_the_table_says_of_messages_and_channels`,
//!   `roles::every_role_is_told_what_the_table_says_of_people_and_the_organization`, `roles::every_endpoint_has_a_row`
//! - HTTP Basic authentication:
//!   `chat_http::router::tests::basic::whoever_shows_no_valid_credentials_is_401_with_a_challenge`,
//!   `chat_http::router::tests::basic::the_address_is_compared_without_case`
//! - an invalid or missing parameter is `BAD_REQUEST`:
//!   `chat_http::router::tests::parameters::each_refusal_has_its_text_and_its_further_keys`

use std::collections::BTreeSet;

use serde_json::json;

use crate::document;
use crate::test_app::TestApp;

/// The files of the endpoints; each begins with its endpoint.
const FILES: [&str; 21] = [
    include_str!("delete_events.rs"),
    include_str!("delete_messages_reactions.rs"),
    include_str!("delete_realm_emoji.rs"),
    include_str!("delete_users_me_muted_users.rs"),
    include_str!("get_messages_matches_narrow.rs"),
    include_str!("get_realm_linkifiers.rs"),
    include_str!("get_realm_profile_fields.rs"),
    include_str!("get_server_settings.rs"),
    include_str!("get_streams.rs"),
    include_str!("patch_realm_user_settings_defaults.rs"),
    include_str!("patch_scheduled_messages.rs"),
    include_str!("patch_users_me_subscriptions_muted_topics.rs"),
    include_str!("post_fetch_api_key.rs"),
    include_str!("post_invites.rs"),
    include_str!("post_mark_topic_as_read.rs"),
    include_str!("post_mobile_push_test_notification.rs"),
    include_str!("post_realm_playgrounds.rs"),
    include_str!("post_realm_profile_fields.rs"),
    include_str!("post_typing.rs"),
    include_str!("post_user_groups_create.rs"),
    include_str!("post_users_me_status.rs"),
];

/// The endpoint a file is about, as `GET /streams`.
fn endpoint(file: &str) -> &str {
    let first = file.lines().next().unwrap();
    first.strip_prefix("//! `").unwrap().strip_suffix('`').unwrap()
}

#[tokio::test]
async fn every_endpoint_of_the_specification_is_described_under_its_path() {
    let app = TestApp::found().await;
    let described: BTreeSet<_> =
        document::of(&app).await.operations.iter().map(|operation| operation.call.as_str()).collect();
    let asked: BTreeSet<_> = FILES.into_iter().map(endpoint).collect();
    assert_eq!(asked.len(), FILES.len());
    assert_eq!(asked.difference(&described).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[tokio::test]
async fn the_feature_level_is_one_number_wherever_it_is_told() {
    let app = TestApp::found().await;
    let settings = app.call_as_nobody("GET /server_settings", &[]).await.success();
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    // 248 brought `channel` as a type, 258 the object form of settings: both are there.
    assert!(settings["service_feature_level"].as_i64().unwrap() >= 258);
    for key in ["service_feature_level", "service_version", "service_merge_base", "zulip_feature_level"] {
        assert_eq!(settings[key], state[key], "{key}");
    }
}

#[tokio::test]
async fn lengths_are_told_by_the_register_response() {
    let app = TestApp::found().await;
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    assert_eq!((&state["max_message_length"], &state["max_topic_length"]), (&json!(10_000), &json!(60)));
}
