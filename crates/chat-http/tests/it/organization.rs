//! `PATCH /realm`: what administrators choose for the organization, and that rules ask for it.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::personal::{bot, heard, listen, mark, state};
use crate::test_app::{Person, TestApp, TestResponse};

async fn change(app: &TestApp, who: &Person, parameters: &[(&str, &str)]) -> TestResponse {
    app.call(who, "PATCH /realm", parameters).await
}

/// The number of a group of the system.
async fn group(app: &TestApp, name: &str) -> String {
    let groups = state(app, &app.ada, "realm_user_groups").await;
    let found = groups.as_array().unwrap().iter().find(|group| group["name"] == name).unwrap();
    found["id"].to_string()
}

#[tokio::test]
async fn every_setting_is_changed_repeated_told_and_shown() {
    let app = TestApp::found().await;
    let moderators = group(&app, "role:moderators").await;
    let members = group(&app, "role:members").await;
    let change_to = format!("{{\"new\": {moderators}, \"old\": {members}}}");
    let number = moderators.as_str();
    let queue = listen(&app, &app.person("sam", Role::Guest).await, r#"["realm"]"#, &[]).await;
    for (name, sent, value) in [
        ("name", "Acme", json!("Acme")),
        ("description", "All *there* is", json!("All *there* is")),
        ("mandatory_topics", "true", json!(true)),
        ("emails_restricted_to_domains", "true", json!(true)),
        ("disallow_disposable_email_addresses", "false", json!(false)),
        ("allow_message_editing", "false", json!(false)),
        ("message_content_edit_limit_seconds", "\"unlimited\"", Value::Null),
        ("message_content_delete_limit_seconds", "60", json!(60)),
        ("move_messages_within_stream_limit_seconds", "3600", json!(3600)),
        ("move_messages_between_streams_limit_seconds", "\"unlimited\"", Value::Null),
        ("edit_topic_policy", "6", json!(6)),
        ("delete_own_message_policy", "2", json!(2)),
        ("move_messages_between_streams_policy", "4", json!(4)),
        ("create_web_public_stream_policy", "2", json!(2)),
        ("invite_to_stream_policy", "3", json!(3)),
        ("invite_to_realm_policy", "6", json!(6)),
        ("add_custom_emoji_policy", "4", json!(4)),
        ("user_group_edit_policy", "2", json!(2)),
        ("bot_creation_policy", "3", json!(3)),
        ("wildcard_mention_policy", "7", json!(7)),
        ("waiting_period_threshold", "3", json!(3)),
        ("can_create_public_channel_group", number, json!(moderators.parse::<i64>().unwrap())),
        ("can_create_private_channel_group", change_to.as_str(), json!(moderators.parse::<i64>().unwrap())),
        ("direct_message_initiator_group", number, json!(moderators.parse::<i64>().unwrap())),
        ("direct_message_permission_group", number, json!(moderators.parse::<i64>().unwrap())),
    ] {
        let before = heard(&app, &queue).await.len();
        let response = change(&app, &app.ada, &[(name, sent)]).await.success();
        let repeated = if value.is_string() { json!("updated") } else { value.clone() };
        assert_eq!(response, json!({"result": "success", "msg": "", name: repeated}), "{name}");
        assert_eq!(state(&app, &app.ada, &format!("realm_{name}")).await, value, "{name}");
        // What a policy stands for is heard of beside it, as a group.
        let is_policy = |event: &Value| event.to_string().contains(name) || !name.ends_with("_policy");
        let event: Vec<Value> = heard(&app, &queue).await.split_off(before).into_iter().filter(is_policy).collect();
        let plain = json!({"type": "realm", "op": "update", "property": name, "value": value});
        let dict = json!({"type": "realm", "op": "update_dict", "property": "default", "data": {name: value}});
        assert!(event == [plain] || event == [dict], "{name} {event:?}");
        let mark_before = mark(&app);
        let sent = if sent == change_to { number } else { sent };
        let again = change(&app, &app.ada, &[(name, sent)]).await.success();
        assert_eq!((again, mark(&app)), (json!({"result": "success", "msg": ""}), mark_before), "{name}");
    }
}

#[tokio::test]
async fn what_is_chosen_is_what_rules_ask_for() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let say = async |topic: &str| {
        let parameters = [("type", "stream"), ("to", "general"), ("topic", topic), ("content", "hi")];
        app.call(&sam, "POST /messages", &parameters).await
    };
    let id = say("Lunch").await.success()["id"].clone();
    let administrators = group(&app, "role:administrators").await;
    let request_fields = [
        ("mandatory_topics", "true"),
        ("allow_message_editing", "false"),
        ("can_create_public_channel_group", administrators.as_str()),
    ];
    change(&app, &app.ada, &request_fields).await.success();
    say("(no topic)").await.refused("Topics are required in this organization");
    let response = app.call(&sam, &format!("PATCH /messages/{id}"), &[("content", "ho")]).await;
    response.refused("Your organization has turned off message editing");
    let club = [("subscriptions", r#"[{"name": "club"}]"#)];
    app.call(&sam, "POST /users/me/subscriptions", &club).await.refused("Insufficient permission");
    assert_eq!(state(&app, &sam, "can_create_public_streams").await, json!(false));
    change(&app, &app.ada, &[("name", "Acme")]).await.success();
    assert_eq!(app.call_as_nobody("GET /server_settings", &[]).await.success()["realm_name"], "Acme");
}

#[tokio::test]
async fn a_realm_of_its_domains_alone_takes_nobody_else() {
    let app = TestApp::found().await;
    change(&app, &app.ada, &[("emails_restricted_to_domains", "true")]).await.success();
    let domain = [("domain", "acme.org"), ("allow_subdomains", "false")];
    app.call(&app.ada, "POST /realm/domains", &domain).await.success();
    let before = mark(&app);
    let invited = [("invitee_emails", "in@acme.org, out@elsewhere.org"), ("stream_ids", "[]")];
    let response = app.call(&app.ada, "POST /invites", &invited).await;
    assert_eq!(response.error().1, "INVITATION_FAILED");
    assert_eq!(response.body["errors"], json!([["out@elsewhere.org", "Outside your domain.", false]]));
    let made = [("email", "out@elsewhere.org"), ("password", "a long password of Out"), ("full_name", "Out")];
    let refused = app.call(&app.ada, "POST /users", &made).await;
    refused.refused("Email 'out@elsewhere.org' not allowed in this organization");
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn nobody_joins_with_an_address_that_is_thrown_away_unless_the_realm_lets_them() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let before = mark(&app);
    let invited = [("invitee_emails", "in@acme.org, out@Mailinator.com"), ("stream_ids", "[]")];
    let made = [("email", "out@mailinator.com"), ("password", "a long password of Out"), ("full_name", "Out")];
    let response = app.call(&app.ada, "POST /invites", &invited).await;
    assert_eq!(response.error().1, "INVITATION_FAILED");
    assert_eq!(response.body["errors"], json!([["out@Mailinator.com", "Please use your real email address.", false]]));
    let refused = app.call(&app.ada, "POST /users", &made).await;
    refused.refused("Disposable email addresses are not allowed in this organization");
    let address = [("email", "sam@mailinator.com")];
    app.call(&sam, "PATCH /settings", &address).await.refused("Please use your real email address.");
    assert_eq!(mark(&app), before);
    let max = app.person("max", Role::Administrator).await;
    let choice = [("disallow_disposable_email_addresses", "false")];
    change(&app, &max, &choice).await.refused("Must be an organization owner");
    change(&app, &app.ada, &choice).await.success();
    app.call(&app.ada, "POST /invites", &invited).await.success();
    app.call(&app.ada, "POST /users", &made).await.success();
    app.call(&sam, "PATCH /settings", &address).await.success();
}

#[tokio::test]
async fn only_administrators_choose_and_some_things_only_owners() {
    let app = TestApp::found().await;
    let max = app.person("max", Role::Administrator).await;
    change(&app, &max, &[("description", "We")]).await.success();
    let others = [
        app.person("mona", Role::Moderator).await,
        app.person("mel", Role::Member).await,
        app.person("gus", Role::Guest).await,
        bot(&app, "robot").await,
    ];
    let before = mark(&app);
    for person in &others {
        change(&app, person, &[("name", "Mine")]).await.refused("Must be an organization administrator");
    }
    for owners in [("invite_to_realm_policy", "2"), ("waiting_period_threshold", "1")] {
        let response = change(&app, &max, &[("name", "Mine"), owners]).await;
        response.refused("Must be an organization owner");
    }
    assert_eq!(app.call_as_nobody("PATCH /realm", &[("name", "Mine")]).await.error().0, 401);
    assert_eq!(mark(&app), before);
}

#[tokio::test]
async fn what_a_setting_cannot_be_is_refused_and_nothing_of_the_request_is_done() {
    let app = TestApp::found().await;
    let long = "a".repeat(41);
    let everyone = group(&app, "role:everyone").await;
    let before = mark(&app);
    for (name, sent, text) in [
        ("name", long.as_str(), "name is too long (limit: 40 characters)"),
        ("mandatory_topics", "1", "mandatory_topics is not a boolean"),
        ("edit_topic_policy", "7", "Invalid edit_topic_policy: Value error, Not in the list of possible values"),
        ("edit_topic_policy", "\"all\"", "edit_topic_policy is not an integer"),
        ("waiting_period_threshold", "-1", "waiting_period_threshold is too small"),
        ("message_content_edit_limit_seconds", "0", "Bad value for 'message_content_edit_limit_seconds': 0"),
        ("message_content_edit_limit_seconds", "true", "message_content_edit_limit_seconds is not an integer"),
        ("direct_message_initiator_group", "999", "Invalid user group"),
        (
            "direct_message_initiator_group",
            "{}",
            "direct_message_initiator_group[\"new\"] field is missing: Field required",
        ),
        ("direct_message_initiator_group", "\"1\"", "direct_message_initiator_group is not an integer"),
        (
            "can_create_public_channel_group",
            everyone.as_str(),
            "'can_create_public_channel_group' setting cannot be set to 'role:everyone' group.",
        ),
    ] {
        change(&app, &app.ada, &[("description", "x"), (name, sent)]).await.refused(text);
    }
    let response = change(&app, &app.ada, &[("jitsi_server_url", "x"), ("digest_weekday", "2")]).await.success();
    assert_eq!(response["ignored_parameters_unsupported"], json!(["digest_weekday", "jitsi_server_url"]));
    assert_eq!((mark(&app), state(&app, &app.ada, "realm_description").await), (before, json!("")));
}
