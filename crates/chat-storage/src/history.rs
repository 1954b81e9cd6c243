//! Finding messages: windows around an anchor, topics, what is unread.
//!
//! An index finds candidates in order, the rules of [`chat_core::narrow`] decide each. A narrow that names where,
//! who or a flag reads that index; one that does not takes so many of each of the reader's recipients, so no answer
//! costs more because others write elsewhere.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use chat_core::event::NewEvent;
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::message::{Conversation, Flag, Marks, Message, Reaction, Recipient};
use chat_core::narrow::{Anchor, Candidate, Condition, NEWEST, Selection, Term, Window};
use chat_core::ports::{
    Edit, FlagOp, MessageStore, NewMessage, Page, PastEdit, Sent, StoreError, Topic, Unread, Written,
};
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use crate::append::append;
use crate::begun::begins;
use crate::copies::{self, Facts, Own};
use crate::dialect::{Dialect, Sql};
use crate::edit;
use crate::engine::run;
use crate::fault::failed;
use crate::recall;
use crate::row::{self, CandidateRow, candidate, users_key};
use crate::store::{Shared, Store};

/// Fewest candidates read at once.
const PAGE_MIN: usize = 50;
/// Most candidates read at once.
pub(crate) const PAGE_MAX: usize = 5_001;

/// Fewest recipients for which messages are looked for among all messages first.
const FEED_MIN: usize = 4;
/// How many times the messages wanted are looked at then.
const FEED_FACTOR: i64 = 4;

const CANDIDATE: &str = "SELECT m.id, m.recipient_id, d.users, m.topic, m.sender_id, m.marks,
    EXISTS (SELECT 1 FROM reaction AS r WHERE r.message_id = m.id)
FROM ";
const JOIN_DIRECT: &str = " LEFT JOIN direct AS d ON d.recipient_id = m.recipient_id";

const FIND_DIRECT: &str = "SELECT recipient_id FROM direct WHERE users = $1";
const OWN_DIRECTS: &str = "SELECT recipient_id FROM direct_user WHERE user_id = $1";
const CONVERSATION: &str = "SELECT id, sent_s FROM message WHERE recipient_id = $1 AND topic_key = $2 AND id >= $3
ORDER BY id";
const PARTICIPANTS: &str = "SELECT sender_id AS user_id FROM message WHERE recipient_id = $1 AND topic_key = $2
UNION
SELECT r.user_id FROM message AS m JOIN reaction AS r ON r.message_id = m.id
WHERE m.recipient_id = $1 AND m.topic_key = $2
ORDER BY user_id";
/// One step into the index for each channel, so it costs as much as there are channels, not messages.
static FIRST_MESSAGES: Sql = Sql::new(
    "SELECT first.channel_id, first.id FROM (
    SELECT c.id AS channel_id, (SELECT min(m.id) FROM message AS m WHERE m.recipient_id = c.id * 2) AS id
    FROM channel AS c WHERE c.id {in_numbers:$1}
) AS first WHERE first.id IS NOT NULL",
);
/// Times follow numbers, so the way back to the last message before the time is as long as what is counted.
const TRAFFIC: &str = "SELECT recipient_id, count(*) FROM message
WHERE id > coalesce((SELECT id FROM message WHERE sent_s < $1 ORDER BY id DESC LIMIT 1), 0)
GROUP BY recipient_id";
const RECENT_DIRECTS: &str = "SELECT newest.users, newest.id FROM (
    SELECT d.users, (SELECT max(m.id) FROM message AS m WHERE m.recipient_id = d.recipient_id) AS id
    FROM direct_user AS own JOIN direct AS d ON d.recipient_id = own.recipient_id WHERE own.user_id = $1
) AS newest WHERE newest.id IS NOT NULL ORDER BY newest.id DESC LIMIT $2";
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

/// Which index finds the candidates of a narrow.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// Nothing can be found.
    Nothing,
    /// One message.
    Id(i64),
    /// A topic: recipient and key.
    Topic(i64, String),
    /// What a user wrote.
    Sender(i64),
    /// What the reader gave a flag: user and flag.
    Flagged(i64, i64),
    /// Recipients, each with a message up to which nothing is wanted, as JSON.
    Recipients(String),
    /// The same, where many messages are to many of them: looked for among all messages first.
    Feed(String),
}

/// Which way candidates are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Older,
    Newer,
}

impl Way {
    fn sql(self) -> &'static str {
        match self {
            Self::Older => "DESC",
            Self::Newer => "ASC",
        }
    }
}

/// Candidates between two messages, both left out, so many at most.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    after: i64,
    before: i64,
    way: Way,
}

impl Source {
    /// The statement; its parameters are the source's text or numbers, then the stretch and the limit.
    fn sql(&self, way: Way, dialect: Dialect) -> SqlStr {
        let order = way.sql();
        let within = "m.id > $2 AND m.id < $3";
        let sql = match self {
            Self::Nothing | Self::Id(_) => {
                format!("{CANDIDATE} message AS m {JOIN_DIRECT} WHERE m.id = $1 AND {within}")
            }
            Self::Topic(..) => format!(
                "{CANDIDATE} message AS m {JOIN_DIRECT} WHERE m.recipient_id = $1 AND m.topic_key = $5 AND {within}"
            ),
            Self::Sender(_) => format!("{CANDIDATE} message AS m {JOIN_DIRECT} WHERE m.sender_id = $1 AND {within}"),
            Self::Flagged(..) => format!(
                "{CANDIDATE} message_flag AS f JOIN message AS m ON m.id = f.message_id {JOIN_DIRECT}
WHERE f.user_id = $1 AND f.flag = CAST($5 AS BIGINT) AND f.message_id > $2 AND f.message_id < $3"
            ),
            Self::Recipients(_) => format!("{CANDIDATE} {{of_each:{order}}} {JOIN_DIRECT}"),
            Self::Feed(_) => format!(
                "{CANDIDATE} (SELECT * FROM message WHERE id > $2 AND id < $3 ORDER BY id {order} LIMIT $5) AS m
{JOIN_DIRECT} WHERE m.recipient_id {{in_recipients:$1}}"
            ),
        };
        let by = if matches!(self, Self::Flagged(..)) { "f.message_id" } else { "m.id" };
        let sql = dialect.render(&format!("{sql} ORDER BY {by} {order} LIMIT $4"));
        // Made of this module's own texts alone.
        AssertSqlSafe(sql).into_sql_str()
    }

    async fn read(&self, shared: &Shared, stretch: Stretch, limit: i64) -> Result<Vec<Candidate<'static>>, StoreError> {
        let sql = self.sql(stretch.way, shared.db.dialect());
        let (after, before) = (stretch.after, stretch.before);
        let reader = shared.db.reader();
        let rows: Result<Vec<CandidateRow>, sqlx::Error> = match self {
            Self::Nothing => return Ok(Vec::new()),
            Self::Id(id) | Self::Sender(id) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*id).bind(after).bind(before).bind(limit)),
            Self::Feed(pairs) => {
                let looked_at = limit.saturating_mul(FEED_FACTOR);
                let rows: Vec<CandidateRow> = run!(reader, fetch_all: sqlx::query_as(sql.clone())
                    .bind(pairs).bind(after).bind(before).bind(limit).bind(looked_at))
                .map_err(failed)?;
                if usize::try_from(limit).is_ok_and(|limit| rows.len() == limit) {
                    return Ok(rows.into_iter().map(candidate).collect());
                }
                // Not enough among those: each recipient is asked by itself.
                return Box::pin(Self::Recipients(pairs.clone()).read(shared, stretch, limit)).await;
            }
            Self::Recipients(pairs) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(pairs).bind(after).bind(before).bind(limit)),
            Self::Topic(recipient, key) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*recipient).bind(after).bind(before).bind(limit).bind(key)),
            Self::Flagged(user, flag) => run!(reader, fetch_all: sqlx::query_as(sql.clone())
                .bind(*user).bind(after).bind(before).bind(limit).bind(*flag)),
        };
        Ok(rows.map_err(failed)?.into_iter().map(candidate).collect())
    }
}

/// A selection with what the store needs to find it.
struct Search<'a> {
    shared: &'a Shared,
    selection: &'a Selection,
    source: Source,
    own: Own,
}

impl<'a> Search<'a> {
    async fn new(shared: &'a Shared, selection: &'a Selection) -> Result<Self, StoreError> {
        let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let only_channel = asked().find_map(|condition| match condition {
            Condition::Channel(id) => Some(Recipient::Channel(*id)),
            _ => None,
        });
        let only_users = asked().find_map(|condition| match condition {
            Condition::Direct(users) => Some(users),
            _ => None,
        });
        let recipients = match (only_channel, only_users) {
            (Some(channel), _) => vec![channel],
            (None, Some(users)) => find_direct(shared, users).await?.into_iter().collect(),
            (None, None) => all_recipients(shared, selection).await?,
        };
        let own = Own::load(shared, selection.user_id, recipients.iter().copied()).await?;
        let source = narrowest(selection, &recipients, &own);
        Ok(Self { shared, selection, source, own })
    }

    /// The admitted messages of a stretch in its order, at most so many, and whether there are none beyond them.
    async fn collect(&self, mut stretch: Stretch, want: usize) -> Result<(Vec<Candidate<'static>>, bool), StoreError> {
        let mut found = Vec::new();
        let limit = (want + 1).clamp(PAGE_MIN, PAGE_MAX);
        loop {
            let page = self.source.read(self.shared, stretch, i64::try_from(limit).unwrap_or(i64::MAX)).await?;
            let exhausted = page.len() < limit;
            if let Some(last) = page.last() {
                match stretch.way {
                    Way::Older => stretch.before = last.id.0,
                    Way::Newer => stretch.after = last.id.0,
                }
            }
            for candidate in self.admitted(page).await? {
                if found.len() == want {
                    return Ok((found, false));
                }
                found.push(candidate);
            }
            if exhausted {
                return Ok((found, true));
            }
        }
    }

    async fn admitted(&self, page: Vec<Candidate<'static>>) -> Result<Vec<Candidate<'static>>, StoreError> {
        let flags = if self.selection.asks_flags() {
            self.own.flags(self.shared, &page.iter().map(facts).collect::<Vec<_>>()).await?
        } else {
            vec![Vec::new(); page.len()]
        };
        let realm = self.shared.realm.load();
        let admitted =
            |(candidate, flags): &(Candidate<'_>, Vec<Flag>)| self.selection.admits(candidate, flags, &realm);
        Ok(page.into_iter().zip(flags).filter(admitted).map(|(candidate, _)| candidate).collect())
    }
}

fn facts(candidate: &Candidate<'_>) -> Facts {
    Facts { id: candidate.id, recipient: candidate.recipient, sender_id: candidate.sender_id, marks: candidate.marks }
}

pub(crate) fn facts_of(message: &Message) -> Facts {
    Facts { id: message.id, recipient: message.recipient, sender_id: message.sender_id, marks: message.marks }
}

async fn find_direct(shared: &Shared, users: &[UserId]) -> Result<Option<Recipient>, StoreError> {
    let key = users_key(users);
    let found: Option<i64> =
        run!(shared.db.reader(), fetch_optional: sqlx::query_scalar(FIND_DIRECT).bind(&key)).map_err(failed)?;
    Ok(found.map(Recipient::from))
}

async fn all_recipients(shared: &Shared, selection: &Selection) -> Result<Vec<Recipient>, StoreError> {
    let mut recipients: Vec<Recipient> = selection.channels.keys().copied().map(Recipient::Channel).collect();
    if selection.directs {
        let directs: Vec<i64> =
            run!(shared.db.reader(), fetch_all: sqlx::query_scalar(OWN_DIRECTS).bind(selection.user_id.0))
                .map_err(failed)?;
        recipients.extend(directs.into_iter().map(Recipient::from));
    }
    Ok(recipients)
}

/// The index with the fewest candidates, as far as the narrow tells.
fn narrowest(selection: &Selection, recipients: &[Recipient], own: &Own) -> Source {
    let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
    if let Some(id) = asked().find_map(|condition| match condition {
        Condition::Id(id) => Some(id.0),
        _ => None,
    }) {
        return Source::Id(id);
    }
    if recipients.is_empty() {
        return Source::Nothing;
    }
    let unread = asked().any(|condition| *condition == Condition::IsUnread);
    if let Some(Conversation { recipient, topic_key }) = selection.conversation().filter(|_| !unread) {
        return Source::Topic(recipient.into(), topic_key);
    }
    let flag = asked().find_map(|condition| match condition {
        Condition::IsFlag(flag) if *flag != Flag::Read => Some(*flag),
        _ => None,
    });
    if let Some(flag) = flag {
        return Source::Flagged(selection.user_id.0, flag.number());
    }
    let sender = asked().find_map(|condition| match condition {
        Condition::Sender(user) => Some(user.0),
        _ => None,
    });
    match sender {
        Some(user) if recipients.len() > 1 && !unread => Source::Sender(user),
        _ => {
            let pairs = recipients.iter().map(|recipient| pair(selection, *recipient, unread.then_some(own)));
            let pairs = format!("[{}]", pairs.collect::<Vec<_>>().join(","));
            // What is unread lies beyond the marks, and only a search by recipient begins there.
            if recipients.len() < FEED_MIN || unread { Source::Recipients(pairs) } else { Source::Feed(pairs) }
        }
    }
}

/// A recipient with a message up to which nothing of it is wanted.
fn pair(selection: &Selection, recipient: Recipient, unread: Option<&Own>) -> String {
    let permitted = match recipient {
        Recipient::Channel(id) => match selection.channels.get(&id) {
            Some(Some(spans)) => spans.first().map_or(0, |span| span.after.0),
            _ => 0,
        },
        Recipient::Direct(_) => 0,
    };
    let after = unread.map_or(permitted, |own| own.none_unread_until(recipient).max(permitted));
    format!("[{},{after}]", i64::from(recipient))
}

/// The same selection, of unread messages only.
fn unread_of(selection: &Selection) -> Selection {
    let mut unread = selection.clone();
    unread.terms.push(Term { condition: Condition::IsUnread, negated: false });
    unread
}

/// After the last message.
const AFTER_ALL: i64 = i64::MAX;

async fn window(shared: &Shared, selection: &Selection, window: Window) -> Result<Page, StoreError> {
    let anchor = match window.anchor {
        Anchor::At(id) => MessageId(id.0.clamp(0, NEWEST.0)),
        Anchor::Oldest => MessageId(0),
        Anchor::Newest => NEWEST,
        Anchor::FirstUnread => first_unread(shared, selection).await?,
    };
    if let Some(page) = recall::window(shared, selection, (anchor, window)).await? {
        return Ok(page);
    }
    let search = Search::new(shared, selection).await?;
    let want = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).min(PAGE_MAX);
    let before = Stretch { after: 0, before: anchor.0, way: Way::Older };
    let at = Stretch { after: anchor.0 - 1, before: anchor.0 + 1, way: Way::Newer };
    let after = Stretch { after: anchor.0, before: AFTER_ALL, way: Way::Newer };
    let (mut ids, found_oldest) = search.collect(before, want(window.before)).await?;
    ids.reverse();
    let at = if window.include_anchor && anchor < NEWEST { search.collect(at, 1).await?.0 } else { Vec::new() };
    let found_anchor = !at.is_empty();
    ids.extend(at);
    let (newer, found_newest) =
        if anchor < NEWEST { search.collect(after, want(window.after)).await? } else { (Vec::new(), true) };
    ids.extend(newer);
    let mut messages = row::messages(&shared.db, ids.iter().map(|candidate| candidate.id)).await?;
    // What was moved between the two readings is judged by where it is now.
    messages.retain(|message| selection.permits(&Candidate::from(message)));
    let messages = with_flags(shared, &search.own, messages).await?;
    let messages = messages.into_iter().map(|(message, flags)| (Arc::new(message.into()), flags)).collect();
    Ok(Page { messages, anchor, found_anchor, found_oldest, found_newest })
}

async fn with_flags(
    shared: &Shared,
    own: &Own,
    messages: Vec<Message>,
) -> Result<Vec<(Message, Vec<Flag>)>, StoreError> {
    let flags = own.flags(shared, &messages.iter().map(facts_of).collect::<Vec<_>>()).await?;
    Ok(messages.into_iter().zip(flags).collect())
}

async fn first_unread(shared: &Shared, selection: &Selection) -> Result<MessageId, StoreError> {
    let selection = unread_of(selection);
    let search = Search::new(shared, &selection).await?;
    let all = Stretch { after: 0, before: AFTER_ALL, way: Way::Newer };
    let (found, _) = search.collect(all, 1).await?;
    Ok(found.first().map_or(NEWEST, |candidate| candidate.id))
}

async fn topics(shared: &Shared, selection: &Selection, channel_id: ChannelId) -> Result<Vec<Topic>, StoreError> {
    let recipient = i64::from(Recipient::Channel(channel_id));
    let reader = || shared.db.reader();
    let mut newest: Vec<i64> = Vec::new();
    match selection.channels.get(&channel_id) {
        None => return Ok(Vec::new()),
        Some(None) => {
            newest = run!(reader(), fetch_all: sqlx::query_scalar(TOPICS).bind(recipient)).map_err(failed)?;
        }
        Some(Some(spans)) => {
            for span in spans {
                let until = span.until.map_or(AFTER_ALL, |until| until.0);
                // What came from another channel is not for who had left.
                let hidden = Marks { moved_in: span.until.is_some(), ..Marks::default() };
                let within: Vec<i64> = run!(reader(), fetch_all: sqlx::query_scalar(TOPICS_WITHIN)
                    .bind(recipient).bind(span.after.0).bind(until).bind(hidden.bits()))
                .map_err(failed)?;
                newest.extend(within);
            }
        }
    }
    let sql = TOPIC_NAMES.on(shared.db.dialect());
    let ids = crate::dialect::numbers(newest);
    let rows: Vec<(i64, String, String)> =
        run!(reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&ids)).map_err(failed)?;
    let mut seen = HashSet::new();
    let first = rows.into_iter().filter(|(_, _, key)| seen.insert(key.clone()));
    Ok(first.map(|(id, name, _)| Topic { name, max_id: MessageId(id) }).collect())
}

async fn first_messages(shared: &Shared, channels: &[ChannelId]) -> Result<Vec<(ChannelId, MessageId)>, StoreError> {
    let sql = FIRST_MESSAGES.on(shared.db.dialect());
    let wanted = crate::dialect::numbers(channels.iter().map(|id| id.0));
    let rows: Vec<(i64, i64)> =
        run!(shared.db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&wanted)).map_err(failed)?;
    Ok(rows.into_iter().map(|(channel, id)| (ChannelId(channel), MessageId(id))).collect())
}

async fn traffic(shared: &Shared, since_s: i64) -> Result<Vec<(ChannelId, i64)>, StoreError> {
    let rows: Vec<(i64, i64)> =
        run!(shared.db.reader(), fetch_all: sqlx::query_as(TRAFFIC).bind(since_s)).map_err(failed)?;
    let to_channel = |(recipient, count): (i64, i64)| match Recipient::from(recipient) {
        Recipient::Channel(channel) => Some((channel, count)),
        Recipient::Direct(_) => None,
    };
    Ok(rows.into_iter().filter_map(to_channel).collect())
}

async fn unread(shared: &Shared, selection: &Selection, limit: usize) -> Result<Vec<Unread>, StoreError> {
    let selection = unread_of(selection);
    let search = Search::new(shared, &selection).await?;
    let all = Stretch { after: 0, before: AFTER_ALL, way: Way::Older };
    let (mut found, _) = search.collect(all, limit).await?;
    found.reverse();
    let flags = search.own.flags(shared, &found.iter().map(facts).collect::<Vec<_>>()).await?;
    let unread = |(candidate, flags): (Candidate<'_>, Vec<Flag>)| Unread {
        id: candidate.id,
        recipient: candidate.recipient,
        direct_users: candidate.direct_users.into_owned(),
        topic: candidate.topic.into_owned(),
        sender_id: candidate.sender_id,
        mentioned: flags.iter().any(|flag| flag.is_mention()),
    };
    Ok(found.into_iter().zip(flags).map(unread).collect())
}

#[async_trait]
impl MessageStore for Store {
    async fn append(&self, message: NewMessage) -> Result<Sent, StoreError> {
        append(&self.shared, message).await
    }

    async fn find(&self, user_id: UserId, ids: &[MessageId]) -> Result<Vec<(Message, Vec<Flag>)>, StoreError> {
        let messages = row::messages(&self.shared.db, ids.iter().copied()).await?;
        let own = Own::load(&self.shared, user_id, messages.iter().map(|message| message.recipient)).await?;
        with_flags(&self.shared, &own, messages).await
    }

    async fn window(&self, selection: &Selection, asked: Window) -> Result<Page, StoreError> {
        window(&self.shared, selection, asked).await
    }

    async fn conversation(
        &self,
        conversation: &Conversation,
        from: MessageId,
    ) -> Result<Vec<(MessageId, i64)>, StoreError> {
        let recipient = i64::from(conversation.recipient);
        let rows: Vec<(i64, i64)> = run!(self.shared.db.reader(), fetch_all: sqlx::query_as(CONVERSATION)
            .bind(recipient).bind(&conversation.topic_key).bind(from.0))
        .map_err(failed)?;
        Ok(rows.into_iter().map(|(id, sent_s)| (MessageId(id), sent_s)).collect())
    }

    async fn participants(&self, conversation: &Conversation) -> Result<Vec<UserId>, StoreError> {
        let recipient = i64::from(conversation.recipient);
        let users: Vec<i64> = run!(self.shared.db.reader(), fetch_all: sqlx::query_scalar(PARTICIPANTS)
            .bind(recipient).bind(&conversation.topic_key))
        .map_err(failed)?;
        Ok(users.into_iter().map(UserId).collect())
    }

    async fn begins(&self, conversation: &Conversation, id: MessageId) -> Result<bool, StoreError> {
        begins(&self.shared, conversation, id).await
    }

    async fn have_written(&self, users: &[UserId]) -> Result<bool, StoreError> {
        Ok(find_direct(&self.shared, users).await?.is_some())
    }

    async fn topics(&self, selection: &Selection, channel_id: ChannelId) -> Result<Vec<Topic>, StoreError> {
        topics(&self.shared, selection, channel_id).await
    }

    async fn unread(&self, selection: &Selection, limit: usize) -> Result<Vec<Unread>, StoreError> {
        unread(&self.shared, selection, limit).await
    }

    async fn first_messages(&self, channels: &[ChannelId]) -> Result<Vec<(ChannelId, MessageId)>, StoreError> {
        first_messages(&self.shared, channels).await
    }

    async fn traffic(&self, since_s: i64) -> Result<Vec<(ChannelId, i64)>, StoreError> {
        traffic(&self.shared, since_s).await
    }

    async fn recent_directs(&self, user_id: UserId, limit: usize) -> Result<Vec<(Vec<UserId>, MessageId)>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<(String, i64)> = run!(self.shared.db.reader(), fetch_all: sqlx::query_as(RECENT_DIRECTS)
            .bind(user_id.0).bind(limit))
        .map_err(failed)?;
        Ok(rows.into_iter().map(|(users, id)| (row::users_of(&users), MessageId(id))).collect())
    }

    async fn readers(&self, message: &Message) -> Result<Vec<UserId>, StoreError> {
        copies::readers(&self.shared, message).await
    }

    async fn flagged(&self, user_id: UserId, flag: Flag) -> Result<Vec<MessageId>, StoreError> {
        copies::flagged(&self.shared, user_id, flag).await
    }

    async fn set_flag(
        &self,
        user_id: UserId,
        flag: (Flag, FlagOp),
        messages: &[MessageId],
        (at_s, event): (i64, NewEvent),
    ) -> Result<EventId, StoreError> {
        copies::set_flag(&self.shared, user_id, flag, (messages, at_s, event)).await
    }

    async fn edit(&self, edit: Edit) -> Result<Written, StoreError> {
        edit::edit(&self.shared, edit).await
    }

    async fn edits_of(&self, ids: &[MessageId]) -> Result<Vec<(MessageId, PastEdit)>, StoreError> {
        edit::edits_of(&self.shared, ids).await
    }

    async fn edits(&self, id: MessageId) -> Result<Vec<PastEdit>, StoreError> {
        edit::edits(&self.shared, id).await
    }

    async fn delete(
        &self,
        messages: &[(MessageId, EventId)],
        event: (i64, Vec<NewEvent>),
    ) -> Result<Written, StoreError> {
        edit::delete(&self.shared, messages, event).await
    }

    async fn react(&self, id: MessageId, reaction: Reaction, event: (i64, NewEvent)) -> Result<Written, StoreError> {
        edit::react(&self.shared, id, &reaction, event).await
    }

    async fn unreact(&self, id: MessageId, reaction: &Reaction, event: (i64, NewEvent)) -> Result<Written, StoreError> {
        edit::unreact(&self.shared, id, reaction, event).await
    }
}
