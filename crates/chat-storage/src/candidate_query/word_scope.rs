//! Where a search by words goes on when its first page found too little: in the places alone that can match.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use chat_core::StoreError;
use chat_core::id::{ChannelId, UserId};
use chat_core::messages::narrow::{HasOperand, NarrowCondition, NarrowTerm, ReadableMessageSelection};
use chat_core::messages::topic_visibility_policy::{self, TopicVisibilityPolicy};
use chat_core::model::message::{RESOLVED_TOPIC_PREFIX, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use serde_json::json;
use sql_engines::SqlDialect;

use super::word_search::WordSearch;
use super::{CandidateQuery, MessageRange, ReadDirection, RecipientScope, asks_unread, resolved};
use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::flags::UserFlags;
use crate::message_search;
use crate::store::Shared;
use crate::word_index::{self, IndexedProperty};

/// Most places that are named to the index of words: it looks at each of them for every message that it passes.
const PLACES_MAX: usize = 1_000;

/// Most places that are named where the narrow does not name them: those of a reader who reads little. More of them
/// are nearly all there are, and only one more thing to compare.
const FEW_PLACES: usize = 50;

/// Most messages with a reaction, or in resolved topics, of which the texts are compared with the words.
const COMPARED_MAX: i64 = 500;

/// Counts messages with a reaction.
const REACTED: &str = "SELECT count(*) FROM (
    SELECT DISTINCT message_id FROM reaction ORDER BY message_id LIMIT CAST($1 AS BIGINT)
) AS few";

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
    /// messages with the word.
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
        let chosen = ChosenTopics::of(&realm, selection.user_id);
        let mut places = chosen.asked(&realm, selection);
        if words.recipient.is_none() {
            let heard = chosen.heard(&realm, selection, &recipients);
            if heard.recipients.len() <= FEW_PLACES || selection.terms.iter().any(names_places) {
                places.push(heard);
            }
        }
        if places.iter().any(Places::is_empty) {
            return Ok(Self { source: CandidateQuery::Nothing, after });
        }
        let mut words = words.clone();
        words.reacted = asks(selection, &NarrowCondition::Has(HasOperand::Reaction));
        if words.reacted && are_few(shared, REACTED.to_owned()).await? {
            return Ok(Self { source: CandidateQuery::Reacted, after });
        }
        if asks(selection, &NarrowCondition::IsResolved) && are_few(shared, in_resolved_topics()).await? {
            return Ok(Self { source: CandidateQuery::Resolved, after });
        }
        let words = match shared.db.dialect() {
            SqlDialect::Postgres => WordSearch { places, ..words },
            SqlDialect::Sqlite if shared.properties_indexed.load(Ordering::Acquire) => {
                narrowed_by_index(&words, &places)
            }
            SqlDialect::Sqlite => words,
        };
        Ok(Self { source: CandidateQuery::Words(words), after })
    }
}

/// Returns whether a statement counts so few messages that their texts are compared with the words.
async fn are_few(shared: &Shared, statement: String) -> Result<bool, StoreError> {
    let (sql, most) = (Sql::render_to_sql_str(shared.db.dialect(), &statement), COMPARED_MAX + 1);
    let counted: i64 =
        run!(shared.db.reader(), fetch_one: sqlx::query_scalar(sql.clone()).bind(most)).map_err(failed)?;
    Ok(counted < most)
}

/// Counts messages of resolved topics.
fn in_resolved_topics() -> String {
    let resolved = resolved("m");
    format!(
        "SELECT count(*) FROM (SELECT m.id FROM message AS m WHERE {resolved} ORDER BY m.id LIMIT CAST($1 AS BIGINT)) AS few"
    )
}

/// The index of SQLite intersects the words with the places. Postgres gets them as conditions, and chooses by itself
/// between the words and the indexes of the places.
fn narrowed_by_index(words: &WordSearch, places: &[Places]) -> WordSearch {
    let mut query = words.query.clone();
    for properties in places.iter().map(Places::properties).filter(|properties| properties.len() <= PLACES_MAX) {
        query = word_index::with_one_of(&query, &properties);
    }
    WordSearch { query, ..words.clone() }
}

/// Returns whether a term says in which places messages are.
fn names_places(term: &NarrowTerm) -> bool {
    matches!(
        term.condition,
        NarrowCondition::IsDirect
            | NarrowCondition::DirectIncluding(_)
            | NarrowCondition::PublicChannels
            | NarrowCondition::WebPublicChannels
            | NarrowCondition::InHome(_)
    )
}

/// Places of which a message has to be in one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Places {
    pub(crate) recipients: Vec<Recipient>,
    /// Channel and topic key.
    pub(crate) topics: Vec<(ChannelId, String)>,
    /// Every topic that is resolved.
    pub(crate) resolved: bool,
}

impl Places {
    fn is_empty(&self) -> bool {
        self.recipients.is_empty() && self.topics.is_empty() && !self.resolved
    }

    /// Returns them as the index of SQLite has them: topics without their channels, which the rules compare later.
    fn properties(&self) -> Vec<IndexedProperty<'_>> {
        let recipients = self.recipients.iter().map(|recipient| IndexedProperty::Recipient(i64::from(*recipient)));
        let topics = self.topics.iter().map(|(_, key)| IndexedProperty::Topic(key));
        let resolved = self.resolved.then_some(IndexedProperty::TopicPrefix(RESOLVED_TOPIC_PREFIX));
        recipients.chain(topics).chain(resolved).collect()
    }

    /// Returns the condition on a message `m` of Postgres; its parameters are [`Places::values`], from this number on.
    pub(crate) fn sql(&self, mut parameter: usize) -> String {
        let mut either = Vec::new();
        if !self.recipients.is_empty() {
            either.push(format!(
                "m.recipient_id = ANY(ARRAY(SELECT number::BIGINT FROM json_array_elements_text(${parameter}::JSON) AS number))"
            ));
            parameter += 1;
        }
        if !self.topics.is_empty() {
            either.push(format!(
                "(m.recipient_id, m.topic_key) IN (SELECT (pair ->> 0)::BIGINT, pair ->> 1
    FROM json_array_elements(${parameter}::JSON) AS pair)"
            ));
        }
        either.extend(self.resolved.then(|| resolved("m")));
        format!("({})", either.join(" OR "))
    }

    /// Returns the parameters of [`Places::sql`].
    pub(crate) fn values(&self) -> impl Iterator<Item = String> {
        let recipients: Vec<i64> = self.recipients.iter().map(|recipient| i64::from(*recipient)).collect();
        let topics: Vec<(i64, &str)> =
            self.topics.iter().map(|(id, key)| (i64::from(Recipient::Channel(*id)), key.as_str())).collect();
        let recipients = (!recipients.is_empty()).then(|| json!(recipients).to_string());
        let topics = (!topics.is_empty()).then(|| json!(topics).to_string());
        recipients.into_iter().chain(topics)
    }
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
    fn heard(&self, realm: &RealmSnapshot, selection: &ReadableMessageSelection, recipients: &[Recipient]) -> Places {
        let asks_home = asks(selection, &NarrowCondition::InHome(selection.user_id));
        let with_heard_topic: HashSet<ChannelId> =
            self.followed.iter().chain(&self.unmuted).map(|(id, _)| *id).collect();
        let is_heard = |id: &ChannelId| {
            let subscription = realm.subscription(*id, selection.user_id);
            subscription.is_some_and(|subscription| !subscription.is_muted) || with_heard_topic.contains(id)
        };
        let can_match = |recipient: &Recipient| match recipient {
            Recipient::Channel(id) => !asks_home || is_heard(id),
            Recipient::Direct(_) => true,
        };
        Places { recipients: recipients.iter().copied().filter(can_match).collect(), ..Places::default() }
    }

    /// Returns the places of each condition about topics.
    fn asked(&self, realm: &RealmSnapshot, selection: &ReadableMessageSelection) -> Vec<Places> {
        let user = selection.user_id;
        let mut asked = Vec::new();
        if asks(selection, &NarrowCondition::IsFollowed(user)) {
            asked.push(Places { topics: self.followed.clone(), ..Places::default() });
        }
        if asks(selection, &NarrowCondition::IsMuted(user)) {
            let muted =
                |id: &ChannelId| realm.subscription(*id, user).is_some_and(|subscription| subscription.is_muted);
            let channels = selection.readable_channels().into_iter().filter(muted);
            let recipients = channels.map(Recipient::Channel).collect();
            asked.push(Places { recipients, topics: self.muted.clone(), ..Places::default() });
        }
        if asks(selection, &NarrowCondition::IsResolved) {
            asked.push(Places { resolved: true, ..Places::default() });
        }
        asked
    }
}

/// Returns whether the narrow has this condition, not negated.
fn asks(selection: &ReadableMessageSelection, condition: &NarrowCondition) -> bool {
    selection.terms.iter().any(|term| !term.negated && term.condition == *condition)
}
