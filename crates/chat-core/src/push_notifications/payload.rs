//! What notifications say, in the words apps read.

use serde_json::{Map, Value, json};

use super::NotificationTrigger;
use crate::event_log::event::NewMessageEvent;
use crate::id::{MessageId, UserId};
use crate::markdown::html_to_plain_text;
use crate::model::message::Recipient;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::wire_format::DisplayRecipient;

/// Characters of a message that a notification shows.
const CONTENT_MAX_CHARS: usize = 200;
/// The text of a notification in clear where the organization requires encrypted ones.
const HIDDEN_CONTENT: &str = "New message";
/// The number of the organization: a database holds one.
const REALM_ID: i64 = 1;

/// The server and realm that a push notification names.
#[derive(Debug, Clone, Copy)]
pub struct NotificationOrigin<'a> {
    /// The server's own address, without a slash at the end.
    pub base_url: &'a str,
    /// The word existing apps look for in names of members; empty for none.
    pub brand: &'a str,
}

impl NotificationOrigin<'_> {
    fn host(&self) -> &str {
        self.base_url.split_once("://").map_or(self.base_url, |(_, rest)| rest)
    }

    fn named(&self, name: &str) -> String {
        if self.brand.is_empty() { name.to_owned() } else { format!("{}_{name}", self.brand) }
    }

    /// Returns the member of an Apple payload that holds everything of ours.
    fn own(&self) -> &str {
        if self.brand.is_empty() { "service" } else { self.brand }
    }
}

/// Returns what every notification says: which event it is, of which server, for whom.
///
/// # Source
/// Specification, `POST /mobile_push/test_notification`: all mobile pushes carry `realm_name`.
fn base(
    realm: &RealmSnapshot,
    origin: &NotificationOrigin<'_>,
    (event, user_id): (&str, UserId),
) -> Map<String, Value> {
    let name = realm.realm().map_or("", |realm| realm.name.as_str());
    let base = json!({
        "event": event,
        "server": origin.host(),
        "realm_id": REALM_ID,
        "realm_uri": origin.base_url,
        "realm_url": origin.base_url,
        "realm_name": name,
        "user_id": user_id,
    });
    base.as_object().cloned().unwrap_or_default()
}

/// Returns the payload of a test notification.
///
/// # Source
/// Specification, `POST /mobile_push/test_notification`: `event` is `test`.
#[must_use]
pub fn test_payload(realm: &RealmSnapshot, origin: &NotificationOrigin<'_>, user_id: UserId, now_s: i64) -> Value {
    let mut payload = base(realm, origin, ("test", user_id));
    payload.insert("time".to_owned(), now_s.into());
    Value::Object(payload)
}

/// Returns the payload of a test notification for Apple devices, which show nothing of the server's own payload. A
/// bouncer converts it by itself.
#[must_use]
pub fn apple_test_payload(origin: &NotificationOrigin<'_>, payload: &Value) -> Value {
    let body = format!("This is a test notification from {}.", origin.base_url);
    json!({
        "alert": {"title": "Test notification", "body": body},
        "sound": "default",
        "custom": {origin.own(): payload},
    })
}

/// Returns the payloads of a message's notification, for Google and for Apple devices.
#[must_use]
pub fn message_payloads(
    realm: &RealmSnapshot,
    origin: &NotificationOrigin<'_>,
    event: &NewMessageEvent,
    (user_id, trigger): (UserId, NotificationTrigger),
) -> (Value, Value) {
    let message = &event.message;
    let mut shared = base(realm, origin, ("message", user_id));
    shared.insert("sender_id".to_owned(), json!(message.sender_id));
    shared.insert("sender_email".to_owned(), event.sender.email.as_str().into());
    shared.insert("time".to_owned(), message.sent_s.into());
    place(event, &mut shared);
    let hides = realm.realm().is_some_and(|realm| realm.rules.require_e2ee_push);
    let (content, is_cut) =
        if hides { (HIDDEN_CONTENT.to_owned(), false) } else { shown(&html_to_plain_text(&message.html)) };
    let mut google = shared.clone();
    google.insert(origin.named("message_id"), json!(message.id));
    google.insert("content".to_owned(), content.as_str().into());
    google.insert("content_truncated".to_owned(), is_cut.into());
    google.insert("sender_full_name".to_owned(), event.sender.full_name.as_str().into());
    google.insert("sender_avatar_url".to_owned(), absolute(origin, &event.sender.avatar_url).into());
    let mut own = shared;
    own.insert("message_ids".to_owned(), json!([message.id]));
    let apple = json!({
        "alert": {"title": title(event), "subtitle": subtitle(event, trigger), "body": content},
        "sound": "default",
        "custom": {origin.own(): own},
    });
    (Value::Object(google), apple)
}

/// Returns the payloads that withdraw the notifications of messages, the oldest first, for Google and for Apple
/// devices.
///
/// # Source
/// Not specified; the members are those existing apps read: all numbers in one text, and of Google's apps the oldest
/// ones read one number alone. Apple's are woken without anything to see, so that the app does it.
#[must_use]
pub fn removal_payloads(
    realm: &RealmSnapshot,
    origin: &NotificationOrigin<'_>,
    (user_id, messages): (UserId, &[MessageId]),
) -> (Value, Value) {
    let mut shared = base(realm, origin, ("remove", user_id));
    let numbers: Vec<_> = messages.iter().map(|id| id.0.to_string()).collect();
    shared.insert(origin.named("message_ids"), numbers.join(",").into());
    let mut google = shared.clone();
    google.insert(origin.named("message_id"), json!(messages.first()));
    let apple = json!({"content-available": 1, "custom": {origin.own(): shared}});
    (Value::Object(google), apple)
}

fn place(event: &NewMessageEvent, members: &mut Map<String, Value>) {
    let message = &event.message;
    let fields = match (message.recipient, &event.display_recipient) {
        (Recipient::Channel(id), DisplayRecipient::Channel(name)) => {
            json!({"recipient_type": "stream", "stream": name, "stream_id": id, "topic": message.topic})
        }
        _ if message.direct_users.len() > 2 => {
            let users: Vec<_> = message.direct_users.iter().map(|id| id.0.to_string()).collect();
            json!({"recipient_type": "private", "pm_users": users.join(",")})
        }
        _ => json!({"recipient_type": "private"}),
    };
    members.extend(fields.as_object().cloned().unwrap_or_default());
}

fn title(event: &NewMessageEvent) -> String {
    match &event.display_recipient {
        DisplayRecipient::Channel(name) => format!("#{name} > {}", event.message.topic),
        DisplayRecipient::Users(users) if users.len() > 2 => {
            users.iter().map(|user| user.full_name.as_str()).collect::<Vec<_>>().join(", ")
        }
        DisplayRecipient::Users(_) => event.sender.full_name.clone(),
    }
}

fn subtitle(event: &NewMessageEvent, trigger: NotificationTrigger) -> String {
    let name = &event.sender.full_name;
    match trigger {
        NotificationTrigger::Direct if event.message.direct_users.len() <= 2 => String::new(),
        NotificationTrigger::Mention => format!("{name} mentioned you:"),
        NotificationTrigger::Wildcard => format!("{name} mentioned everyone:"),
        NotificationTrigger::Direct | NotificationTrigger::Channel | NotificationTrigger::FollowedTopic => {
            format!("{name}:")
        }
    }
}

/// Returns the start of the text, which an app shows as it is.
fn shown(content: &str) -> (String, bool) {
    match content.char_indices().nth(CONTENT_MAX_CHARS) {
        None => (content.to_owned(), false),
        Some((end, _)) => (format!("{}…", content.get(..end).unwrap_or_default()), true),
    }
}

fn absolute(origin: &NotificationOrigin<'_>, url: &str) -> String {
    if url.starts_with('/') { format!("{}{url}", origin.base_url) } else { url.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, DirectConversationId};
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing::{self, NOW_S};
    use crate::wire_format::DisplayUser;

    const ORIGIN: NotificationOrigin<'_> = NotificationOrigin { base_url: "https://chat.example.org", brand: "zulip" };

    #[test]
    fn a_test_says_which_organization_it_comes_from() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        assert_eq!(
            test_payload(&realm, &ORIGIN, UserId(4), NOW_S),
            json!({
                "event": "test", "server": "chat.example.org", "realm_id": 1,
                "realm_uri": "https://chat.example.org", "realm_url": "https://chat.example.org",
                "realm_name": "Test", "user_id": 4, "time": NOW_S,
            })
        );
    }

    #[test]
    fn a_message_says_where_it_is_and_how_it_begins() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let mut event = testing::message_event(3, Recipient::Channel(ChannelId(20)));
        event.message.html = format!("<p><em>{}</em></p>", "ä".repeat(201));
        let (google, apple) = message_payloads(&realm, &ORIGIN, &event, (UserId(4), NotificationTrigger::Mention));
        let expected = json!({
            "event": "message", "realm_name": "Test", "zulip_message_id": 50, "recipient_type": "stream",
            "stream": "Channel 20", "stream_id": 20, "topic": "Lunch", "content": format!("{}…", "ä".repeat(200)),
            "content_truncated": true, "sender_id": 3, "sender_full_name": "User 3", "time": NOW_S,
            "sender_avatar_url": "https://chat.example.org/a.png", "user_id": 4,
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&google[key], value, "{key}");
        }
        assert_eq!(
            apple["alert"],
            json!({"title": "#Channel 20 > Lunch", "subtitle": "User 3 mentioned you:", "body": google["content"]})
        );
        let own = &apple["custom"]["zulip"];
        assert_eq!((&own["realm_name"], &own["message_ids"]), (&json!("Test"), &json!([50])));
    }

    #[test]
    fn a_notification_shows_no_markup_and_no_spoiler() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let mut event = testing::message_event(3, Recipient::Channel(ChannelId(20)));
        event.message.content = "@**User 4|4** **look**\n```spoiler who?\nthe butler\n```".to_owned();
        event.message.html = "<p><span class=\"user-mention\" data-user-id=\"4\">@User 4</span> <strong>look</strong></p>\n\
            <div class=\"spoiler-block\"><div class=\"spoiler-header\">\n<p>who?</p>\n</div><div class=\"spoiler-content\" \
            aria-hidden=\"true\">\n<p>the butler</p>\n</div></div>"
            .to_owned();
        let (google, apple) = message_payloads(&realm, &ORIGIN, &event, (UserId(4), NotificationTrigger::Mention));
        assert_eq!(google["content"], "@User 4 look\nwho? (…)");
        assert_eq!(apple["alert"]["body"], google["content"]);
    }

    #[test]
    fn a_notification_in_clear_says_nothing_where_encrypted_ones_are_required() {
        let rules = RealmPermissionSettings { require_e2ee_push: true, ..RealmPermissionSettings::default() };
        let realm = testing::realm(rules, Vec::new());
        let mut event = testing::message_event(3, Recipient::Channel(ChannelId(20)));
        event.message.html = "<p>the butler</p>".to_owned();
        let (google, apple) = message_payloads(&realm, &ORIGIN, &event, (UserId(4), NotificationTrigger::Mention));
        assert_eq!((&google["content"], &google["content_truncated"]), (&json!("New message"), &json!(false)));
        assert_eq!(apple["alert"]["body"], "New message");
        assert!(!google.to_string().contains("butler") && !apple.to_string().contains("butler"));
    }

    #[test]
    fn a_removal_names_all_messages_in_one_text_and_shows_nothing() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let (google, apple) = removal_payloads(&realm, &ORIGIN, (UserId(4), &[MessageId(50), MessageId(52)]));
        let shared = json!({
            "event": "remove", "server": "chat.example.org", "realm_id": 1,
            "realm_uri": "https://chat.example.org", "realm_url": "https://chat.example.org",
            "realm_name": "Test", "user_id": 4, "zulip_message_ids": "50,52",
        });
        assert_eq!(apple, json!({"content-available": 1, "custom": {"zulip": shared}}));
        let mut expected = shared.clone();
        expected["zulip_message_id"] = json!(50);
        assert_eq!(google, expected);
    }

    #[test]
    fn a_conversation_of_three_names_them_and_one_of_two_the_sender() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let mut event = testing::message_event(3, Recipient::Direct(DirectConversationId(7)));
        let user = |id: i64| DisplayUser {
            id: UserId(id),
            email: String::new(),
            full_name: format!("User {id}"),
            is_mirror_dummy: false,
        };
        for (ids, pm_users, title, subtitle) in
            [(&[3, 4][..], None, "User 3", ""), (&[1, 3, 4], Some("1,3,4"), "User 1, User 3, User 4", "User 3:")]
        {
            event.message.direct_users = ids.iter().copied().map(UserId).collect();
            event.display_recipient = DisplayRecipient::Users(ids.iter().copied().map(user).collect());
            let nameless = NotificationOrigin { brand: "", ..ORIGIN };
            let (google, apple) = message_payloads(&realm, &nameless, &event, (UserId(4), NotificationTrigger::Direct));
            assert_eq!(google.get("pm_users").and_then(Value::as_str), pm_users);
            assert_eq!((&google["recipient_type"], &google["message_id"]), (&json!("private"), &json!(50)));
            assert_eq!((&apple["alert"]["title"], &apple["alert"]["subtitle"]), (&json!(title), &json!(subtitle)));
            assert_eq!(apple["custom"]["service"]["event"], "message");
        }
    }
}
