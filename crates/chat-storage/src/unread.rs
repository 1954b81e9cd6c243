//! What a user has not read: found in memory as far as that reaches, and in the database before it.

use std::collections::{HashMap, HashSet};

use chat_core::StoreError;
use chat_core::messages::narrow::{NarrowCandidate, NarrowCondition, ReadableMessageSelection};
use chat_core::model::message::{MessageFlag, Recipient, topic_key};
use chat_core::model::user_message::{UnreadConversation, UnreadMessages};

use crate::candidate_query::{MessageRange, ReadDirection};
use crate::engine::run;
use crate::fault::failed;
use crate::flags::UserFlags;
use crate::memory::message_index::{self, IndexEntry, IndexedMessages};
use crate::message_search::{MessageSearch, facts, place, recipients, unread_of};
use crate::store::Shared;

/// 3 and 5 are the numbers of [`MessageFlag::Mentioned`] and [`MessageFlag::TopicWildcardMentioned`].
const MENTIONED: &str = "SELECT message_id FROM message_flag WHERE user_id = $1 AND flag IN (3, 5) AND message_id > $2";

/// Returns the newest messages of the selection that the reader has not read, at most `limit`.
pub(crate) async fn unread(
    shared: &Shared,
    selection: &ReadableMessageSelection,
    limit: usize,
) -> Result<UnreadMessages, StoreError> {
    if !selection.filters_only_location_or_unread() {
        return read(shared, selection, (i64::MAX, limit)).await;
    }
    // Who was answered by another node asks this one next.
    shared.hear_all().await?;
    message_index::read_up(shared).await?;
    let recipients = recipients(shared, selection, place(shared, selection).await?).await?;
    let own = UserFlags::load(shared, selection.user_id, recipients.iter().copied()).await?;
    let lowest = recipients.iter().map(|recipient| own.none_unread_until(*recipient)).min().unwrap_or_default();
    let mentioned: Vec<i64> =
        run!(shared.db.reader(), fetch_all: sqlx::query_scalar(MENTIONED).bind(selection.user_id.0).bind(lowest))
            .map_err(failed)?;
    let reader = UnreadReader { selection, own: &own, mentioned: &mentioned.into_iter().collect() };
    let Some((unread, after)) = shared.memory.message_index.look(|kept| (reader.unread(kept, &recipients), kept.after))
    else {
        return read(shared, selection, (i64::MAX, limit)).await;
    };
    let left = limit.saturating_sub(unread.count());
    if left == 0 || lowest >= after {
        return Ok(unread.keep_newest(limit));
    }
    let older = read(shared, selection, (after + 1, left)).await?;
    Ok(joined(older, unread))
}

/// Returns the same, before a message, from the database alone.
async fn read(
    shared: &Shared,
    selection: &ReadableMessageSelection,
    (before, limit): (i64, usize),
) -> Result<UnreadMessages, StoreError> {
    let selection = unread_of(selection);
    let search = MessageSearch::new(shared, &selection).await?;
    let (mut found, _) = search.collect(MessageRange { after: 0, before, way: ReadDirection::Older }, limit).await?;
    found.reverse();
    let found: Vec<NarrowCandidate<'_>> = found.into_iter().map(|hit| hit.candidate).collect();
    let flags = search.flags(&found.iter().map(facts).collect::<Vec<_>>()).await?;
    let mut unread = UnreadMessages::default();
    let mut places = HashMap::new();
    for (candidate, flags) in found.into_iter().zip(flags) {
        if flags.iter().any(|flag: &MessageFlag| flag.is_mention()) {
            unread.mentions.push(candidate.id);
        }
        let NarrowCandidate { id, recipient, topic, direct_users, .. } = candidate;
        let place = *places.entry((recipient, topic.clone())).or_insert_with(|| {
            let (topic, direct_users) = (topic.into_owned(), direct_users.into_owned());
            unread.places.push(UnreadConversation { recipient, direct_users, topic, ids: Vec::new() });
            unread.places.len() - 1
        });
        if let Some(place) = unread.places.get_mut(place) {
            place.ids.push(id);
        }
    }
    Ok(unread)
}

/// Returns what was not read, of two stretches, the older one first.
fn joined(mut older: UnreadMessages, newer: UnreadMessages) -> UnreadMessages {
    let key = |place: &UnreadConversation| (place.recipient, place.topic.clone());
    let known: HashMap<_, usize> = older.places.iter().enumerate().map(|(at, place)| (key(place), at)).collect();
    for place in newer.places {
        match known.get(&key(&place)).and_then(|at| older.places.get_mut(*at)) {
            Some(known) => known.ids.extend(place.ids),
            None => older.places.push(place),
        }
    }
    older.mentions.extend(newer.mentions);
    older
}

/// Who looks through the memory.
struct UnreadReader<'a> {
    selection: &'a ReadableMessageSelection,
    own: &'a UserFlags,
    /// Messages that mention the reader by a row.
    mentioned: &'a HashSet<i64>,
}

impl UnreadReader<'_> {
    fn unread(&self, kept: &IndexedMessages, recipients: &[Recipient]) -> UnreadMessages {
        let mut unread = UnreadMessages::default();
        for recipient in recipients {
            self.add(kept, *recipient, &mut unread);
        }
        unread.mentions.sort_unstable();
        unread
    }

    /// Adds what is not read of a recipient.
    fn add(&self, kept: &IndexedMessages, recipient: Recipient, unread: &mut UnreadMessages) {
        let until = self.own.none_unread_until(recipient).max(kept.after);
        let own = self.own.of_one(recipient);
        let bounds = match recipient {
            Recipient::Channel(id) => self.selection.readable_range(id),
            Recipient::Direct(_) => None,
        };
        let permit = |entry: &IndexEntry| match recipient {
            Recipient::Channel(_) => {
                bounds.is_some_and(|bounds| bounds.contains_message(entry.id, entry.content_flags().moved_in))
            }
            Recipient::Direct(_) => self.selection.directs,
        };
        let mut topics: HashMap<u32, Option<usize>> = HashMap::new();
        for entry in kept.entries_after(recipient, until) {
            if !own.is_unread(entry) || !permit(entry) {
                continue;
            }
            let place = *topics.entry(entry.topic_number()).or_insert_with(|| {
                let topic = kept.topic(entry);
                let direct_users = kept.direct_users(recipient).to_vec();
                self.wants(recipient, &topic).then(|| {
                    unread.places.push(UnreadConversation {
                        recipient,
                        direct_users,
                        topic: topic.as_ref().to_owned(),
                        ids: Vec::new(),
                    });
                    unread.places.len() - 1
                })
            });
            let Some(place) = place.and_then(|place| unread.places.get_mut(place)) else { continue };
            place.ids.push(entry.id);
            if entry.content_flags().mentions_channel || self.mentioned.contains(&entry.id.0) {
                unread.mentions.push(entry.id);
            }
        }
    }

    /// Returns whether the narrow asks for what is there.
    fn wants(&self, recipient: Recipient, topic: &str) -> bool {
        self.selection.terms.iter().all(|term| match &term.condition {
            NarrowCondition::Channel(id) => recipient == Recipient::Channel(*id),
            NarrowCondition::Topic(key) => matches!(recipient, Recipient::Channel(_)) && topic_key(topic) == *key,
            // The narrow asks for nothing else, and what is read was left out before.
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use chat_core::id::{ChannelId, MessageId};

    use super::*;

    #[test]
    fn two_stretches_are_one() {
        let place = |channel: i64, topic: &str, ids: &[i64]| UnreadConversation {
            recipient: Recipient::Channel(ChannelId(channel)),
            direct_users: Vec::new(),
            topic: topic.to_owned(),
            ids: ids.iter().copied().map(MessageId).collect(),
        };
        let older = UnreadMessages {
            places: vec![place(20, "a", &[1, 3]), place(20, "b", &[2])],
            mentions: vec![MessageId(2)],
        };
        let newer =
            UnreadMessages { places: vec![place(20, "a", &[5]), place(21, "a", &[4])], mentions: vec![MessageId(4)] };
        let both = joined(older, newer);
        assert_eq!(both.places, [place(20, "a", &[1, 3, 5]), place(20, "b", &[2]), place(21, "a", &[4])]);
        assert_eq!(both.mentions, [MessageId(2), MessageId(4)]);
    }
}
