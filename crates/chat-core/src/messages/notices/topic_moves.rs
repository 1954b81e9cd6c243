//! Notices about topics: moved, marked as resolved, marked as unresolved.

use super::markup::{silent_mention, topic_link};
use super::{Notice, send_all};
use crate::id::{ChannelId, UserId};
use crate::messages::topic_visibility_policy::{TopicVisibilityPolicy, topic_visibility_policy_of};
use crate::messages::workflow_context::MessageWorkflowContext;
use crate::model::message::RESOLVED_TOPIC_PREFIX;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire_format::user_settings;

/// The user setting that says for whom a notice about a resolved topic arrives read (level 385).
const AUTO_READ: &str = "resolved_topic_notice_auto_read_policy";

/// The topics that get a notice about moved messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoveNotices {
    /// The topic that the messages were in: `send_notification_to_old_thread`.
    pub in_old_topic: bool,
    /// The topic that the messages are in now: `send_notification_to_new_thread`.
    pub in_new_topic: bool,
}

/// Messages that moved.
#[derive(Debug)]
pub(in crate::messages) struct CompletedMove<'a> {
    /// The channel and topic they were in.
    pub(in crate::messages) from: (ChannelId, &'a str),
    /// The channel and topic they are in.
    pub(in crate::messages) to: (ChannelId, &'a str),
    /// The number of messages.
    pub(in crate::messages) messages: usize,
    /// Whether they are all messages that the topic had.
    pub(in crate::messages) is_whole_topic: bool,
    /// Whether the topic was only marked as resolved or unresolved.
    pub(in crate::messages) only_resolves: bool,
}

/// Sends the notices about moved messages. A topic that was only marked as resolved or unresolved says so, whatever
/// notices the request wants.
pub(in crate::messages) async fn report_move(
    ports: &MessageWorkflowContext<'_>,
    actor: &User,
    moved: &CompletedMove<'_>,
    wanted: MoveNotices,
) {
    let notices = notices(&ports.snapshot(), actor, moved, wanted);
    send_all(ports, &notices).await;
}

fn notices(realm: &RealmSnapshot, actor: &User, moved: &CompletedMove<'_>, wanted: MoveNotices) -> Vec<Notice> {
    if moved.only_resolves && moved.is_whole_topic {
        return vec![resolve_notice(realm, actor, moved.to)];
    }
    let what = |whole: &str, part: &str| match moved.messages {
        _ if moved.is_whole_topic => whole.to_owned(),
        1 => format!("a message{part}"),
        count => format!("{count} messages{part}"),
    };
    let (actor, mut notices) = (silent_mention(actor), Vec::new());
    if wanted.in_new_topic {
        let place = place(realm, moved.to.0, moved.from);
        let content = format!("{actor} moved {} here from {place}.", what("this topic", ""));
        notices.push(Notice::in_topic(moved.to.0, moved.to.1, content));
    }
    if wanted.in_old_topic {
        let place = place(realm, moved.from.0, moved.to);
        let content = format!("{actor} moved {} to {place}.", what("this topic", " from this topic"));
        notices.push(Notice::in_topic(moved.from.0, moved.from.1, content));
    }
    notices
}

/// Returns a link to the place, for the readers of a channel, who need not know that another one exists.
fn place(realm: &RealmSnapshot, readers_of: ChannelId, (channel_id, topic): (ChannelId, &str)) -> String {
    let known =
        realm.channel(channel_id).filter(|channel| channel.id == readers_of || !channel.privacy.is_invite_only());
    known.map_or_else(|| "a private channel".to_owned(), |channel| topic_link(channel, topic))
}

fn resolve_notice(realm: &RealmSnapshot, actor: &User, (channel_id, topic): (ChannelId, &str)) -> Notice {
    let state = if topic.starts_with(RESOLVED_TOPIC_PREFIX) { "resolved" } else { "unresolved" };
    let content = format!("{} has marked this topic as {state}.", silent_mention(actor));
    let reads = |user_id: &UserId| arrives_read(realm, *user_id, (channel_id, topic));
    let read_by = realm.subscribers(channel_id).filter(reads).collect();
    Notice { read_by, ..Notice::in_topic(channel_id, topic, content) }
}

/// # Source
/// Level 385.
fn arrives_read(realm: &RealmSnapshot, user_id: UserId, (channel_id, topic): (ChannelId, &str)) -> bool {
    match user_settings::word_setting(realm, user_id, AUTO_READ) {
        "always" => true,
        "never" => false,
        _ => {
            let policy = topic_visibility_policy_of(realm, user_id, channel_id, topic);
            policy != TopicVisibilityPolicy::Followed
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::{RealmChange, UserItemKind};
    use crate::testing;

    const BOTH: MoveNotices = MoveNotices { in_old_topic: true, in_new_topic: true };

    fn realm() -> RealmSnapshot {
        let channel = |id, privacy| RealmChange::Channel(Box::new(testing::channel(id, privacy)));
        let channels = [channel(20, ChannelPrivacy::Public), channel(21, ChannelPrivacy::PrivateSharedHistory)];
        let inside = [1, 4, 6].map(|id| RealmChange::Subscription(Box::new(testing::subscription(20, id))));
        let chosen = |id, word| RealmChange::UserItem {
            user_id: UserId(id),
            kind: UserItemKind::Settings,
            key: String::new(),
            document: Some(json!({"resolved_topic_notice_auto_read_policy": word})),
        };
        let more = channels.into_iter().chain(inside).chain([chosen(4, "never"), chosen(6, "always")]);
        testing::realm(RealmPermissionSettings::default(), more.collect())
    }

    fn moved<'a>(from: (i64, &'a str), to: (i64, &'a str), (messages, whole): (usize, bool)) -> CompletedMove<'a> {
        CompletedMove {
            from: (ChannelId(from.0), from.1),
            to: (ChannelId(to.0), to.1),
            messages,
            is_whole_topic: whole,
            only_resolves: false,
        }
    }

    fn texts(moved: &CompletedMove<'_>, wanted: MoveNotices) -> Vec<String> {
        let realm = realm();
        let notices = notices(&realm, realm.user(UserId(4)).unwrap(), moved, wanted);
        notices.into_iter().map(|notice| notice.content).collect()
    }

    #[test]
    fn a_notice_says_how_much_moved_and_where() {
        let to = |count| texts(&moved((20, "a"), (20, "b"), count), BOTH);
        let user = "@_**User 4|4** moved";
        let here = |what| format!("{user} {what} here from #**Channel 20>a**.");
        let there = |what| format!("{user} {what} to #**Channel 20>b**.");
        assert_eq!(to((3, true)), [here("this topic"), there("this topic")]);
        assert_eq!(to((1, false)), [here("a message"), there("a message from this topic")]);
        assert_eq!(to((3, false)), [here("3 messages"), there("3 messages from this topic")]);
        let none = MoveNotices::default();
        assert_eq!(texts(&moved((20, "a"), (20, "b"), (1, true)), none), Vec::<String>::new());
    }

    #[test]
    fn a_notice_does_not_name_another_private_channel() {
        let out = texts(&moved((21, "a"), (20, "b"), (3, true)), BOTH);
        assert_eq!(
            out,
            [
                "@_**User 4|4** moved this topic here from a private channel.",
                "@_**User 4|4** moved this topic to #**Channel 20>b**."
            ]
        );
        let inside = texts(&moved((21, "a"), (21, "b"), (3, true)), BOTH);
        assert_eq!(inside.first().unwrap(), "@_**User 4|4** moved this topic here from #**Channel 21>a**.");
    }

    #[test]
    fn level_385_a_notice_about_a_resolved_topic_arrives_read_as_its_receivers_chose() {
        let realm = realm();
        let resolved = CompletedMove { only_resolves: true, ..moved((20, "a"), (20, "✔ a"), (2, true)) };
        let notices = notices(&realm, realm.user(UserId(4)).unwrap(), &resolved, MoveNotices::default());
        let [notice] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!(notice.content, "@_**User 4|4** has marked this topic as resolved.");
        assert_eq!(notice.read_by, [UserId(1), UserId(6)]);
    }
}
