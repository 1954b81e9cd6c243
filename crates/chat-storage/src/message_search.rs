//! Finding messages: windows around an anchor, topics, what is unread.
//!
//! An index finds candidates in order, the rules of [`chat_core::messages::narrow`] decide each. A narrow that names
//! where, who or a flag reads that index; one that does not takes so many of each of the reader's recipients, so no
//! answer costs more because others write elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::messages::narrow::{
    Anchor, MessageText, MessageWindow, NEWEST_ANCHOR, NarrowCandidate, NarrowCondition, NarrowTerm,
    ReadableChannelRange, ReadableMessageSelection,
};
use chat_core::messages::store::{ChannelTopic, MessagePage};
use chat_core::model::message::{ContentFlags, Message, MessageFlag, Recipient};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::wire_format::MessageWithCachedJson;
use chat_core::{SearchTimeout, StoreError};
use sql_engines::encode_numbers_parameter;

use crate::candidate_query::word_scope::WordScope;
use crate::candidate_query::{CandidateQuery, MessageRange, ReadDirection, RecipientScope, asks_unread};
use crate::dialect::Sql;
use crate::engine::run;
use crate::fault::failed;
use crate::flags::{self, MessageFacts, UserFlags};
use crate::memory::channel_windows;
use crate::message_decoding::{self, MessageRow, WholeRow, users_key};
use crate::store::Shared;

/// Fewest candidates read at once.
const PAGE_MIN: usize = 50;
/// How many times as many candidates are read as in the page before.
const PAGE_GROWTH: usize = 4;
/// Most candidates of which the texts are read at once: they may be long.
const TEXTS_MAX: usize = 500;
/// Most candidates read at once.
pub(crate) const PAGE_MAX: usize = 5_001;

const FIND_DIRECT: &str = "SELECT recipient_id FROM direct WHERE users = $1";
const OWN_DIRECTS: &str = "SELECT recipient_id FROM direct_user WHERE user_id = $1";
const SHARED_DIRECTS: &str = "SELECT own.recipient_id FROM direct_user AS own
JOIN direct_user AS other ON other.recipient_id = own.recipient_id
WHERE own.user_id = $1 AND other.user_id = $2";
/// One step into the index for each channel, so it costs as much as there are channels, not messages.
static FIRST_MESSAGES: Sql = Sql::new(
    "SELECT first.channel_id, first.id FROM (
    SELECT c.id AS channel_id, (SELECT min(m.id) FROM message AS m WHERE m.recipient_id = c.id * 2) AS id
    FROM channel AS c WHERE c.id {in_numbers:$1}
) AS first WHERE first.id IS NOT NULL",
);
/// One step into the index for each channel.
static INACTIVE_CHANNELS: Sql = Sql::new(
    "SELECT c.id FROM channel AS c WHERE c.id {in_numbers:$1} AND coalesce((
    SELECT newest.sent_s FROM message AS newest
    WHERE newest.id = (SELECT max(m.id) FROM message AS m WHERE m.recipient_id = c.id * 2)
), 0) < $2",
);
/// Times follow numbers, so the way back to the last message before the time is as long as what is counted. SQLite
/// would rather read all messages in the order of their recipients.
static TRAFFIC: Sql = Sql::new(
    "SELECT recipient_id, count(*) FROM message
WHERE id > coalesce((SELECT id FROM message WHERE sent_s < $1 ORDER BY id DESC LIMIT 1), 0)
GROUP BY {not_indexed:recipient_id}",
);
/// Steps from topic to topic through the index, so it costs as much as there are topics, not messages.
const TOPICS: &str = "WITH RECURSIVE step (topic_key) AS (
    SELECT min(topic_key) FROM message WHERE recipient_id = $1
    UNION ALL
    SELECT (SELECT min(m.topic_key) FROM message AS m WHERE m.recipient_id = $1 AND m.topic_key > step.topic_key)
    FROM step WHERE step.topic_key IS NOT NULL
)
SELECT (SELECT max(m.id) FROM message AS m WHERE m.recipient_id = $1 AND m.topic_key = step.topic_key)
FROM step WHERE step.topic_key IS NOT NULL";
const TOPICS_WITHIN: &str = "SELECT max(id) FROM message WHERE recipient_id = $1 AND id > $2 AND id <= $3
    AND (marks & CAST($4 AS BIGINT)) = 0
GROUP BY topic_key";
static TOPIC_NAMES: Sql =
    Sql::new("SELECT id, topic, topic_key FROM message WHERE id {in_numbers:$1} ORDER BY id DESC");

/// A selection with what the store needs to find it.
pub(crate) struct MessageSearch<'a> {
    shared: &'a Shared,
    selection: &'a ReadableMessageSelection,
    source: CandidateQuery,
    /// What was read of everything that is looked through, where the search begins with that.
    own: Option<UserFlags>,
    /// Whether what is found is to be shown.
    is_shown: bool,
    /// When the search is given up, if it is.
    ends: Option<Instant>,
}

/// A message that is looked for.
pub(crate) struct SearchHit {
    pub(crate) candidate: NarrowCandidate<'static>,
    /// Its row, where that was read at once.
    row: Option<MessageRow>,
}

impl From<WholeRow> for SearchHit {
    fn from(row: WholeRow) -> Self {
        let (id, sender, recipient, users, topic, content, html, sent_s, client, flags, edit_s, revision, reacted) =
            row;
        let candidate =
            message_decoding::candidate((id, recipient, users.clone(), topic.clone(), sender, flags, reacted));
        let row = (id, sender, recipient, users, topic, content, html, sent_s, client, flags, edit_s, revision);
        Self { candidate, row: Some(row) }
    }
}

impl<'a> MessageSearch<'a> {
    pub(crate) async fn new(shared: &'a Shared, selection: &'a ReadableMessageSelection) -> Result<Self, StoreError> {
        let place = place(shared, selection).await?;
        // What a reader has of hundreds of recipients is asked for where it is needed alone.
        if let Some(source) = CandidateQuery::named(shared, selection, place) {
            return Ok(Self { shared, selection, source, own: None, is_shown: false, ends: None });
        }
        let recipients = recipients(shared, selection, place).await?;
        let mut own = None;
        if asks_unread(selection) {
            own = Some(UserFlags::load(shared, selection.user_id, recipients.iter().copied()).await?);
        }
        let realm = shared.memory.realm.load();
        let source = CandidateQuery::of_each(&realm, selection, &recipients, own.as_ref());
        Ok(Self { shared, selection, source, own, is_shown: false, ends: None })
    }

    /// The same for messages that are shown: they are read whole where they are found, if that is cheaper.
    fn shown(self) -> Self {
        Self { is_shown: true, ..self.limited() }
    }

    /// Returns the same, given up after the time that a search may take.
    fn limited(self) -> Self {
        Self { ends: Instant::now().checked_add(self.shared.db.search_time()), ..self }
    }

    /// Returns whether texts are looked at: the narrow asks for more than an index of words tells, or the words were
    /// not what the candidates were found by.
    fn asks_wording(&self, source: &CandidateQuery) -> bool {
        self.selection.needs_message_text() || self.selection.search_words().is_some() && !source.finds_words()
    }

    /// Returns the reader's flags of these candidates, in their order, as the database has them.
    pub(crate) async fn flags(&self, messages: &[MessageFacts]) -> Result<Vec<Vec<MessageFlag>>, StoreError> {
        if let Some(own) = &self.own {
            return own.flags(self.shared, messages).await;
        }
        let recipients: BTreeSet<Recipient> = messages.iter().map(|message| message.recipient).collect();
        UserFlags::load(self.shared, self.selection.user_id, recipients).await?.flags(self.shared, messages).await
    }

    /// Returns the reader's flags of messages that were found, in their order.
    async fn flags_of(&self, messages: &[Message]) -> Result<Vec<Vec<MessageFlag>>, StoreError> {
        match &self.own {
            Some(own) => own.flags(self.shared, &messages.iter().map(MessageFacts::from).collect::<Vec<_>>()).await,
            None => flags::flags(self.shared, self.selection.user_id, messages).await,
        }
    }

    /// Returns the admitted messages of a stretch in its order, at most so many, and whether there are none beyond
    /// them.
    ///
    /// **Cost:** pages grow, so that many candidates of which few are admitted take few statements.
    pub(crate) async fn collect(
        &self,
        mut stretch: MessageRange,
        want: usize,
    ) -> Result<(Vec<SearchHit>, bool), StoreError> {
        let mut found = Vec::new();
        let first = (want + 1).clamp(PAGE_MIN, PAGE_MAX);
        let mut limit = first;
        let mut is_first = true;
        let mut scope: Option<WordScope> = None;
        loop {
            if self.ends.is_some_and(|ends| Instant::now() > ends) {
                return Err(StoreError(Box::new(SearchTimeout)));
            }
            let read = i64::try_from(limit).unwrap_or(i64::MAX);
            // Of the first page most are shown; where it is not enough, few of those that follow are.
            let source = scope.as_ref().map_or(&self.source, |scope| &scope.source);
            let page = if is_first {
                self.first_page(stretch, read).await?
            } else {
                page(self.shared, source, stretch, read).await?
            };
            let exhausted = page.len() < limit;
            if let Some(SearchHit { candidate: last, .. }) = page.last() {
                match stretch.way {
                    ReadDirection::Older => stretch.before = last.id.0,
                    ReadDirection::Newer => stretch.after = last.id.0,
                }
            }
            for hit in self.admitted(page, source).await? {
                if found.len() == want {
                    return Ok((found, false));
                }
                found.push(hit);
            }
            if exhausted {
                return Ok((found, true));
            }
            let most = if self.asks_wording(source) { first.max(TEXTS_MAX) } else { PAGE_MAX };
            limit = limit.saturating_mul(PAGE_GROWTH).min(most);
            is_first = false;
            if let (None, CandidateQuery::Words(words)) = (&scope, &self.source) {
                let narrower = WordScope::of(self.shared, self.selection, words).await?;
                stretch.after = stretch.after.max(narrower.after);
                scope = Some(narrower);
            }
        }
    }

    /// As [`MessageSearch::page`], whole where that is cheaper for what is shown.
    async fn first_page(&self, stretch: MessageRange, limit: i64) -> Result<Vec<SearchHit>, StoreError> {
        // Postgres sorts what it found, and rows with texts cost it more than reading some of them again.
        if self.is_shown
            && self.shared.db.postgres().is_none()
            && let Some(rows) = self.source.read_whole(self.shared, stretch, limit).await?
        {
            return Ok(rows.into_iter().map(SearchHit::from).collect());
        }
        page(self.shared, &self.source, stretch, limit).await
    }

    async fn admitted(&self, mut page: Vec<SearchHit>, source: &CandidateQuery) -> Result<Vec<SearchHit>, StoreError> {
        let asks_wording = self.asks_wording(source);
        if asks_wording {
            page = with_wording(self.shared, page).await?;
        }
        let flags = if self.selection.filters_by_flags() {
            self.flags(&page.iter().map(|hit| facts(&hit.candidate)).collect::<Vec<_>>()).await?
        } else {
            vec![Vec::new(); page.len()]
        };
        let realm = self.shared.memory.realm.current();
        if asks_wording {
            let selection = self.selection.clone();
            return self.shared.matching.run(move || select(page.into_iter().zip(flags), &selection, &realm)).await;
        }
        Ok(select(page.into_iter().zip(flags), self.selection, &realm))
    }
}

/// Returns the candidates of a stretch, their rows left in the database.
async fn page(
    shared: &Shared,
    source: &CandidateQuery,
    stretch: MessageRange,
    limit: i64,
) -> Result<Vec<SearchHit>, StoreError> {
    let candidates = source.read(shared, stretch, limit).await?;
    Ok(candidates.into_iter().map(|candidate| SearchHit { candidate, row: None }).collect())
}

/// Those that the selection admits.
fn select(
    page: impl Iterator<Item = (SearchHit, Vec<MessageFlag>)>,
    selection: &ReadableMessageSelection,
    realm: &RealmSnapshot,
) -> Vec<SearchHit> {
    let admitted = |(hit, flags): &(SearchHit, Vec<MessageFlag>)| selection.matches(&hit.candidate, flags, realm);
    page.filter(admitted).map(|(hit, _)| hit).collect()
}

/// Candidates with their texts. One that was deleted in the meantime is none any more.
async fn with_wording(shared: &Shared, page: Vec<SearchHit>) -> Result<Vec<SearchHit>, StoreError> {
    let unknown = page.iter().filter(|hit| hit.row.is_none()).map(|hit| hit.candidate.id).collect::<Vec<_>>();
    let messages =
        if unknown.is_empty() { Vec::new() } else { message_decoding::messages(&shared.db, unknown).await? };
    let texts = messages.into_iter().map(|message| (message.id, (message.content, message.html)));
    let mut texts: HashMap<MessageId, (String, String)> = texts.collect();
    let with_text = |SearchHit { candidate, row }: SearchHit| {
        let (content, html) = match &row {
            Some((_, _, _, _, _, content, html, ..)) => (content.clone(), html.clone()),
            None => texts.remove(&candidate.id)?,
        };
        let wording = Some(MessageText::new(content, html));
        Some(SearchHit { candidate: NarrowCandidate { wording, ..candidate }, row })
    };
    Ok(page.into_iter().filter_map(with_text).collect())
}

/// Returns the messages that were found, whole, in their order. One that was deleted in the meantime may be missing.
async fn whole(shared: &Shared, found: Vec<SearchHit>) -> Result<Vec<Message>, StoreError> {
    if found.iter().any(|hit| hit.row.is_none()) {
        return message_decoding::messages(&shared.db, found.iter().map(|hit| hit.candidate.id)).await;
    }
    let reacted: Vec<i64> =
        found.iter().filter(|hit| hit.candidate.has_reaction).map(|hit| hit.candidate.id.0).collect();
    let reacted = (!reacted.is_empty()).then(|| encode_numbers_parameter(reacted));
    let rows = found.into_iter().filter_map(|hit| hit.row).collect();
    message_decoding::complete(&shared.db, rows, reacted.as_deref()).await
}

pub(crate) fn facts(candidate: &NarrowCandidate<'_>) -> MessageFacts {
    let NarrowCandidate { id, recipient, sender_id, content_flags, .. } = *candidate;
    MessageFacts { id, recipient, sender_id, content_flags }
}

pub(crate) async fn find_direct(shared: &Shared, users: &[UserId]) -> Result<Option<Recipient>, StoreError> {
    let key = users_key(users);
    let found: Option<i64> =
        run!(shared.db.reader(), fetch_optional: sqlx::query_scalar(FIND_DIRECT).bind(&key)).map_err(failed)?;
    Ok(found.map(Recipient::from))
}

/// Returns where the narrow says that messages are.
pub(crate) async fn place(shared: &Shared, selection: &ReadableMessageSelection) -> Result<RecipientScope, StoreError> {
    let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
    let channel = asked().find_map(|condition| match condition {
        NarrowCondition::Channel(id) => Some(Recipient::Channel(*id)),
        _ => None,
    });
    let users = asked().find_map(|condition| match condition {
        NarrowCondition::Direct(users) => Some(users),
        _ => None,
    });
    Ok(match (channel, users) {
        (Some(channel), _) => RecipientScope::In(channel),
        (None, Some(users)) => find_direct(shared, users).await?.map_or(RecipientScope::Nowhere, RecipientScope::In),
        (None, None) => RecipientScope::Anywhere,
    })
}

/// Returns where messages are that the selection looks through.
pub(crate) async fn recipients(
    shared: &Shared,
    selection: &ReadableMessageSelection,
    place: RecipientScope,
) -> Result<Vec<Recipient>, StoreError> {
    match place {
        RecipientScope::Nowhere => return Ok(Vec::new()),
        RecipientScope::In(only) => return Ok(vec![only]),
        RecipientScope::Anywhere => {}
    }
    let realm = shared.memory.realm.current();
    let mut recipients: Vec<Recipient> = Vec::new();
    if selection.can_match_channel_messages() {
        let channels = selection.readable_channels().into_iter().filter(|id| selection.can_match_channel(&realm, *id));
        recipients.extend(channels.map(Recipient::Channel));
    }
    if selection.directs && selection.can_match_direct_messages() {
        recipients.extend(directs(shared, selection).await?.into_iter().map(Recipient::from));
    }
    Ok(recipients)
}

/// Returns the sets of users that the selection looks through.
async fn directs(shared: &Shared, selection: &ReadableMessageSelection) -> Result<Vec<i64>, StoreError> {
    let user = selection.user_id.0;
    let other = selection.terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
        NarrowCondition::DirectIncluding(other) => Some(other.0),
        _ => None,
    });
    let directs: Result<Vec<i64>, sqlx::Error> = match other {
        None => run!(shared.db.reader(), fetch_all: sqlx::query_scalar(OWN_DIRECTS).bind(user)),
        Some(other) => {
            run!(shared.db.reader(), fetch_all: sqlx::query_scalar(SHARED_DIRECTS).bind(user).bind(other))
        }
    };
    directs.map_err(failed)
}

/// The same selection, of unread messages only.
pub(crate) fn unread_of(selection: &ReadableMessageSelection) -> ReadableMessageSelection {
    let mut unread = selection.clone();
    unread.terms.push(NarrowTerm { condition: NarrowCondition::IsUnread, negated: false });
    unread
}

/// After the last message.
const AFTER_ALL: i64 = i64::MAX;

pub(crate) async fn window(
    shared: &Shared,
    selection: &ReadableMessageSelection,
    window: MessageWindow,
) -> Result<MessagePage, StoreError> {
    let anchor = match window.anchor {
        Anchor::At(id) => MessageId(id.0.clamp(0, NEWEST_ANCHOR.0)),
        Anchor::Oldest => MessageId(0),
        Anchor::Newest => NEWEST_ANCHOR,
        Anchor::FirstUnread => first_unread(shared, selection).await?,
    };
    if let Some(page) = channel_windows::window(shared, selection, (anchor, window)).await? {
        return Ok(page);
    }
    let search = MessageSearch::new(shared, selection).await?.shown();
    let want = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).min(PAGE_MAX);
    let before = MessageRange { after: 0, before: anchor.0, way: ReadDirection::Older };
    let at = MessageRange { after: anchor.0 - 1, before: anchor.0 + 1, way: ReadDirection::Newer };
    let after = MessageRange { after: anchor.0, before: AFTER_ALL, way: ReadDirection::Newer };
    let (mut found, found_oldest) = search.collect(before, want(window.before)).await?;
    found.reverse();
    let at = if window.include_anchor && anchor < NEWEST_ANCHOR { search.collect(at, 1).await?.0 } else { Vec::new() };
    let found_anchor = !at.is_empty();
    found.extend(at);
    let (newer, found_newest) =
        if anchor < NEWEST_ANCHOR { search.collect(after, want(window.after)).await? } else { (Vec::new(), true) };
    found.extend(newer);
    let mut messages = whole(shared, found).await?;
    // What was moved between the two readings is judged by where it is now.
    messages.retain(|message| selection.may_read(&NarrowCandidate::from(message)));
    let flags = search.flags_of(&messages).await?;
    let messages = messages.into_iter().zip(flags);
    let messages = messages
        .into_iter()
        .map(|(message, flags)| (Arc::new(MessageWithCachedJson::without_cache(message)), flags))
        .collect();
    Ok(MessagePage { messages, anchor, found_anchor, found_oldest, found_newest })
}

pub(crate) async fn first_unread(
    shared: &Shared,
    selection: &ReadableMessageSelection,
) -> Result<MessageId, StoreError> {
    let selection = unread_of(selection);
    let search = MessageSearch::new(shared, &selection).await?.limited();
    let all = MessageRange { after: 0, before: AFTER_ALL, way: ReadDirection::Newer };
    let (found, _) = search.collect(all, 1).await?;
    Ok(found.first().map_or(NEWEST_ANCHOR, |hit| hit.candidate.id))
}

pub(crate) async fn topics(
    shared: &Shared,
    selection: &ReadableMessageSelection,
    channel_id: ChannelId,
) -> Result<Vec<ChannelTopic>, StoreError> {
    let recipient = i64::from(Recipient::Channel(channel_id));
    let reader = || shared.db.reader();
    let mut newest: Vec<i64> = Vec::new();
    match selection.readable_range(channel_id).map(ReadableChannelRange::subscription_periods) {
        None => return Ok(Vec::new()),
        Some(None) => {
            newest = run!(reader(), fetch_all: sqlx::query_scalar(TOPICS).bind(recipient)).map_err(failed)?;
        }
        Some(Some(spans)) => {
            for span in spans {
                let until = span.until.map_or(AFTER_ALL, |until| until.0);
                // What came from another channel is not for who had left.
                let hidden = ContentFlags { moved_in: span.until.is_some(), ..ContentFlags::default() };
                let within: Vec<i64> = run!(reader(), fetch_all: sqlx::query_scalar(TOPICS_WITHIN)
                    .bind(recipient).bind(span.after.0).bind(until).bind(hidden.to_bits()))
                .map_err(failed)?;
                newest.extend(within);
            }
        }
    }
    let sql = TOPIC_NAMES.text_for_dialect(shared.db.dialect());
    let ids = encode_numbers_parameter(newest);
    let rows: Vec<(i64, String, String)> =
        run!(reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    let mut seen = HashSet::new();
    let first = rows.into_iter().filter(|(_, _, key)| seen.insert(key.clone()));
    Ok(first.map(|(id, name, _)| ChannelTopic { name, max_id: MessageId(id) }).collect())
}

pub(crate) async fn first_messages(
    shared: &Shared,
    channels: &[ChannelId],
) -> Result<Vec<(ChannelId, MessageId)>, StoreError> {
    let sql = FIRST_MESSAGES.text_for_dialect(shared.db.dialect());
    let wanted = encode_numbers_parameter(channels.iter().map(|id| id.0));
    let rows: Vec<(i64, i64)> =
        run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&wanted)).map_err(failed)?;
    Ok(rows.into_iter().map(|(channel, id)| (ChannelId(channel), MessageId(id))).collect())
}

/// Returns those of the channels without a message since that time.
pub(crate) async fn channels_without_messages_since(
    shared: &Shared,
    channels: &[ChannelId],
    since_s: i64,
) -> Result<Vec<ChannelId>, StoreError> {
    let sql = INACTIVE_CHANNELS.text_for_dialect(shared.db.dialect());
    let wanted = encode_numbers_parameter(channels.iter().map(|id| id.0));
    let ids: Vec<i64> =
        run!(shared.db.reader(), fetch_all: sqlx::query_scalar(sql.clone()).bind(&wanted).bind(since_s))
            .map_err(failed)?;
    Ok(ids.into_iter().map(ChannelId).collect())
}

pub(crate) async fn traffic(shared: &Shared, since_s: i64) -> Result<Vec<(ChannelId, i64)>, StoreError> {
    let sql = TRAFFIC.text_for_dialect(shared.db.dialect());
    let rows: Vec<(i64, i64)> =
        run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(since_s)).map_err(failed)?;
    let to_channel = |(recipient, count): (i64, i64)| match Recipient::from(recipient) {
        Recipient::Channel(channel) => Some((channel, count)),
        Recipient::Direct(_) => None,
    };
    Ok(rows.into_iter().filter_map(to_channel).collect())
}
