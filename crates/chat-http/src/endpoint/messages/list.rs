//! Reading a stretch of messages.
//!
//! The answer is written straight into bytes: it holds up to thousands of messages.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use chat_core::id::MessageId;
use chat_core::limits::MAX_MESSAGES_PER_RESPONSE;
use chat_core::messages::narrow::{MessageWindowError, NarrowCandidate, ReadableMessageSelection};
use chat_core::messages::store::MessagePage;
use chat_core::model::message::{EditHistoryEntry, Message, MessageFlag};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::permission::access;
use chat_core::text_processing::search_words::HighlightedMessage;
use chat_core::wire_format::message::{MessageWriter, ReaderMessageFields};
use chat_core::wire_format::{MessageFormat, MessageWithCachedJson};

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::narrow_selection::{self, AnchorParams, OptionalAnchorParams};
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, RawNarrow};
use crate::state::AppState;

/// Bytes of a message, about, beside its text.
const MESSAGE_BYTES: usize = 1_024;

/// The parameters of `GET /messages`.
pub(crate) struct ListMessagesParams {
    wanted: WantedMessages,
    narrow: Option<RawNarrow>,
    first_unread: bool,
    format: MessageFormat,
}

/// The messages that are asked for, before a narrow selects among them.
enum WantedMessages {
    /// Those around an anchor.
    Around(AnchorParams),
    /// Those of these numbers.
    Ids(Vec<i64>),
}

/// What asks for messages in one way or in the other.
const EXCLUSIVE: [&str; 6] =
    ["num_before", "num_after", "anchor", "message_ids", "include_anchor", "use_first_unread_anchor"];

impl EndpointParams for ListMessagesParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let anchor = OptionalAnchorParams::from_reader(reader)?;
        let narrow = reader.optional::<JsonParam<Option<RawNarrow>>>("narrow")?.flatten();
        let first_unread = reader.optional_or::<JsonParam<bool>>("use_first_unread_anchor", false)?;
        let wanted = match reader.optional::<JsonParam<Vec<i64>>>("message_ids")? {
            None => WantedMessages::Around(anchor.required()?),
            Some(ids) if anchor.are_absent() && !first_unread => WantedMessages::Ids(ids),
            Some(_) => return Err(ParamError::Incompatible { names: EXCLUSIVE.to_vec() }),
        };
        Ok(Self {
            wanted,
            narrow,
            first_unread,
            format: MessageFormat {
                client_gravatar: reader.optional_or::<JsonParam<bool>>("client_gravatar", true)?,
                html: reader.optional_or::<JsonParam<bool>>("apply_markdown", true)?,
            },
        })
    }
}

/// Messages around an anchor, as far as a narrow selects them and the caller may have them.
pub(crate) async fn get(
    call: ApiCall<AuthenticatedCaller>,
    params: ListMessagesParams,
) -> Result<ApiResponsePayload, ApiError> {
    let anchor = match &params.wanted {
        WantedMessages::Around(anchor) => anchor,
        WantedMessages::Ids(ids) => return by_ids(&call, ids, &params).await,
    };
    let window = anchor.window(anchor.counts(), params.first_unread)?;
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let selection = narrow_selection::select(&call.app, realm, user, params.narrow.as_ref()).await?;
    let page = call.app.messages.load_message_window(&selection, window).await?;
    let mut body = ApiResponsePayload::open_body(page.messages.iter().map(|(message, _)| weight_bytes(message)).sum());
    // Writing to memory does not fail.
    let _ = write!(
        body,
        "{{\"anchor\":{},\"found_anchor\":{},\"found_oldest\":{},\"found_newest\":{},\"history_limited\":false,\
         \"messages\":",
        page.anchor, page.found_anchor, page.found_oldest, page.found_newest
    );
    let MessagePage { messages, .. } = page;
    let marked = marked(&call.app, &selection, &messages).await?;
    let rendering = MessageRendering { format: params.format, marked };
    write_all(&call.app, &call.app.realm(), (&messages, &rendering), &mut body).await?;
    body.push(b'}');
    Ok(ApiResponsePayload::close_body(body))
}

/// Returns the messages of these numbers that exist, that the caller may read, and that the narrow selects.
///
/// # Source
/// Not specified; feature level 300 of the API, as existing clients know it.
async fn by_ids(
    call: &ApiCall<AuthenticatedCaller>,
    ids: &[i64],
    params: &ListMessagesParams,
) -> Result<ApiResponsePayload, ApiError> {
    if ids.len() as u64 > MAX_MESSAGES_PER_RESPONSE {
        return Err(MessageWindowError::TooMany.into());
    }
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let selection = narrow_selection::select(&call.app, realm, user, params.narrow.as_ref()).await?;
    let ids: Vec<MessageId> = ids.iter().copied().map(MessageId).collect();
    let found = call.app.messages.find_messages(user.id, &ids).await?;
    let (selected_in, reader, narrow) = (Arc::clone(realm), Arc::clone(user), selection.clone());
    let selected = move || {
        let is_selected = |(message, flags): &(Message, Vec<MessageFlag>)| {
            access::may_read_message(&selected_in, &reader, message)
                && narrow.asks_for(&NarrowCandidate::from(message), flags, &selected_in)
        };
        let found = found.into_iter().filter(is_selected);
        found
            .map(|(message, flags)| (Arc::new(MessageWithCachedJson::without_cache(message)), flags))
            .collect::<Vec<_>>()
    };
    let messages = call.app.search_jobs.run(0, selected).await?;
    let mut body = ApiResponsePayload::open_body(messages.iter().map(|(message, _)| weight_bytes(message)).sum());
    body.extend_from_slice(
        b"{\"found_anchor\":false,\"found_oldest\":false,\"found_newest\":false,\"history_limited\":false,\"messages\":",
    );
    let marked = marked(&call.app, &selection, &messages).await?;
    let rendering = MessageRendering { format: params.format, marked };
    write_all(&call.app, &call.app.realm(), (&messages, &rendering), &mut body).await?;
    body.push(b'}');
    Ok(ApiResponsePayload::close_body(body))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    vec![
        optional_schema_member("anchor", JsonSchema::integer()),
        required_schema_member("found_anchor", JsonSchema::boolean()),
        required_schema_member("found_oldest", JsonSchema::boolean()),
        required_schema_member("found_newest", JsonSchema::boolean()),
        required_schema_member("history_limited", JsonSchema::boolean()),
        required_schema_member("messages", JsonSchema::list(JsonSchema::reference_to("Message"))),
    ]
}

fn weight_bytes(message: &Message) -> usize {
    MESSAGE_BYTES + message.content.len().max(message.html.len())
}

/// Returns the messages with the words marked that were looked for. Thousands of texts are read for it, so it is done
/// away from the threads that serve requests.
async fn marked(
    app: &AppState,
    selection: &ReadableMessageSelection,
    messages: &[(Arc<MessageWithCachedJson>, Vec<MessageFlag>)],
) -> Result<Vec<HighlightedMessage>, ApiError> {
    let Some(sought) = selection.search_words().cloned() else { return Ok(Vec::new()) };
    let messages: Vec<Arc<MessageWithCachedJson>> = messages.iter().map(|(message, _)| Arc::clone(message)).collect();
    let mark = move || messages.iter().map(|message| sought.highlight_message(&message.topic, &message.html)).collect();
    Ok(app.search_jobs.run(0, mark).await?)
}

/// How messages are written for their reader.
pub(super) struct MessageRendering {
    pub(super) format: MessageFormat,
    /// The messages in their order with the words marked that were looked for; none where nothing was.
    pub(super) marked: Vec<HighlightedMessage>,
}

/// Appends a list of messages, as they are written for their reader.
pub(super) async fn write_all<M: Borrow<MessageWithCachedJson> + Sync>(
    app: &AppState,
    realm: &RealmSnapshot,
    (messages, rendering): (&[(M, Vec<MessageFlag>)], &MessageRendering),
    out: &mut Vec<u8>,
) -> Result<(), ApiError> {
    let edited = |(message, _): &(M, Vec<MessageFlag>)| {
        let message: &MessageWithCachedJson = message.borrow();
        message.last_edit_s.map(|_| message.id)
    };
    let edits = edits(app, &messages.iter().filter_map(edited).collect::<Vec<_>>()).await?;
    let render_context = app.render_contexts.get_or_compile(realm);
    let mut writer = MessageWriter::new(realm, &render_context, rendering.format);
    out.push(b'[');
    for (place, (message, flags)) in messages.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        let message: &MessageWithCachedJson = message.borrow();
        let edits = edits.get(&message.id).map(Vec::as_slice).unwrap_or_default();
        writer.write_message(message, ReaderMessageFields { flags, edits, marked: rendering.marked.get(place) }, out);
    }
    out.push(b']');
    Ok(())
}

/// Returns the earlier states of those that have some.
async fn edits(app: &AppState, edited: &[MessageId]) -> Result<HashMap<MessageId, Vec<EditHistoryEntry>>, ApiError> {
    let mut edits: HashMap<MessageId, Vec<EditHistoryEntry>> = HashMap::new();
    if !edited.is_empty() {
        for (id, edit) in app.messages.edit_histories(edited).await? {
            edits.entry(id).or_default().push(edit);
        }
    }
    Ok(edits)
}
