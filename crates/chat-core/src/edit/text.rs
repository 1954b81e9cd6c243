//! What a text says in the place of the one that was sent.

use super::Text;
use crate::compose::{Receivers, check_groups, flags, marks};
use crate::id::UserId;
use crate::lexicon::Setting;
use crate::markdown::{Reach, Rendered};
use crate::message::{Conversation, Flag, Message, Recipient, topic_key};
use crate::send::{SendError, Wildcard, with_wildcard};
use crate::snapshot::RealmSnapshot;
use crate::user::User;

/// The new content of an edited message, rendered.
#[derive(Debug)]
pub struct Rewriting<'a> {
    realm: &'a RealmSnapshot,
    writer: &'a User,
    message: &'a Message,
    content: &'a str,
    rendered: Rendered,
}

impl<'a> Rewriting<'a> {
    /// Renders the text as its writer's, on the realm as it is now.
    #[must_use]
    pub fn new(
        setting: &Setting<'_>,
        realm: &'a RealmSnapshot,
        writer: &'a User,
        (message, content): (&'a Message, &'a str),
    ) -> Self {
        let rendered = setting.render(realm, writer, content);
        Self { realm, writer, message, content, rendered }
    }

    /// Returns the topic whose participants have to be known: the text mentions them all.
    #[must_use]
    pub fn asks_participants(&self) -> Option<Conversation> {
        let Recipient::Channel(_) = self.message.recipient else { return None };
        let mentions = self.rendered.wildcards.contains(&Reach::Topic);
        mentions.then(|| Conversation { recipient: self.message.recipient, topic_key: topic_key(&self.message.topic) })
    }

    /// What the text says. `participants` answer [`Rewriting::asks_participants`].
    ///
    /// It concerns those who received the message: who came later reads it as history, and who left has it still.
    ///
    /// # Errors
    /// When the writer may not mention all that the text mentions.
    pub fn text(self, setting: &Setting<'_>, participants: &[UserId]) -> Result<Text, SendError> {
        let Self { realm, writer, message, content, rendered } = self;
        check_groups(realm, writer, &rendered.mentioned_groups, setting.now_s)?;
        if let Recipient::Channel(channel_id) = message.recipient {
            let may = |wildcard| with_wildcard(realm, writer, (channel_id, wildcard), setting.now_s);
            if rendered.wildcards.contains(&Reach::Channel) {
                may(Wildcard::Channel)?;
            }
            if rendered.wildcards.contains(&Reach::Topic) {
                may(Wildcard::Topic(participants.len()))?;
            }
        }
        let receivers = match message.recipient {
            Recipient::Channel(channel_id) => Receivers::Of(channel_id, message.id, message.marks),
            Recipient::Direct(_) => Receivers::Users(&message.direct_users),
        };
        let mut flags = flags(setting, realm, receivers, (content, &rendered));
        if rendered.wildcards.contains(&Reach::Topic) {
            let here = participants.iter().filter(|user| receivers.include(realm, **user));
            flags.extend(here.map(|user| (*user, Flag::TopicWildcardMentioned)));
        }
        let marks = marks(&rendered, message.marks.read_by_sender);
        Ok(Text { attachments: setting.attachments(&rendered), html: rendered.html, marks, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::channel::Privacy;
    use crate::event::EventRecord;
    use crate::id::{ChannelId, EventId};
    use crate::lexicon::Lexicon;
    use crate::realm::Rules;
    use crate::testing::{self, NOW_S};

    /// Returns what `content` says as the new text of a message in a channel of users 3, 4 and as many others, which
    /// user 2 enters afterwards and user 3 leaves.
    fn said(content: &str, others: i64) -> Result<Text, SendError> {
        let mut changes = vec![Change::Channel(Box::new(testing::channel(20, Privacy::Public)))];
        changes.extend([3, 4].map(|id| Change::Subscription(Box::new(testing::subscription(20, id)))));
        for id in 100..100 + others {
            changes.push(Change::User(Box::new(testing::user(id, crate::role::Role::Member))));
            changes.push(Change::Subscription(Box::new(testing::subscription(20, id))));
        }
        let realm = testing::realm(Rules::default(), changes);
        let leaves = Change::Unsubscription { channel_id: ChannelId(20), user_id: UserId(3) };
        let enters = Change::Subscription(Box::new(testing::subscription(20, 2)));
        let realm = realm.with(&EventRecord::new(EventId(60), 0, vec![leaves, enters], None));
        let lexicon = Lexicon::of(&realm);
        let setting = Setting { realm_url: "https://chat.example", lexicon: &lexicon, uploads: None, now_s: NOW_S };
        let message = testing::message(4, Recipient::Channel(ChannelId(20)));
        let writer = realm.user(UserId(4)).unwrap();
        let rewriting = Rewriting::new(&setting, &realm, writer, (&message, content));
        assert_eq!(rewriting.asks_participants().is_some(), content.contains("@**topic**"));
        rewriting.text(&setting, &[UserId(1), UserId(4)])
    }

    #[test]
    fn a_text_sets_flags_for_who_received_the_message() {
        let text = said("/me asks @**User 4**, @**User 3** who left, @**User 2** who came and @**topic**", 0).unwrap();
        let four = [Flag::Mentioned, Flag::TopicWildcardMentioned].map(|flag| (UserId(4), flag));
        assert_eq!(text.flags, [(UserId(3), Flag::Mentioned), four[0], four[1]]);
        assert!(text.marks.is_me);
        assert!(text.html.contains("user-mention"), "{}", text.html);
    }

    #[test]
    fn who_may_not_mention_everybody_cannot_do_it_later_either() {
        assert!(said("@**all**", 0).unwrap().marks.mentions_channel);
        assert_eq!(said("@**all**", 20), Err(SendError::ChannelWildcardRefused));
    }
}
