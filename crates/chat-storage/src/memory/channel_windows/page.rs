//! Windows of one channel's newest messages, found in memory.

use std::sync::Arc;

use chat_core::StoreError;
use chat_core::id::{ChannelId, MessageId};
use chat_core::messages::narrow::{MessageWindow, NarrowCandidate, NarrowCondition, ReadableMessageSelection};
use chat_core::messages::store::MessagePage;
use chat_core::model::message::{MessageFlag, Recipient};
use chat_core::wire_format::MessageWithCachedJson;

use crate::engine::run;
use crate::fault::failed;
use crate::flags::{self, MessageFacts, UserFlags};
use crate::memory::channel_windows::{ChannelWindow, READ_AT_ONCE, ReaderState};
use crate::message_search::PAGE_MAX;
use crate::store::Shared;
use crate::{message_decoding, read_set};

const NEWEST_OF: &str = "SELECT id FROM message WHERE recipient_id = $1 ORDER BY id DESC LIMIT $2";

/// Returns the messages around an anchor, or `None` when the memory does not reach that far.
///
/// The rules that admit a message are those of the search in the database, applied to every message that is kept.
pub(crate) async fn window(
    shared: &Shared,
    selection: &ReadableMessageSelection,
    (anchor, window): (MessageId, MessageWindow),
) -> Result<Option<MessagePage>, StoreError> {
    let Some(id) = only_channel(selection).filter(|id| selection.readable_range(*id).is_some()) else {
        return Ok(None);
    };
    // The index of words looks at fewer messages than there are here.
    if selection.search_words().is_some() {
        return Ok(None);
    }
    // Who was answered by another node asks this one next.
    shared.hear_all().await?;
    let Some(kept) = load_window(shared, id).await? else { return Ok(None) };
    let Some(copies) = load_reader_state(shared, selection, (id, &kept)).await? else { return Ok(None) };
    let own = UserFlags::of(shared, selection.user_id, (Recipient::Channel(id), copies.read.clone()));
    Ok(WindowReader { selection, own, copies: &copies }.page(&kept, (anchor, window)))
}

fn only_channel(selection: &ReadableMessageSelection) -> Option<ChannelId> {
    selection.terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
        NarrowCondition::Channel(id) => Some(id),
        _ => None,
    })
}

/// Returns the end of the channel, read first when it is not in memory.
async fn load_window(shared: &Shared, id: ChannelId) -> Result<Option<ChannelWindow>, StoreError> {
    if let Some(kept) = shared.memory.channel_windows.messages(id) {
        return Ok(Some(kept));
    }
    let generation = shared.memory.channel_windows.begin(id);
    let recipient = i64::from(Recipient::Channel(id));
    let most = i64::try_from(READ_AT_ONCE).unwrap_or(i64::MAX);
    let ids: Vec<i64> = run!(shared.db.reader(), fetch_all: sqlx::query_scalar(NEWEST_OF).bind(recipient).bind(most))
        .map_err(failed)?;
    // Before the oldest that was read there may be others, if as many as asked for were found.
    let after = ids.last().filter(|_| ids.len() == READ_AT_ONCE).map_or(0, |oldest| oldest - 1);
    let messages = message_decoding::messages(&shared.db, ids.into_iter().map(MessageId)).await?;
    shared.memory.channel_windows.fill(id, generation, (after, messages));
    Ok(shared.memory.channel_windows.messages(id))
}

/// Returns what the reader has of the channel's messages, read first when it is not in memory.
async fn load_reader_state(
    shared: &Shared,
    selection: &ReadableMessageSelection,
    (id, kept): (ChannelId, &ChannelWindow),
) -> Result<Option<Arc<ReaderState>>, StoreError> {
    let user_id = selection.user_id;
    let generation = match shared.memory.channel_windows.copies(id, user_id, kept) {
        None => return Ok(None),
        Some(Ok(copies)) => return Ok(Some(copies)),
        Some(Err(generation)) => generation,
    };
    let recipient = Recipient::Channel(id);
    let read = read_set::load(&shared.db, user_id, [recipient]).await?.remove(&recipient).unwrap_or_default();
    // What arrives from here on brings its flags or ends the generation.
    let Some(ChannelWindow { after, messages, .. }) = shared.memory.channel_windows.messages(id) else {
        return Ok(None);
    };
    let rare = flags::rare(shared, user_id, messages.iter().map(|message| message.id)).await?;
    let copies = Arc::new(ReaderState { after, read, rare });
    shared.memory.channel_windows.fill_copies(id, user_id, generation, &copies);
    Ok(Some(copies))
}

/// Who reads, and what.
struct WindowReader<'a> {
    selection: &'a ReadableMessageSelection,
    own: UserFlags,
    copies: &'a ReaderState,
}

type FlaggedMessage = (Arc<MessageWithCachedJson>, Vec<MessageFlag>);

impl WindowReader<'_> {
    fn page(&self, kept: &ChannelWindow, (anchor, window): (MessageId, MessageWindow)) -> Option<MessagePage> {
        let want = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).min(PAGE_MAX);
        // Messages were dropped at the old end since the one or since the other.
        let after = kept.after.max(self.copies.after);
        if anchor.0 <= after {
            return None;
        }
        let known = &kept.messages;
        let from = known.partition_point(|message| message.id.0 <= after);
        let at = known.partition_point(|message| message.id < anchor);
        let (mut messages, found_oldest) = self.collect(known.range(from..at).rev(), want(window.before));
        if found_oldest && after > 0 {
            return None;
        }
        messages.reverse();
        let newer = at + usize::from(known.get(at).is_some_and(|message| message.id == anchor));
        let at = if window.include_anchor { self.collect(known.range(at..newer), 1).0 } else { Vec::new() };
        let found_anchor = !at.is_empty();
        messages.extend(at);
        let (newer, found_newest) = self.collect(known.range(newer..), want(window.after));
        messages.extend(newer);
        Some(MessagePage { messages, anchor, found_anchor, found_oldest, found_newest })
    }

    /// Returns the admitted messages, at most so many, and whether there are none beyond them.
    fn collect<'m>(
        &self,
        messages: impl Iterator<Item = &'m Arc<MessageWithCachedJson>>,
        want: usize,
    ) -> (Vec<FlaggedMessage>, bool) {
        let mut found = Vec::new();
        for admitted in messages.filter_map(|message| self.admitted(message)) {
            if found.len() == want {
                return (found, false);
            }
            found.push(admitted);
        }
        (found, true)
    }

    fn admitted(&self, message: &Arc<MessageWithCachedJson>) -> Option<FlaggedMessage> {
        let rare = self.copies.rare.get(&message.id.0).cloned().unwrap_or_default();
        let flags = self.own.flags_of(&MessageFacts::from(&***message), rare);
        let admits = self.selection.matches(&NarrowCandidate::from(&***message), &flags, self.own.realm());
        admits.then(|| (Arc::clone(message), flags))
    }
}
