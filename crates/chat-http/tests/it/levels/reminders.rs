//! Reminders of messages, and reports about them.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use super::notices::{channel, dms, of_bots, say};
use crate::personal::{heard, listen, mark, state};
use crate::test_app::{NOW_S, Person, TestApp};

const DUE_S: i64 = NOW_S + 60;

async fn remind(app: &TestApp, who: &Person, message: &str, note: &str) -> Value {
    let at = DUE_S.to_string();
    let parameters = [("message_id", message), ("scheduled_delivery_timestamp", at.as_str()), ("note", note)];
    app.call(who, "POST /reminders", &parameters).await.success()["reminder_id"].clone()
}

#[tokio::test]
async fn levels_381_and_399_a_reminder_is_listed_deleted_and_sent_by_the_notification_bot() {
    let app = TestApp::with_system_bots().await;
    let sam = app.person("sam", Role::Guest).await;
    let message = say(&app, &app.ada, "lunch").await;
    let queue = listen(&app, &app.ada, r#"["reminders"]"#, &[]).await;
    let others = listen(&app, &sam, r#"["reminders"]"#, &[]).await;
    let [id, gone] = [remind(&app, &app.ada, &message, "").await, remind(&app, &app.ada, &message, "").await];
    let text = format!(
        "You asked to be reminded of this message: #**general>lunch@{message}**\n\n@_**Ada Lovelace|9** wrote:\n\
         ````quote\nhi\n````"
    );
    let listed = app.call(&app.ada, "GET /reminders", &[]).await.success()["reminders"].clone();
    let object = |id: &Value, html: &Value| {
        json!({
            "reminder_id": id, "type": "private", "to": [9], "content": text, "rendered_content": html,
            "scheduled_delivery_timestamp": DUE_S, "failed": false,
            "reminder_target_message_id": message.parse::<i64>().unwrap(),
        })
    };
    let html = listed[0]["rendered_content"].clone();
    assert!(html.as_str().unwrap().contains("<blockquote>"), "{html}");
    assert_eq!(listed, json!([object(&id, &html), object(&gone, &html)]));
    assert_eq!(state(&app, &app.ada, "reminders").await, listed);
    assert_eq!(state(&app, &sam, "reminders").await, json!([]));
    let scheduled = app.call(&app.ada, "GET /scheduled_messages", &[]).await.success();
    assert_eq!(scheduled["scheduled_messages"], json!([]));

    let one = format!("DELETE /reminders/{gone}");
    let unknown = (404, "BAD_REQUEST", "Reminder does not exist");
    assert_eq!(app.call(&sam, &one, &[]).await.error(), unknown);
    app.call(&app.ada, &one, &[]).await.success();
    assert_eq!(app.call(&app.ada, &one, &[]).await.error(), unknown);
    app.send_due().await;
    assert_eq!(of_bots(&app, &app.ada, dms()).await, []);
    app.wait_s(60);
    // It quotes the message as it is when it is sent.
    app.call(&app.ada, &format!("PATCH /messages/{message}"), &[("content", "hello")]).await.success();
    app.send_due().await;
    app.send_due().await;
    let sent = [(String::new(), text.replace("hi\n", "hello\n"))];
    assert_eq!(of_bots(&app, &app.ada, dms()).await, sent);
    assert_eq!(app.call(&app.ada, "GET /reminders", &[]).await.success()["reminders"], json!([]));
    let event = |op: &str, more: Value| {
        let mut event = json!({"type": "reminders", "op": op});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let told = [
        event("add", json!({"reminders": [object(&id, &html)]})),
        event("add", json!({"reminders": [object(&gone, &html)]})),
        event("remove", json!({"reminder_id": gone})),
        event("remove", json!({"reminder_id": id})),
    ];
    assert_eq!((heard(&app, &queue).await, heard(&app, &others).await), (told.to_vec(), Vec::new()));
}

#[tokio::test]
async fn level_381_a_reminder_says_what_its_message_was_when_that_is_gone() {
    let app = TestApp::with_system_bots().await;
    let message = say(&app, &app.ada, "lunch").await;
    remind(&app, &app.ada, &message, "").await;
    app.call(&app.ada, &format!("DELETE /messages/{message}"), &[]).await.success();
    app.wait_s(60);
    app.send_due().await;
    let sent = of_bots(&app, &app.ada, dms()).await;
    assert!(sent.len() == 1 && sent[0].1.ends_with("````quote\nhi\n````"), "{sent:?}");
}

#[tokio::test]
async fn level_415_a_reminder_has_a_note_within_its_limit() {
    let app = TestApp::with_system_bots().await;
    assert_eq!(state(&app, &app.ada, "max_reminder_note_length").await, json!(1_000));
    let message = say(&app, &app.ada, "lunch").await;
    remind(&app, &app.ada, &message, " answer @**all** ").await;
    app.wait_s(60);
    app.send_due().await;
    let sent = of_bots(&app, &app.ada, dms()).await;
    assert!(sent[0].1.contains("Your note:\n````quote\nanswer @**all**\n````\n\n"), "{sent:?}");
    let (before, long) = (mark(&app), "x".repeat(1_001));
    let sam = app.person("sam", Role::Guest).await;
    let after_sam = mark(&app);
    assert!(after_sam > before);
    let (past, future) = (DUE_S.to_string(), (DUE_S + 60).to_string());
    for (who, message, at, note, refusal) in [
        (&app.ada, message.as_str(), future.as_str(), long.as_str(), "Maximum reminder note length: 1000 characters"),
        (&app.ada, message.as_str(), past.as_str(), "", "Scheduled delivery time must be in the future."),
        (&app.ada, "999999", future.as_str(), "", "Invalid message(s)"),
        (&sam, message.as_str(), future.as_str(), "", "Invalid message(s)"),
    ] {
        let parameters = [("message_id", message), ("scheduled_delivery_timestamp", at), ("note", note)];
        app.call(who, "POST /reminders", &parameters).await.refused(refusal);
    }
    assert_eq!(mark(&app), after_sam);
}

#[tokio::test]
async fn levels_331_and_382_a_message_is_reported_to_the_moderators() {
    let app = TestApp::with_system_bots().await;
    let sam = app.person("sam", Role::Member).await;
    let message = say(&app, &app.ada, "lunch").await;
    let report = async |who: &Person, message: &str, parameters: &[(&str, &str)]| {
        app.call(who, &format!("POST /messages/{message}/report"), parameters).await
    };
    let as_spam = [("report_type", "spam")];
    let off = "Moderation request channel must be specified to enable message reporting.";
    report(&sam, &message, &as_spam).await.refused(off);
    let private = [("name", "moderators"), ("subscribers", "[9]"), ("invite_only", "true")];
    let id = app.call(&app.ada, "POST /channels/create", &private).await.success()["id"].to_string();
    let general = app.realm().channel_by_name("general").unwrap().id.to_string();
    let name = "moderation_request_channel_id";
    app.call(&app.ada, "PATCH /realm", &[(name, general.as_str())])
        .await
        .refused("Moderation request channel must be private.");
    app.call(&app.ada, "PATCH /realm", &[(name, id.as_str())]).await.success();
    assert_eq!(state(&app, &sam, &format!("realm_{name}")).await.to_string(), id);
    let public = [("is_private", "false")];
    let opened = app.call(&app.ada, &format!("PATCH /streams/{id}"), &public).await;
    opened.refused("Moderation request channel must be private.");

    let explained = [("report_type", "other"), ("description", "it is *rude*")];
    report(&sam, &message, &explained).await.success();
    let before = mark(&app);
    report(&sam, &message, &explained[..1]).await.refused("An explanation is required.");
    let long = "x".repeat(1_001);
    let too_long = [("report_type", "spam"), ("description", long.as_str())];
    report(&sam, &message, &too_long).await.refused("description is too long (limit: 1000 characters)");
    report(&sam, &message, &[("report_type", "boring")]).await.refused("Invalid report_type");
    report(&sam, "999999", &as_spam).await.refused("Invalid message(s)");
    assert_eq!(mark(&app), before);
    let text = format!(
        "@_**sam|{}** reported a message by @_**Ada Lovelace|9** in #**general>lunch@{message}**. Reason: **other**.\n\
         ````quote\nit is *rude*\n````\n\n@_**Ada Lovelace|9** wrote:\n\
         `````spoiler The message\n````quote\nhi\n````\n`````",
        sam.id
    );
    let reports = of_bots(&app, &app.ada, channel("moderators")).await;
    assert_eq!(reports.last().unwrap(), &("Ada Lovelace moderation".to_owned(), text));
    app.call(&app.ada, &format!("DELETE /streams/{id}"), &[]).await.success();
    report(&sam, &message, &as_spam).await.refused(off);
}
