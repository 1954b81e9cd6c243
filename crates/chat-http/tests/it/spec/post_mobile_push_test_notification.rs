//! `POST /mobile_push/test_notification`
//!
//! - `token` is optional, and when it is omitted all of the user's devices are notified:
//!   `push::all_devices_are_tested_unless_one_is_named`
//! - `INVALID_PUSH_DEVICE_TOKEN`: `push::a_device_unknown_to_the_server_is_not_tested`
//! - `INVALID_REMOTE_PUSH_DEVICE_TOKEN`: `push::a_device_unknown_to_the_bouncer_is_told_apart`
//! - the event is `test`, and `realm_name` is in it:
//!   `push::a_test_is_called_test_and_carries_the_name_of_the_organization`
//! - all mobile pushes carry `realm_name`:
//!   `chat_core::push_notifications::payload::tests::a_message_says_where_it_is_and_how_it_begins`
//! - without a bouncer: `push::without_a_bouncer_devices_are_kept_and_tests_succeed`

use chat_core::id::UserId;
use chat_core::model::role::Role;
use chat_core::push_notifications::{PushDevice, PushDeviceKind, PushStore as _};
use serde_json::json;

use crate::personal::{bot, close};
use crate::push::with_bouncer;
use crate::test_app::NOW_S;

const TEST: &str = "POST /mobile_push/test_notification";

#[tokio::test]
async fn a_test_names_the_organization_in_every_way_apps_know() {
    let (app, bouncer) = with_bouncer().await;
    let gus = app.person("gus", Role::Guest).await;
    app.call(&gus, "POST /users/me/apns_device_token", &[("token", "c0ffee")]).await.success();
    app.call(&gus, TEST, &[]).await.success();
    let payload = bouncer.payloads.lock().unwrap().pop().unwrap();
    for (key, value) in [
        ("event", json!("test")),
        ("realm_id", json!(1)),
        ("realm_uri", json!("https://chat.example.org")),
        ("realm_url", json!("https://chat.example.org")),
        ("realm_name", json!("Example")),
        ("user_id", json!(gus.id)),
    ] {
        assert_eq!(payload[key], value, "{key}");
    }
}

#[tokio::test]
async fn a_device_that_was_forgotten_or_belongs_to_another_is_unknown() {
    let (app, bouncer) = with_bouncer().await;
    let sam = app.person("sam", Role::Member).await;
    let token = [("token", "one")];
    app.call(&sam, "POST /users/me/android_gcm_reg_id", &token).await.success();
    for who in [&app.ada, &sam] {
        if who.id == sam.id {
            app.call(&sam, "DELETE /users/me/android_gcm_reg_id", &token).await.success();
        }
        bouncer.notified();
        let response = app.call(who, TEST, &token).await;
        assert_eq!(response.error(), (400, "INVALID_PUSH_DEVICE_TOKEN", "Device not recognized"));
    }
    assert_eq!(bouncer.notified(), Vec::<String>::new());
    // Who has no device at all is not refused.
    app.call(&app.ada, TEST, &[]).await.success();
}

#[tokio::test]
async fn when_token_is_omitted_all_devices_are_notified_also_after_one_the_bouncer_does_not_know() {
    let (app, bouncer) = with_bouncer().await;
    for token in ["one", "x1", "x2", "two"] {
        app.call(&app.ada, "POST /users/me/android_gcm_reg_id", &[("token", token)]).await.success();
    }
    bouncer.notified();
    let response = app.call(&app.ada, TEST, &[]).await;
    let text = "Device not recognized by the push bouncer";
    assert_eq!(response.error(), (400, "INVALID_REMOTE_PUSH_DEVICE_TOKEN", text));
    let mut tested = bouncer.notified();
    tested.sort_unstable();
    assert_eq!(tested, ["test one", "test two", "test x1", "test x2"]);
}

#[tokio::test]
async fn a_bouncer_that_does_not_answer_is_not_asked_for_every_device() {
    let (app, bouncer) = with_bouncer().await;
    for kind in [PushDeviceKind::Apple, PushDeviceKind::Google] {
        let device = PushDevice { user_id: UserId(9), kind, token: "fail".to_owned(), app_id: None };
        app.store.store_device(&device, NOW_S).await.unwrap();
    }
    let response = app.call(&app.ada, TEST, &[]).await;
    assert_eq!(response.error(), (502, "INTERNAL_SERVER_ERROR", "The push bouncer cannot be reached"));
    assert_eq!(bouncer.notified(), ["test fail"]);
}

#[tokio::test]
async fn bots_and_closed_accounts_have_no_devices_to_be_tested() {
    let (app, _) = with_bouncer().await;
    let (robot, gone) = (bot(&app, "robot").await, app.person("gone", Role::Member).await);
    close(&app, &gone).await;
    app.call(&robot, TEST, &[]).await.refused("This endpoint does not accept bot requests.");
    assert_eq!(app.call(&gone, TEST, &[]).await.error().0, 401);
    assert_eq!(app.call_as_nobody(TEST, &[]).await.error().0, 401);
}

#[tokio::test]
async fn another_parameter_is_named_as_ignored() {
    let (app, _) = with_bouncer().await;
    let response = app.call(&app.ada, TEST, &[("device", "x")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["device"]));
}
