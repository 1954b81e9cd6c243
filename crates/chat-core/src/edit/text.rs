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

/// The texts of a message before and after an edit, rendered.
#[derive(Debug)]
pub struct Rewriting<'a> {
    realm: &'a RealmSnapshot,
    writer: &'a User,
    message: &'a Message,
    old: (&'a str, Rendered),
    new: (&'a str, Rendered),
}

impl<'a> Rewriting<'a> {
    /// Renders both texts as their writer's, on the realm as it is now: who was mentioned by the old one is worked out
    /// again, because only what differs between the two changes anybody's flags.
    #[must_use]
    pub fn new(
        setting: &Setting<'_>,
        realm: &'a RealmSnapshot,
        writer: &'a User,
        (message, content): (&'a Message, &'a str),
    ) -> Self {
        let render = |text: &'a str| (text, setting.render(realm, writer, text));
        Self { realm, writer, message, old: render(&message.content), new: render(content) }
    }

    /// The topic whose participants have to be known: a text mentions them all.
    #[must_use]
    pub fn asks_participants(&self) -> Option<Conversation> {
        let mentions = [&self.old, &self.new].iter().any(|(_, rendered)| rendered.wildcards.contains(&Reach::Topic));
        let Recipient::Channel(_) = self.message.recipient else { return None };
        mentions.then(|| Conversation { recipient: self.message.recipient, topic_key: topic_key(&self.message.topic) })
    }

    /// What the old text says and what the new one does. `participants` answer [`Rewriting::asks_participants`].
    ///
    /// # Errors
    /// When the writer may not mention all that the new text mentions.
    pub fn texts(self, setting: &Setting<'_>, participants: &[UserId]) -> Result<(Text, Text), SendError> {
        let (_, rendered) = &self.new;
        check_groups(self.realm, self.writer, &rendered.mentioned_groups, setting.now_s)?;
        if let Recipient::Channel(channel_id) = self.message.recipient {
            let may = |wildcard| with_wildcard(self.realm, self.writer, (channel_id, wildcard), setting.now_s);
            if rendered.wildcards.contains(&Reach::Channel) {
                may(Wildcard::Channel)?;
            }
            if rendered.wildcards.contains(&Reach::Topic) {
                may(Wildcard::Topic(participants.len()))?;
            }
        }
        let text = |(content, rendered): (&str, Rendered)| {
            let receivers = match self.message.recipient {
                Recipient::Channel(channel_id) => Receivers::Channel(channel_id),
                Recipient::Direct(_) => Receivers::Users(&self.message.direct_users),
            };
            let mut set = flags(setting, self.realm, receivers, (content, &rendered));
            if rendered.wildcards.contains(&Reach::Topic) {
                let here = participants.iter().filter(|user| receivers.include(self.realm, **user));
                set.extend(here.map(|user| (*user, Flag::TopicWildcardMentioned)));
            }
            let marks = marks(&rendered, self.message.marks.read_by_sender);
            Text { attachments: setting.attachments(&rendered), html: rendered.html, marks, flags: set }
        };
        Ok((text(self.old), text(self.new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::channel::Privacy;
    use crate::id::ChannelId;
    use crate::lexicon::Lexicon;
    use crate::realm::Rules;
    use crate::testing::{self, NOW_S};

    /// What `content` in the place of `@**User 3** @**topic**` says, in a channel of users 3, 4 and as many others.
    fn said(content: &str, others: i64) -> Result<(Text, Text), SendError> {
        let mut changes = vec![Change::Channel(Box::new(testing::channel(20, Privacy::Public)))];
        changes.extend([3, 4].map(|id| Change::Subscription(Box::new(testing::subscription(20, id)))));
        for id in 100..100 + others {
            changes.push(Change::User(Box::new(testing::user(id, crate::role::Role::Member))));
            changes.push(Change::Subscription(Box::new(testing::subscription(20, id))));
        }
        let realm = testing::realm(Rules::default(), changes);
        let lexicon = Lexicon::of(&realm);
        let setting = Setting { realm_url: "https://chat.example", lexicon: &lexicon, uploads: None, now_s: NOW_S };
        let message = Message {
            content: "@**User 3** @**topic**".to_owned(),
            ..testing::message(4, Recipient::Channel(ChannelId(20)))
        };
        let writer = realm.user(UserId(4)).unwrap();
        let rewriting = Rewriting::new(&setting, &realm, writer, (&message, content));
        assert!(rewriting.asks_participants().is_some());
        rewriting.texts(&setting, &[UserId(1), UserId(4)])
    }

    #[test]
    fn a_text_sets_flags_for_who_receives_it() {
        let (old, new) = said("/me asks @**User 4** and @**User 2**", 0).unwrap();
        assert_eq!(old.flags, [(UserId(3), Flag::Mentioned), (UserId(4), Flag::TopicWildcardMentioned)]);
        assert_eq!(new.flags, [(UserId(4), Flag::Mentioned)]);
        assert!(new.marks.is_me && !old.marks.is_me);
        assert!(new.html.contains("user-mention"), "{}", new.html);
    }

    #[test]
    fn who_may_not_mention_everybody_cannot_do_it_later_either() {
        assert!(said("@**all**", 0).unwrap().1.marks.mentions_channel);
        assert_eq!(said("@**all**", 20), Err(SendError::ChannelWildcardRefused));
    }
}
