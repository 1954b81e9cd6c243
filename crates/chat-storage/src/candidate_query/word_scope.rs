//! Where a search by words goes on when its first page found too little: in the places alone that can match.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use chat_core::StoreError;
use chat_core::id::{ChannelId, UserId};
use chat_core::messages::narrow::{NarrowCondition, ReadableMessageSelection};
use chat_core::messages::topic_visibility_policy::{self, TopicVisibilityPolicy};
use chat_core::model::message::{RESOLVED_TOPIC_PREFIX, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use sql_engines::SqlDialect;

use super::word_search::WordSearch;
use super::{CandidateQuery, MessageRange, ReadDirection, RecipientScope, asks_unread};
use crate::flags::UserFlags;
use crate::message_search;
use crate::store::Shared;
use crate::word_index::{self, IndexedProperty};

/// Most places that are named to the index of words: it looks at each of them for every message that it passes.
const PLACES_MAX: usize = 1_000;

/// What is left of a search by words.
pub(crate) struct WordScope {
    /// How messages are found from now on.
    pub(crate) source: CandidateQuery,
    /// A message up to which none matches.
    pub(crate) after: i64,
}

impl WordScope {
    /// Returns the search narrowed to the places that can match.
    ///
    /// **Why**: most searches are answered by their first page, and pay for nothing else. One that is not, because few
    /// of the messages with a common word are among the two users, in a followed topic or unread, would read all
    /// messages with the word. The index of SQLite intersects the words with the places instead; Postgres is told
    /// where unread messages begin, and combines its own indexes for the rest.
    pub(crate) async fn of(
        shared: &Shared,
        selection: &ReadableMessageSelection,
        words: &WordSearch,
    ) -> Result<Self, StoreError> {
        let place = words.recipient.map_or(RecipientScope::Anywhere, |id| RecipientScope::In(Recipient::from(id)));
        let recipients = message_search::recipients(shared, selection, place).await?;
        let realm = shared.memory.realm.current();
        let mut after = 0;
        if asks_unread(selection) {
            let own = UserFlags::load(shared, selection.user_id, recipients.iter().copied()).await?;
            let unread = CandidateQuery::of_each(&realm, selection, &recipients, Some(&own));
            let all = MessageRange { after: 0, before: i64::MAX, way: ReadDirection::Newer };
            match unread.read(shared, all, 1).await?.first() {
                Some(oldest) => after = oldest.id.0 - 1,
                None => return Ok(Self { source: CandidateQuery::Nothing, after }),
            }
        }
        if shared.db.dialect() == SqlDialect::Postgres || !shared.properties_indexed.load(Ordering::Acquire) {
            return Ok(Self { source: CandidateQuery::Words(words.clone()), after });
        }
        let topics = ChosenTopics::of(&realm, selection.user_id);
        let mut groups = topics.groups(&realm, selection);
        if words.recipient.is_none() {
            groups.push(topics.places(&realm, selection, &recipients));
        }
        Ok(Self { source: narrowed(words, &groups), after })
    }
}

/// Returns the words that have one property of each group beside them.
fn narrowed(words: &WordSearch, groups: &[Vec<IndexedProperty<'_>>]) -> CandidateQuery {
    if groups.iter().any(Vec::is_empty) {
        return CandidateQuery::Nothing;
    }
    let mut query = words.query.clone();
    for group in groups.iter().filter(|group| group.len() <= PLACES_MAX) {
        query = word_index::with_one_of(&query, group);
    }
    CandidateQuery::Words(WordSearch { query, ..words.clone() })
}

/// The topics for which the user chose a policy, as channel and topic key.
struct ChosenTopics {
    followed: Vec<(ChannelId, String)>,
    unmuted: Vec<(ChannelId, String)>,
    muted: Vec<(ChannelId, String)>,
}

impl ChosenTopics {
    fn of(realm: &RealmSnapshot, user: UserId) -> Self {
        let with = |policy| topic_visibility_policy::topics_with_policy(realm, user, policy);
        Self {
            followed: with(TopicVisibilityPolicy::Followed),
            unmuted: with(TopicVisibilityPolicy::Unmuted),
            muted: with(TopicVisibilityPolicy::Muted),
        }
    }

    /// Returns the recipients in which something can match.
    fn places(
        &self,
        realm: &RealmSnapshot,
        selection: &ReadableMessageSelection,
        recipients: &[Recipient],
    ) -> Vec<IndexedProperty<'_>> {
        let asks_home = asks(selection, &NarrowCondition::InHome(selection.user_id));
        let heard: HashSet<ChannelId> = self.followed.iter().chain(&self.unmuted).map(|(id, _)| *id).collect();
        let is_heard = |id: &ChannelId| {
            let subscription = realm.subscription(*id, selection.user_id);
            subscription.is_some_and(|subscription| !subscription.is_muted) || heard.contains(id)
        };
        let can_match = |recipient: &&Recipient| match recipient {
            Recipient::Channel(id) => !asks_home || is_heard(id),
            Recipient::Direct(_) => true,
        };
        let recipients = recipients.iter().filter(can_match);
        recipients.map(|recipient| IndexedProperty::Recipient(i64::from(*recipient))).collect()
    }

    /// Returns a group for each condition about topics: what can match has one property of it.
    fn groups(&self, realm: &RealmSnapshot, selection: &ReadableMessageSelection) -> Vec<Vec<IndexedProperty<'_>>> {
        let user = selection.user_id;
        let mut groups = Vec::new();
        if asks(selection, &NarrowCondition::IsFollowed(user)) {
            groups.push(self.followed.iter().map(|(_, key)| IndexedProperty::Topic(key)).collect());
        }
        if asks(selection, &NarrowCondition::IsMuted(user)) {
            let muted =
                |id: &ChannelId| realm.subscription(*id, user).is_some_and(|subscription| subscription.is_muted);
            let channels = selection.readable_channels().into_iter().filter(muted);
            let channels = channels.map(|id| IndexedProperty::Recipient(i64::from(Recipient::Channel(id))));
            groups.push(self.muted.iter().map(|(_, key)| IndexedProperty::Topic(key)).chain(channels).collect());
        }
        if asks(selection, &NarrowCondition::IsResolved) {
            groups.push(vec![IndexedProperty::TopicPrefix(RESOLVED_TOPIC_PREFIX)]);
        }
        groups
    }
}

/// Returns whether the narrow has this condition, not negated.
fn asks(selection: &ReadableMessageSelection, condition: &NarrowCondition) -> bool {
    selection.terms.iter().any(|term| !term.negated && term.condition == *condition)
}
