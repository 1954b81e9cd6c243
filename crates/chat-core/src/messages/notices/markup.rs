//! Pieces of notices: mentions, links and quotes of texts that users chose.

use crate::id::MessageId;
use crate::markdown;
use crate::model::channel::Channel;
use crate::model::user::User;

/// Characters that would end a link by name, or begin something else inside it.
const MARKUP: [char; 7] = ['*', '`', '>', '[', ']', '$', '\\'];

/// Returns a mention of the user that does not notify them.
pub(crate) fn silent_mention(user: &User) -> String {
    format!("@_**{}|{}**", user.full_name, user.id)
}

/// Returns a link to the channel.
pub(super) fn channel_link(channel: &Channel) -> String {
    if !channel.name.contains(MARKUP) {
        return format!("#**{}**", channel.name);
    }
    let address = markdown::narrow_address((channel.id, &channel.name), None, None);
    format!("[#{}]({})", without_markup(&channel.name), address.as_str())
}

/// Returns a link to the topic of the channel.
pub(super) fn topic_link(channel: &Channel, topic: &str) -> String {
    if !channel.name.contains(MARKUP) && !topic.contains(MARKUP) {
        return format!("#**{}>{topic}**", channel.name);
    }
    let address = markdown::narrow_address((channel.id, &channel.name), Some(topic), None);
    format!("[#{} > {}]({})", without_markup(&channel.name), without_markup(topic), address.as_str())
}

/// Returns a link to the message in the topic of the channel.
pub(super) fn message_link(channel: &Channel, topic: &str, id: MessageId) -> String {
    if !channel.name.contains(MARKUP) && !topic.contains(MARKUP) {
        return format!("#**{}>{topic}@{id}**", channel.name);
    }
    let address = markdown::narrow_address((channel.id, &channel.name), Some(topic), Some(id));
    format!("[#{} > {}]({})", without_markup(&channel.name), without_markup(topic), address.as_str())
}

/// Returns the text in bold, without markup inside.
pub(super) fn bold(text: &str) -> String {
    format!("**{}**", without_markup(text))
}

fn without_markup(text: &str) -> String {
    text.chars().filter(|character| !MARKUP.contains(character)).collect()
}

/// Returns the text as a quote, in which a mention does not notify, and which nothing in the text ends.
pub(crate) fn quote(text: &str) -> String {
    fenced("quote", text)
}

/// Returns the text as a quote that is hidden until its reader opens it.
pub(super) fn spoiler(title: &str, text: &str) -> String {
    fenced(&format!("spoiler {title}"), &quote(text))
}

fn fenced(kind: &str, text: &str) -> String {
    let mut longest = 0;
    for line in text.lines() {
        let ticks = line.trim_start().chars().take_while(|character| *character == '`').count();
        longest = longest.max(ticks);
    }
    let fence = "`".repeat((longest + 1).max(4));
    format!("{fence}{kind}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::channel::ChannelPrivacy;
    use crate::testing;

    fn named(name: &str) -> Channel {
        Channel { name: name.to_owned(), ..testing::channel(20, ChannelPrivacy::Public) }
    }

    #[test]
    fn a_name_with_markup_is_linked_by_its_address_and_mentions_nobody() {
        assert_eq!(
            topic_link(&named("a b"), "it's > fine & so"),
            "[#a b > it's  fine & so](/#narrow/stream/20-a-b/topic/it.27s.20.3E.20fine.20.26.20so)"
        );
        assert_eq!(topic_link(&named("a b"), "it's fine"), "#**a b>it's fine**");
        assert_eq!(channel_link(&named("@**all**")), "[#@all](/#narrow/stream/20-.40.2A.2Aall.2A.2A)");
        assert_eq!(channel_link(&named("news")), "#**news**");
        assert_eq!(bold("@**all**"), "**@all**");
    }

    #[test]
    fn nothing_in_a_quoted_text_ends_its_quote() {
        assert_eq!(quote("hi"), "````quote\nhi\n````");
        assert_eq!(quote("a\n`````\nb"), "``````quote\na\n`````\nb\n``````");
    }
}
