//! `POST /realm/profile_fields`
//!
//! - `field_type` is required, 1 to 8: `profile_fields::field_type_is_required_and_a_number_from_1_to_8`,
//!   `profile_fields::a_field_of_each_type_from_1_to_8_is_made_and_listed`
//! - for type 3 `field_data` maps option key to text and order, for type 7 it holds a `subtype`:
//!   `profile_fields::a_field_that_is_not_as_it_should_be_is_refused`,
//!   `profile_fields::a_field_of_a_known_account_is_named_and_kept_as_that_account_is`
//! - at most 2 fields organization-wide have `display_in_profile_summary`:
//!   `profile_fields::at_most_two_fields_organization_wide_are_displayed_in_the_profile_summary`
//! - not allowed for long text, person picker unsupported:
//!   `profile_fields::long_text_and_the_person_picker_are_not_displayed_in_the_profile_summary`
//! - the response adds `id`: `profile_fields::the_answer_to_a_new_field_is_its_id_and_everybody_hears_of_all_fields`
//! - ADMIN: `profile_fields::only_administrators_make_change_order_and_remove_fields`
//! - edit, order, delete and values: `profile_fields::a_field_is_changed_and_what_is_not_named_stays`,
//!   `profile_fields::fields_are_put_into_another_order_only_as_a_whole`,
//!   `profile_fields::a_removed_field_takes_its_answers_with_it`,
//!   `profile_fields::people_answer_and_take_back_and_everybody_hears_it`

use serde_json::{Value, json};

use super::one_succeeds;
use crate::personal::{heard, listen, mark};
use crate::test_app::{TestApp, TestResponse};
use chat_core::model::role::Role;

async fn create(app: &TestApp, name: &str, kind: i64, parameters: &[(&str, &str)]) -> TestResponse {
    let kind = kind.to_string();
    let all = [&[("name", name), ("field_type", kind.as_str())], parameters].concat();
    app.call(&app.ada, "POST /realm/profile_fields", &all).await
}

async fn fields(app: &TestApp) -> Vec<Value> {
    let response = app.call(&app.ada, "GET /realm/profile_fields", &[]).await.success();
    response["custom_fields"].as_array().unwrap().clone()
}

#[tokio::test]
async fn all_kinds_but_two_are_displayed_in_the_profile_summary() {
    let app = TestApp::found().await;
    let options = json!({"a": {"text": "A", "order": "1"}}).to_string();
    let account = json!({"subtype": "github"}).to_string();
    for (kind, data) in [(1, "{}"), (3, &options), (4, "{}"), (5, "{}"), (7, &account), (8, "{}")] {
        let parameters = [("display_in_profile_summary", "true"), ("field_data", data)];
        let id = create(&app, "shown", kind, &parameters).await.success()["id"].clone();
        assert_eq!(fields(&app).await[0]["display_in_profile_summary"], json!(true), "{kind}");
        app.call(&app.ada, &format!("DELETE /realm/profile_fields/{id}"), &[]).await.success();
    }
}

#[tokio::test]
async fn options_are_refused_that_nobody_could_choose_between() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for (data, text) in [
        (
            json!({"a": {"text": "A", "order": "1"}, "b": {"text": "A", "order": "2"}}),
            "Field must not have duplicate choices.",
        ),
        (json!({"a": {"text": " ", "order": "1"}}), "field_data[\"text\"] cannot be blank."),
        (json!({"a": {"text": "A"}}), "order key is missing from field_data"),
        (json!({"a": {"order": "1"}}), "text key is missing from field_data"),
        (json!({"": {"text": "A", "order": "1"}}), "'value' cannot be blank."),
        (json!({"a": "A"}), "field_data is not a dict"),
        (json!({"a": {"text": "A", "order": "1", "x": "y"}}), "Unexpected arguments: x"),
        (json!({}), "Field must have at least one choice."),
    ] {
        create(&app, "team", 3, &[("field_data", &data.to_string())]).await.refused(text);
    }
    create(&app, "team", 3, &[("field_data", "null")]).await.refused("field_data is not a dict");
    create(&app, "team", 3, &[("field_data", "{")]).await.refused("field_data is not valid JSON");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn an_account_is_a_known_one_or_says_where_it_is() {
    let app = TestApp::found().await;
    let before = mark(&app);
    for (data, text) in [
        (json!({"subtype": "nowhere"}), "Invalid external account type"),
        (json!({"subtype": "custom"}), "Custom external account must define URL pattern"),
        (json!({"subtype": "custom", "url_pattern": "https://x.example"}), "URL pattern must contain '%(username)s'."),
        (json!({"subtype": " "}), "field_data[\"subtype\"] cannot be blank."),
    ] {
        create(&app, "site", 7, &[("field_data", &data.to_string())]).await.refused(text);
    }
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn of_two_fields_of_one_name_made_at_once_one_is_refused() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["custom_profile_fields"]"#, &[]).await;
    let both = tokio::join!(create(&app, "team", 1, &[]), create(&app, "team", 1, &[]));
    one_succeeds(both).refused("A field with that label already exists.");
    assert_eq!((fields(&app).await.len(), heard(&app, &queue).await.len()), (1, 1));
}

#[tokio::test]
async fn of_two_that_want_the_last_place_in_the_summary_at_once_one_is_refused() {
    let app = TestApp::found().await;
    let shown = [("display_in_profile_summary", "true")];
    create(&app, "one", 1, &shown).await.success();
    let both = tokio::join!(create(&app, "two", 1, &shown), create(&app, "three", 1, &shown));
    one_succeeds(both).refused("Only 2 custom profile fields can be displayed in the profile summary.");
}

#[tokio::test]
async fn guests_hear_of_a_new_field() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let queue = listen(&app, &gus, r#"["custom_profile_fields"]"#, &[]).await;
    let id = create(&app, "pronouns", 8, &[("hint", "they/them")]).await.success()["id"].clone();
    let field = json!({
        "id": id, "name": "pronouns", "type": 8, "hint": "they/them", "field_data": "", "order": id, "required": false,
        "editable_by_user": true,
    });
    assert_eq!(heard(&app, &queue).await, [json!({"type": "custom_profile_fields", "fields": [field]})]);
}
