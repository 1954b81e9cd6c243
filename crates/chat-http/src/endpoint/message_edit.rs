//! `/messages/{message_id}` as it is changed: edited, moved, deleted; and what it was before.

use chat_core::id::{ChannelId, MessageId};
use chat_core::log::decision::DECISIONS_MAX;
use chat_core::log::event;
use chat_core::messages::edit::{
    ContentEdit, EditContext, EditRequest, PropagateMode, apply, companions, history, may_delete, plan,
};
use chat_core::messages::store::{MessageEdit, WriteGuard, WriteOutcome};
use chat_core::messages::topic_policy::automatic;
use chat_core::model::message::{self, Conversation, Message, Recipient, topic_key};
use chat_core::model::realm::RealmRules;
use chat_core::model::render_context::RenderSettings;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::permission::access::{reads, require_administrator, shows_receipt};
use chat_core::permission::send::under_topic;
use chat_core::wire::message as object;
use serde_json::json;

use super::readable_message;
use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{
    Json, ParamError, ParamReader, Params, TextParam, TextParamWithNul, TrimmedText, WordEnum, WordParam,
};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch, post};
use crate::schema::{Member, Schema, has, may};
use crate::state::App;

/// Messages deleted in one transaction.
const DELETED_AT_ONCE: usize = 500;

pub(crate) fn routes() -> Routes {
    let one = patch(endpoint(edit).documented("Edit a message, or move it and others with it.", no_members))
        .delete(endpoint(remove).documented("Delete a message.", no_members));
    let topic = endpoint(delete_topic).documented("Delete a topic.", || vec![has("complete", Schema::boolean())]);
    Routes::of("messages")
        .api("/messages/{message_id}", one)
        .api(
            "/messages/{message_id}/history",
            get(endpoint(past).documented("Tell what a message was before.", history_schema)),
        )
        .api(
            "/messages/{message_id}/read_receipts",
            get(endpoint(receipts).documented("Tell who has read a message.", readers)),
        )
        .api("/streams/{stream_id}/delete_topic", post(topic))
}

/// What is to change of a message.
///
/// No messages of the server's own tell of a move, so the parameters that ask for them count as unsupported.
pub(crate) struct EditParams {
    content: Option<String>,
    topic: Option<String>,
    channel_id: Option<i64>,
    propagate: Option<PropagateMode>,
}

impl WordEnum for PropagateMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("change_one", Self::One), ("change_later", Self::Later), ("change_all", Self::All)];
}

impl Params for EditParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            content: reader.optional::<TextParamWithNul>("content")?,
            topic: reader.optional_either::<TrimmedText>(["topic", "subject"])?,
            channel_id: reader.optional::<Json<i64>>("stream_id")?,
            propagate: reader.optional::<WordParam<PropagateMode>>("propagate_mode")?,
        })
    }
}

/// Edits a message, or moves it and those that go with it.
pub(crate) async fn edit(call: ApiCall<Caller>, params: EditParams) -> Result<ApiResponse, ApiError> {
    for _ in 0..DECISIONS_MAX {
        let copy = readable_message::find(&call).await?;
        let (edit, moves_all) = decided(&call.app, &copy, &params).await?;
        let to = edit.to.clone().filter(|_| moves_all).zip(Some(edit.moves.len()));
        if call.app.messages.edit(edit).await? != WriteOutcome::Unchanged {
            if let Some((to, messages)) = to {
                automatic::after_moving(&call.app.message_ports(), &copy.message, (to, messages)).await;
            }
            return Ok(ApiResponse::empty());
        }
    }
    Err(readable_message::outrun())
}

/// Returns the edit that is wanted of the message as it is now, and whether all of its topic moves.
async fn decided(
    app: &App,
    copy: &readable_message::ReadableMessage,
    params: &EditParams,
) -> Result<(MessageEdit, bool), ApiError> {
    let readable_message::ReadableMessage { realm, user, message } = copy;
    let topic = match &params.topic {
        Some(topic) if matches!(message.recipient, Recipient::Channel(_)) => {
            let topic = message::topic(topic)?;
            under_topic(realm, &topic)?;
            Some(topic)
        }
        topic => topic.clone(),
    };
    let request = EditRequest {
        content: params.content.as_deref(),
        topic: topic.as_deref(),
        channel_id: params.channel_id.map(ChannelId),
        propagate: params.propagate,
    };
    let now_s = app.now_s();
    let plan = plan(realm, user, message, (request, now_s))?;
    let render_context = app.render_contexts.get(realm);
    let uploads =
        app.message_ports().uploads().linked(realm, user, plan.content.as_deref().unwrap_or_default()).await?;
    let setting = RenderSettings {
        realm_url: &app.settings.base_url,
        render_context: &render_context,
        uploads: Some(&uploads),
        now_s,
    };
    let text = match &plan.content {
        Some(content) => {
            let rewriting = ContentEdit::new(&setting, realm, user, (message, content));
            let participants = match rewriting.asks_participants() {
                Some(topic) => app.messages.participants(&topic).await?,
                None => Vec::new(),
            };
            Some(rewriting.text(&setting, &participants)?)
        }
        None => None,
    };
    let (mut moves, mut topic_links, mut moves_all) = (Vec::new(), Vec::new(), false);
    if let Some(to) = &plan.to {
        let from = Conversation { recipient: message.recipient, topic_key: topic_key(&message.topic) };
        let all = app.messages.conversation(&from, MessageId(0)).await?;
        moves = companions(realm, user, message, (to, &all, now_s))?;
        topic_links = object::topic_links(&to.topic, &render_context);
        moves_all = moves.len() == all.len();
    }
    let around = EditContext { text: text.as_ref(), moves: &moves, topic_links: &topic_links, now_s };
    Ok((apply(realm, user, message, (&plan, around)), moves_all))
}

/// Deletes a message.
pub(crate) async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    for _ in 0..DECISIONS_MAX {
        let copy = readable_message::find(&call).await?;
        let default = RealmRules::default();
        let rules = copy.realm.realm().map_or(&default, |realm| &realm.rules);
        let now_s = call.app.now_s();
        may_delete(rules, &copy.user, &copy.message, now_s)?;
        if delete_all(&call.app, &copy.realm, &[&copy.message]).await? {
            return Ok(ApiResponse::empty());
        }
    }
    Err(readable_message::outrun())
}

/// Deletes messages of one conversation as they were read. Says `false` when one has changed or is gone.
async fn delete_all(app: &App, realm: &RealmSnapshot, messages: &[&Message]) -> Result<bool, ApiError> {
    let Some(first) = messages.first() else { return Ok(true) };
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    let decided = WriteGuard::new(realm, messages.iter().copied());
    let events = event::deleted(first, &ids);
    Ok(app.messages.delete(&decided, (app.now_s(), events)).await? != WriteOutcome::Unchanged)
}

/// Returns what a message was before.
pub(crate) async fn past(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let copy = readable_message::find(&call).await?;
    let past = call.app.messages.edits(copy.message.id).await?;
    ApiResponse::from_payload(&json!({"message_history": history(&copy.message, &past)}))
}

/// Returns the members of the response.
fn history_schema() -> Vec<Member> {
    let state = Schema::object([
        has("topic", Schema::string()),
        has("content", Schema::string()),
        has("rendered_content", Schema::string()),
        has("timestamp", Schema::integer()),
        has("user_id", Schema::integer().or_null()),
        may("prev_content", Schema::string()),
        may("prev_rendered_content", Schema::string()),
        may("content_html_diff", Schema::string()),
        may("prev_topic", Schema::string()),
        may("prev_stream", Schema::integer()),
        may("stream", Schema::integer()),
    ]);
    vec![has("message_history", Schema::list(state))]
}

/// Returns who has read a message.
pub(crate) async fn receipts(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let copy = readable_message::find(&call).await?;
    let readers = call.app.messages.readers(&copy.message).await?;
    let shown: Vec<_> = readers.into_iter().filter(|reader| shows_receipt(&copy.realm, &copy.user, *reader)).collect();
    ApiResponse::from_payload(&json!({"user_ids": shown}))
}

/// Returns the members of the response.
fn readers() -> Vec<Member> {
    vec![has("user_ids", Schema::list(Schema::integer()))]
}

/// The parameters of `POST /streams/{stream_id}/delete_topic`.
pub(crate) struct DeleteTopicParams {
    name: String,
}

impl Params for DeleteTopicParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { name: reader.required::<TextParam>("topic_name")? })
    }
}

/// Deletes all messages of a topic that the administrator may read, some hundreds in a transaction.
pub(crate) async fn delete_topic(call: ApiCall<Caller>, params: DeleteTopicParams) -> Result<ApiResponse, ApiError> {
    require_administrator(&call.caller.user)?;
    let realm = call.app.realm();
    let channel_id = ChannelId(call.path_id("stream_id")?);
    let channel = chat_core::permission::access::channel(&realm, &call.caller.user, channel_id)?;
    let readable = chat_core::permission::access::history(&realm, &call.caller.user, channel);
    let topic = Conversation { recipient: Recipient::Channel(channel_id), topic_key: topic_key(&params.name) };
    let all = call.app.messages.conversation(&topic, MessageId(0)).await?;
    let ids: Vec<MessageId> = all.into_iter().map(|(id, _)| id).filter(|id| readable.shows(*id)).collect();
    if ids.is_empty() {
        return Err(ApiError::NoTopic { name: params.name });
    }
    for some in ids.chunks(DELETED_AT_ONCE) {
        delete_of_topic(&call, &topic, some).await?;
    }
    ApiResponse::from_payload(&json!({"complete": true}))
}

/// Deletes those of the messages that are in the topic still.
async fn delete_of_topic(call: &ApiCall<Caller>, topic: &Conversation, ids: &[MessageId]) -> Result<(), ApiError> {
    for _ in 0..DECISIONS_MAX {
        let found = call.app.messages.find(call.caller.id(), ids).await?;
        let realm = call.app.realm();
        let caller = call.caller.account_in(&realm)?;
        require_administrator(caller)?;
        let is_there = |message: &&Message| {
            let in_topic = message.recipient == topic.recipient && topic_key(&message.topic) == topic.topic_key;
            in_topic && reads(&realm, caller, message)
        };
        let left: Vec<&Message> = found.iter().map(|(message, _)| message).filter(is_there).collect();
        if delete_all(&call.app, &realm, &left).await? {
            return Ok(());
        }
    }
    Err(readable_message::outrun())
}
