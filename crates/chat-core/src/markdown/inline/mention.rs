//! `@**name**`, `@*group*`, `#**channel**`.

use super::super::tree::{Inline, MentionNotification, WildcardMentionScope};
use super::scan::{Found, Scanner};
use crate::id::{MessageId, UserId};

/// The start of the names of the system's groups, which only a silent mention can name.
const SYSTEM_GROUP: &str = "role:";

/// Reads what a mark may precede: `@` or `#` at the start, after white space or after an opening sign.
fn stands_free(scanner: &Scanner<'_, '_, '_>) -> bool {
    scanner.previous().is_none_or(|previous| previous.is_whitespace() || "'\"({[/<".contains(previous))
}

/// Returns what stands between stars: the text and the bytes it takes with them.
fn starred<'t>(text: &'t str, stars: &str) -> Option<(&'t str, usize)> {
    let inside = text.strip_prefix(stars)?;
    let length = inside.find('*').filter(|&length| length > 0)?;
    inside.get(length..)?.starts_with(stars).then_some(())?;
    Some((inside.get(..length)?, length + 2 * stars.len()))
}

/// A mention of a person, a group or everyone.
pub(super) fn person(scanner: &mut Scanner<'_, '_, '_>) -> Option<Found> {
    let named = scanner.rest().strip_prefix('@').filter(|_| stands_free(scanner))?;
    let (named, typed) = match named.strip_prefix('_') {
        Some(silent) => (silent, MentionNotification::Silent),
        None => (named, MentionNotification::Loud),
    };
    let loudness = scanner.scope.loudness(typed);
    let before = scanner.rest().len() - named.len();
    if let Some((name, length)) = starred(named, "**") {
        scanner.parser.worked(length);
        let inline = wildcard(name, loudness).or_else(|| user(scanner, name, loudness))?;
        return Some((inline, scanner.at + before + length));
    }
    let (name, length) = starred(named, "*")?;
    scanner.parser.worked(length);
    let directory = scanner.parser.context.directory;
    let (id, name) = if name.starts_with(SYSTEM_GROUP) {
        let id = directory.system_group_by_name(name).filter(|_| loudness == MentionNotification::Silent)?;
        (id, directory.system_group_display_name(name)?)
    } else {
        directory.group_by_name(name)?
    };
    let name = name.to_owned();
    Some((Inline::Group { id, name, loudness }, scanner.at + before + length))
}

fn wildcard(word: &str, loudness: MentionNotification) -> Option<Inline> {
    let reach = match word {
        "all" | "everyone" | "channel" | "stream" => WildcardMentionScope::Channel,
        "topic" => WildcardMentionScope::Topic,
        _ => return None,
    };
    Some(Inline::Wildcard { reach, word: word.to_owned(), loudness })
}

/// A user by full name, by name and id, or by id alone.
fn user(scanner: &Scanner<'_, '_, '_>, name: &str, loudness: MentionNotification) -> Option<Inline> {
    let directory = scanner.parser.context.directory;
    let numbered = name.rsplit_once('|').and_then(|(name, id)| Some((name, UserId(number(id)?))));
    let (id, stored) = match numbered {
        Some((name, id)) => {
            let stored = directory.user_full_name(id)?;
            let same = name.is_empty() || name.to_lowercase() == stored.to_lowercase();
            same.then_some((id, stored))?
        }
        None => directory.user_by_full_name(name)?,
    };
    let loudness = if directory.receives_mention_notifications(id) { loudness } else { MentionNotification::Silent };
    Some(Inline::User { id, name: stored.to_owned(), loudness })
}

fn number(digits: &str) -> Option<i64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// A link to a channel, to a topic of it, or to a message.
pub(super) fn channel(scanner: &mut Scanner<'_, '_, '_>) -> Option<Found> {
    let named = scanner.rest().strip_prefix('#').filter(|_| stands_free(scanner) && scanner.scope.may_link())?;
    let (target, length) = starred(named, "**")?;
    scanner.parser.worked(length);
    let directory = scanner.parser.context.directory;
    let with_topic = target.split_once('>').filter(|(_, topic)| !topic.is_empty());
    let with_topic =
        with_topic.and_then(|(name, topic)| Some((directory.channel_id_by_name(name)?, name, Some(topic))));
    // The name of a channel may have the sign in it, too.
    let (id, name, topic) = match with_topic {
        Some(found) => found,
        None => (directory.channel_id_by_name(target)?, target, None),
    };
    let (topic, message) = match topic {
        Some(topic) => with_message(topic),
        None => (topic, None),
    };
    let topic = topic.map(str::to_owned);
    Some((Inline::Channel { id, name: name.to_owned(), topic, message }, scanner.at + 1 + length))
}

/// Returns the topic and the message that follows an at sign. Whether there is such a message is not looked up: the
/// link says no more than what was typed.
fn with_message(topic: &str) -> (Option<&str>, Option<MessageId>) {
    let message = topic.rsplit_once('@').filter(|(topic, id)| !topic.is_empty() && !id.is_empty());
    let message = message.and_then(|(topic, id)| Some((topic, MessageId(number(id)?))));
    message.map_or((Some(topic), None), |(topic, id)| (Some(topic), Some(id)))
}
