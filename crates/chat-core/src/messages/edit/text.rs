//! What a text says in the place of the one that was sent.

use super::RenderedText;
use crate::id::UserId;
use crate::markdown::{RenderedMessage, WildcardMentionScope};
use crate::messages::compose::{MessageReceivers, check_groups, content_flags, flags};
use crate::messages::readable_message::ReadableMessage;
use crate::model::message::{MessageFlag, Recipient};
use crate::model::render_context::RenderSettings;
use crate::permission::send_message::{SendError, WildcardMention, may_mention_wildcard};

/// Returns what a rendered text says in the place of the text that was sent. `participants` are those of the message's
/// topic, where the text mentions them all.
///
/// It concerns those who received the message: who came later reads it as history, and who left has it still. It is
/// refused when the writer may not mention all that the text mentions.
pub(super) fn rewritten(
    setting: &RenderSettings<'_>,
    found: &ReadableMessage,
    content: &str,
    rendered: RenderedMessage,
    participants: &[UserId],
) -> Result<RenderedText, SendError> {
    let ReadableMessage { realm, user: writer, message } = found;
    check_groups(realm, writer, &rendered.mentioned_groups, setting.now_s)?;
    if let Recipient::Channel(channel_id) = message.recipient {
        let may = |wildcard| may_mention_wildcard(realm, writer, (channel_id, wildcard), setting.now_s);
        if rendered.wildcards.contains(&WildcardMentionScope::Channel) {
            may(WildcardMention::Channel)?;
        }
        if rendered.wildcards.contains(&WildcardMentionScope::Topic) {
            may(WildcardMention::Topic(participants.len()))?;
        }
    }
    let receivers = match message.recipient {
        Recipient::Channel(channel_id) => MessageReceivers::Of(channel_id, message.id, message.content_flags),
        Recipient::Direct(_) => MessageReceivers::Users(&message.direct_users),
    };
    let mut flags = flags(setting, realm, receivers, (content, &rendered));
    if rendered.wildcards.contains(&WildcardMentionScope::Topic) {
        let here = participants.iter().filter(|user| receivers.include(realm, **user));
        flags.extend(here.map(|user| (*user, MessageFlag::TopicWildcardMentioned)));
    }
    let content_flags = content_flags(&rendered, message.content_flags.read_by_sender);
    Ok(RenderedText {
        attachments: setting.linked_attachment_ids(&rendered),
        html: rendered.html,
        content_flags,
        flags,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::{ChannelId, EventId};
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::render_context::RenderContext;
    use crate::testing::{self, NOW_S};

    /// Returns what `content` says as the new text of a message in a channel of users 3, 4 and as many others, which
    /// user 2 enters afterwards and user 3 leaves.
    fn said(content: &str, others: i64) -> Result<RenderedText, SendError> {
        let mut changes = vec![RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public)))];
        changes.extend([3, 4].map(|id| RealmChange::Subscription(Box::new(testing::subscription(20, id)))));
        for id in 100..100 + others {
            changes.push(RealmChange::User(Box::new(testing::user(id, crate::model::role::Role::Member))));
            changes.push(RealmChange::Subscription(Box::new(testing::subscription(20, id))));
        }
        let realm = testing::realm(RealmPermissionSettings::default(), changes);
        let leaves = RealmChange::Unsubscription { channel_id: ChannelId(20), user_id: UserId(3) };
        let enters = RealmChange::Subscription(Box::new(testing::subscription(20, 2)));
        let realm = realm.after_record(&LogRecord::new(EventId(60), 0, vec![leaves, enters], None));
        let render_context = RenderContext::from_realm(&realm);
        let setting = RenderSettings {
            realm_url: "https://chat.example",
            render_context: &render_context,
            uploads: None,
            now_s: NOW_S,
        };
        let message = testing::message(4, Recipient::Channel(ChannelId(20)));
        let user = Arc::clone(realm.user(UserId(4)).unwrap());
        let rendered = setting.render_message(&realm, &user, content);
        let found = ReadableMessage { realm: Arc::new(realm), user, message };
        rewritten(&setting, &found, content, rendered, &[UserId(1), UserId(4)])
    }

    #[test]
    fn a_text_sets_flags_for_who_received_the_message() {
        let text = said("/me asks @**User 4**, @**User 3** who left, @**User 2** who came and @**topic**", 0).unwrap();
        let four = [MessageFlag::Mentioned, MessageFlag::TopicWildcardMentioned].map(|flag| (UserId(4), flag));
        assert_eq!(text.flags, [(UserId(3), MessageFlag::Mentioned), four[0], four[1]]);
        assert!(text.content_flags.is_me);
        assert!(text.html.contains("user-mention"), "{}", text.html);
    }

    #[test]
    fn who_may_not_mention_everybody_cannot_do_it_later_either() {
        assert!(said("@**all**", 0).unwrap().content_flags.mentions_channel);
        assert_eq!(said("@**all**", 20), Err(SendError::ChannelWildcardRefused));
    }
}
