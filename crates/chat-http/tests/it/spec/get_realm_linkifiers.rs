//! `GET /realm/linkifiers`
//!
//! - `linkifiers` is an ordered array of `pattern`, `url_template` and `id`:
//!   `things::linkifiers::linkifiers_are_an_ordered_array_of_pattern_template_and_id`
//! - they must be applied in the given order: `things::linkifiers::linkifiers_are_applied_in_the_given_order`
//! - add, edit, remove and reorder: `things::linkifiers::only_administrators_add_change_order_and_remove`,
//!   `things::linkifiers::what_no_linkifier_can_be_is_refused_field_by_field`
//! - `url_template` is a template of RFC 6570, for clients that know it:
//!   `things::linkifiers::clients_that_know_templates_are_told_all_linkifiers_and_others_none`

use serde_json::json;

use super::one_succeeds;
use crate::personal::bot;
use crate::town::Town;

#[tokio::test]
async fn bots_are_told_them_and_of_two_alike_added_at_once_there_is_one() {
    let town = Town::found().await;
    let robot = bot(&town, "robot").await;
    let wish = [("pattern", "#(?P<id>[0-9]+)"), ("url_template", "https://x.example/{id}")];
    let both = tokio::join!(
        town.call(&town.ada, "POST /realm/filters", &wish),
        town.call(&town.ada, "POST /realm/filters", &wish)
    );
    one_succeeds(both).refused("Realm filter with this Realm and Pattern already exists.");
    let told = town.call(&robot, "GET /realm/linkifiers", &[]).await.success();
    let listed = told["linkifiers"].as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["pattern"], &listed[0]["url_template"]), (&json!(wish[0].1), &json!(wish[1].1)));
    assert_eq!(listed[0].as_object().unwrap().len(), 3);
}
