//! `GET /realm/linkifiers`
//!
//! - `linkifiers` is an ordered array of `pattern`, `url_template` and `id`:
//!   `organization_items::linkifiers::linkifiers_are_an_ordered_array_of_pattern_template_and_id`
//! - they must be applied in the given order:
//!   `organization_items::linkifiers::linkifiers_are_applied_in_the_given_order`
//! - add, edit, remove and reorder: `organization_items::linkifiers::only_administrators_add_change_order_and_remove`,
//!   `organization_items::linkifiers::what_no_linkifier_can_be_is_refused_field_by_field`
//! - `url_template` is a template of RFC 6570, for clients that know it:
//!   `organization_items::linkifiers::clients_that_know_templates_are_told_all_linkifiers_and_others_none`

use serde_json::json;

use super::one_succeeds;
use crate::personal::bot;
use crate::test_app::TestApp;

#[tokio::test]
async fn bots_are_told_them_and_of_two_alike_added_at_once_there_is_one() {
    let app = TestApp::found().await;
    let robot = bot(&app, "robot").await;
    let parameters = [("pattern", "#(?P<id>[0-9]+)"), ("url_template", "https://x.example/{id}")];
    let both = tokio::join!(
        app.call(&app.ada, "POST /realm/filters", &parameters),
        app.call(&app.ada, "POST /realm/filters", &parameters)
    );
    one_succeeds(both).refused("Realm filter with this Realm and Pattern already exists.");
    let response = app.call(&robot, "GET /realm/linkifiers", &[]).await.success();
    let listed = response["linkifiers"].as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["pattern"], &listed[0]["url_template"]), (&json!(parameters[0].1), &json!(parameters[1].1)));
    assert_eq!(listed[0].as_object().unwrap().len(), 3);
}
