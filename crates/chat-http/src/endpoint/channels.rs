//! `/streams` and `/default_streams`: which channels there are, and what administrators make of them.

mod create;
mod folders;
mod form;

use chat_core::channels::{self, ChannelContext, ChannelError, ChannelUpdate, IncludedChannels};
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::messages::narrow::{NarrowCondition, NarrowTerm, ReadableMessageSelection};
use chat_core::messages::notices::{self, ChannelChanges, ChannelNoticeOptions, SentNotices};
use chat_core::model::channel::Channel;
use chat_core::model::realm_change::RealmItemKind;
use chat_core::people::bots;
use chat_core::permission::access::{self, ChannelNotFound, ReadableHistory, may_see_subscribers};
use chat_core::wire_format::channel::{ChannelStatistics, average_weekly_traffic, basic_channel_object};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, MaxCharsParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, post};
use crate::state::AppState;

pub(crate) use form::{GroupNumber, IncludeSubscribersParam, PostPolicyNumber, RetentionText, announcing};

pub(crate) fn routes() -> Routes {
    let one = get(endpoint(one).documented("Describe a channel.", || {
        vec![required_schema_member("stream", JsonSchema::reference_to("Channel"))]
    }))
    .patch(endpoint(update).documented("Change a channel.", no_members))
    .delete(endpoint(archive).documented("Archive a channel.", no_members));
    let default = post(endpoint(add_default).documented("Have new users be in a channel.", no_members))
        .delete(endpoint(remove_default).documented("Have new users no longer be in a channel.", no_members));
    Routes::of("channels")
        .api("/channels/create", post(endpoint(create::create).documented("Create a channel.", create::create_schema)))
        .api("/streams", get(endpoint(list).documented("List the channels the caller may see.", listed)))
        .api("/streams/{stream_id}", one)
        .api("/streams/{stream_id}/members", get(endpoint(members).documented("List who is in a channel.", inside)))
        .api(
            "/streams/{stream_id}/email_address",
            get(endpoint(email_address).documented("Tell a channel's address.", mailed)),
        )
        .api("/get_stream_id", get(endpoint(number).documented("Tell the number of a channel.", numbered)))
        .api("/default_streams", default)
        .api(
            "/users/me/{stream_id}/topics",
            get(endpoint(topics).documented("List the topics of a channel.", topics_schema)),
        )
        .merge(folders::routes())
}

/// Returns what the messages of these channels come to.
pub(crate) async fn figures(
    app: &AppState,
    ids: impl IntoIterator<Item = ChannelId> + Send,
) -> Result<ChannelStatistics, ApiError> {
    let ids: Vec<ChannelId> = ids.into_iter().collect();
    let (realm, now_s) = (app.realm(), app.now_s());
    let counts = app.traffic.counts(app.messages.as_ref(), now_s).await?;
    let a_week = |id: &ChannelId| {
        let age_s = now_s.saturating_sub(realm.channel(*id)?.created_s);
        Some((*id, average_weekly_traffic(counts.get(id).copied().unwrap_or_default(), age_s)?))
    };
    let first = app.messages.first_channel_messages(&ids).await?;
    Ok(ChannelStatistics::from_first_messages(first).with_weekly_traffic(ids.iter().filter_map(a_week)))
}

/// Takes a decision about channels as the caller. The objects in events say of these channels, and of the default
/// ones, what their messages come to.
pub(crate) async fn decide<T>(
    call: &ApiCall<AuthenticatedCaller>,
    about: impl IntoIterator<Item = ChannelId> + Send,
    decide: impl Fn(&ChannelContext<'_>, &mut RealmCommit) -> Result<T, ChannelError> + Send + Sync,
) -> Result<T, ApiError> {
    let app = &call.app;
    let defaults: Vec<_> =
        app.realm().realm_items(RealmItemKind::DefaultChannel).map(|(id, _)| ChannelId(id)).collect();
    let figures = figures(app, about.into_iter().chain(defaults).collect::<Vec<_>>()).await?;
    app.commit(|realm, commit| {
        let render_context = app.render_contexts.get_or_compile(realm);
        let env = ChannelContext {
            realm,
            caller: call.caller.account_in_realm(realm)?,
            figures: &figures,
            realm_url: &app.settings.base_url,
            linkifiers: render_context.linkifiers(),
        };
        Ok(decide(&env, commit)?)
    })
    .await
}

/// Takes a decision about channels as the caller, and sends the notices about it.
pub(crate) async fn decide_and_report<T>(
    call: &ApiCall<AuthenticatedCaller>,
    about: impl IntoIterator<Item = ChannelId> + Send,
    options: ChannelNoticeOptions,
    decide_on: impl Fn(&ChannelContext<'_>, &mut RealmCommit) -> Result<T, ChannelError> + Send + Sync,
) -> Result<(T, SentNotices), ApiError> {
    let with_changes = |env: &ChannelContext<'_>, commit: &mut RealmCommit| {
        let outcome = decide_on(env, commit)?;
        Ok((outcome, ChannelChanges::of_commit(env.realm, commit)))
    };
    let (outcome, changes) = decide(call, about, with_changes).await?;
    let ports = call.app.message_ports();
    let sent = notices::report_channel_changes(&ports, &call.caller.user, &changes, options).await;
    Ok((outcome, sent))
}

/// The parameters of `GET /streams`: which channels are listed.
struct ListChannelsParams {
    groups: Vec<IncludedChannels>,
    with_archived: bool,
    tell_default: bool,
}

impl EndpointParams for ListChannelsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let mut groups = Vec::new();
        for (name, usual, group) in [
            ("include_public", true, IncludedChannels::Public),
            ("include_web_public", false, IncludedChannels::WebPublic),
            ("include_subscribed", true, IncludedChannels::Subscribed),
            ("include_all_active", false, IncludedChannels::All),
            ("include_all", false, IncludedChannels::Known),
            ("include_can_access_content", false, IncludedChannels::Readable),
            ("include_owner_subscribed", false, IncludedChannels::OwnerSubscribed),
        ] {
            if reader.optional_or::<JsonParam<bool>>(name, usual)? {
                groups.push(group);
            }
        }
        let with_archived = !reader.optional_or::<JsonParam<bool>>("exclude_archived", true)?;
        let tell_default = reader.optional_or::<JsonParam<bool>>("include_default", false)?;
        Ok(Self { groups, with_archived, tell_default })
    }
}

#[derive(Serialize)]
struct ChannelList {
    streams: Vec<Map<String, Value>>,
}

/// Returns the channels the caller asks for, as far as they see them.
async fn list(call: ApiCall<AuthenticatedCaller>, listing: ListChannelsParams) -> Result<ApiResponsePayload, ApiError> {
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let found = channels::list_channels(realm, user, &listing.groups, listing.with_archived)?;
    let figures = figures(&call.app, found.iter().map(|channel| channel.id).collect::<Vec<_>>()).await?;
    let shown = |channel: &Channel| {
        let mut object = basic_channel_object(channel, &figures, realm.active_subscriber_count(channel.id));
        if listing.tell_default {
            let is_default = realm.realm_item(RealmItemKind::DefaultChannel, channel.id.0).is_some();
            object.insert("is_default".to_owned(), is_default.into());
        }
        object
    };
    ApiResponsePayload::from_payload(&ChannelList {
        streams: found.into_iter().map(|channel| shown(channel)).collect(),
    })
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("streams", JsonSchema::list(JsonSchema::reference_to("Channel")))]
}

/// Returns the channel in the path, if the caller sees it.
fn in_path(call: &ApiCall<AuthenticatedCaller>) -> Result<&Channel, ApiError> {
    let id = ChannelId(call.path_id("stream_id")?);
    Ok(access::find_visible_channel(&call.caller.realm, &call.caller.user, id)?)
}

/// A channel.
async fn one(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let channel = in_path(&call)?;
    let figures = figures(&call.app, [channel.id]).await?;
    let count = call.caller.realm.active_subscriber_count(channel.id);
    ApiResponsePayload::from_payload(&json!({"stream": basic_channel_object(channel, &figures, count)}))
}

/// The parameters of `PATCH /streams/{stream_id}`.
struct UpdateChannelParams(ChannelUpdate);

impl EndpointParams for UpdateChannelParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        const DESCRIPTION_MAX: usize = chat_core::limits::MAX_CHANNEL_DESCRIPTION_CHARS;
        let announcing = reader.optional::<JsonParam<bool>>("is_announcement_only")?.map(announcing);
        Ok(Self(ChannelUpdate {
            name: reader.optional::<TextParam>("new_name")?,
            description: reader.optional::<MaxCharsParam<TextParam, DESCRIPTION_MAX>>("description")?,
            is_private: reader.optional::<JsonParam<bool>>("is_private")?,
            is_web_public: reader.optional::<JsonParam<bool>>("is_web_public")?,
            shares_history: reader.optional::<JsonParam<bool>>("history_public_to_subscribers")?,
            post_policy: reader.optional::<PostPolicyNumber>("stream_post_policy")?.or(announcing),
            retention: reader.optional::<RetentionText>("message_retention_days")?,
            can_remove_subscribers_group: reader.optional::<GroupNumber>("can_remove_subscribers_group")?,
            is_default: reader.optional::<JsonParam<bool>>("is_default_stream")?,
            folder_id: reader.optional::<JsonParam<Option<i64>>>("folder_id")?,
            is_archived: reader.optional::<JsonParam<bool>>("is_archived")?,
        }))
    }
}

/// Changes a channel.
async fn update(
    call: ApiCall<AuthenticatedCaller>,
    UpdateChannelParams(params): UpdateChannelParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = ChannelId(call.path_id("stream_id")?);
    let options = ChannelNoticeOptions::default();
    decide_and_report(&call, [id], options, |env, commit| channels::update_channel(env, id, &params, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Archives a channel.
async fn archive(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = ChannelId(call.path_id("stream_id")?);
    decide(&call, [id], |env, commit| channels::archive_channel(env, id, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Returns who is in a channel, of accounts in use.
async fn members(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let channel = in_path(&call)?;
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    if !may_see_subscribers(realm, user, channel) {
        return Err(ChannelNotFound::Id(channel.id).into());
    }
    let in_use = |id: &UserId| realm.user(*id).is_some_and(|user| user.is_active);
    let subscribers: Vec<_> = realm.subscribers(channel.id).filter(in_use).collect();
    ApiResponsePayload::from_payload(&json!({"subscribers": subscribers}))
}

/// Returns the members of the response.
fn inside() -> Vec<SchemaMember> {
    vec![required_schema_member("subscribers", JsonSchema::list(JsonSchema::integer()))]
}

/// The parameters of `GET /streams/{stream_id}/email_address`.
struct EmailAddressParams {
    sender_id: Option<UserId>,
}

impl EndpointParams for EmailAddressParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { sender_id: reader.optional::<JsonParam<UserId>>("sender_id")? })
    }
}

/// Returns the address messages can be mailed to, as the caller or a bot that the caller administers. There is no way in
/// for mail, so it is empty, as existing clients know it.
async fn email_address(
    call: ApiCall<AuthenticatedCaller>,
    EmailAddressParams { sender_id }: EmailAddressParams,
) -> Result<ApiResponsePayload, ApiError> {
    in_path(&call)?;
    if let Some(sender_id) = sender_id.filter(|id| *id != call.caller.user_id()) {
        bots::find_manageable_bot(&call.caller.realm, &call.caller.user, sender_id)?;
    }
    ApiResponsePayload::from_payload(&json!({"email": ""}))
}

/// Returns the members of the response.
fn mailed() -> Vec<SchemaMember> {
    vec![required_schema_member("email", JsonSchema::string())]
}

/// The name of a channel, as a parameter.
struct ChannelNameParams {
    stream: String,
}

impl EndpointParams for ChannelNameParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { stream: reader.required::<TextParam>("stream")? })
    }
}

/// Returns the number of a channel.
async fn number(call: ApiCall<AuthenticatedCaller>, named: ChannelNameParams) -> Result<ApiResponsePayload, ApiError> {
    let channel = access::find_visible_channel_by_name(&call.caller.realm, &call.caller.user, &named.stream)?;
    ApiResponsePayload::from_payload(&json!({"stream_id": channel.id}))
}

/// Returns the members of the response.
fn numbered() -> Vec<SchemaMember> {
    vec![required_schema_member("stream_id", JsonSchema::integer())]
}

/// The number of a channel, as a parameter.
struct ChannelIdParams {
    stream_id: ChannelId,
}

impl EndpointParams for ChannelIdParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { stream_id: reader.required::<JsonParam<ChannelId>>("stream_id")? })
    }
}

/// Has new users be in a channel.
async fn add_default(
    call: ApiCall<AuthenticatedCaller>,
    ChannelIdParams { stream_id: id }: ChannelIdParams,
) -> Result<ApiResponsePayload, ApiError> {
    decide(&call, [id], |env, commit| channels::add_default_channel(env, id, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Has new users no longer be in a channel.
async fn remove_default(
    call: ApiCall<AuthenticatedCaller>,
    ChannelIdParams { stream_id: id }: ChannelIdParams,
) -> Result<ApiResponsePayload, ApiError> {
    decide(&call, [id], |env, commit| channels::remove_default_channel(env, id, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

#[derive(Serialize)]
struct TopicSummary {
    name: String,
    max_id: MessageId,
}

/// Returns the topics of a channel that have messages the caller may read, the newest first.
async fn topics(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let channel = in_path(&call)?;
    if access::readable_history(realm, user, channel) == ReadableHistory::NONE {
        return Err(ChannelNotFound::Id(channel.id).into());
    }
    let here = NarrowTerm { condition: NarrowCondition::Channel(channel.id), negated: false };
    let found =
        call.app.messages.channel_topics(&ReadableMessageSelection::new(realm, user, vec![here]), channel.id).await?;
    let topics: Vec<_> =
        found.into_iter().map(|topic| TopicSummary { name: topic.name, max_id: topic.max_id }).collect();
    ApiResponsePayload::from_payload(&json!({"topics": topics}))
}

/// Returns the members of the response.
fn topics_schema() -> Vec<SchemaMember> {
    let topic = JsonSchema::object([
        required_schema_member("name", JsonSchema::string()),
        required_schema_member("max_id", JsonSchema::integer()),
    ]);
    vec![required_schema_member("topics", JsonSchema::list(topic))]
}
