//! `/user_topics`, and `/users/me/subscriptions/muted_topics` for older clients: how the caller follows a topic.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::ChannelId;
use chat_core::limits::MAX_TOPIC_CHARS;
use chat_core::messages::topic_visibility_policy::{
    self, RequestedChannel, TopicVisibilityPolicy, TopicVisibilityPolicyChange, TopicVisibilityPolicyError,
};
use chat_core::model::realm_snapshot::RealmSnapshot;

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, SettingChangeError};
use crate::params::{
    EndpointParams, EnumNumberJson, EnumWordParam, JsonParam, MaxCharsParam, NumberEnum, ParamError, ParamReader,
    TextParam, TrimmedTextParam, WordEnum,
};

/// A topic as messages have it: blanks around it do not count. It may be empty, and none has more characters.
type TopicParam = MaxCharsParam<TrimmedTextParam, MAX_TOPIC_CHARS>;

/// The parameters of `POST /user_topics`.
pub(crate) struct TopicPolicyParams {
    channel_id: ChannelId,
    topic: String,
    policy: TopicVisibilityPolicy,
}

impl NumberEnum for TopicVisibilityPolicy {
    const NUMBERS: &'static [(i64, Self)] = &Self::WIRE_NUMBERS;
}

impl EndpointParams for TopicPolicyParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let EnumNumberJson(policy) =
            reader.required::<JsonParam<EnumNumberJson<TopicVisibilityPolicy>>>("visibility_policy")?;
        Ok(Self {
            channel_id: reader.required::<JsonParam<ChannelId>>("stream_id")?,
            topic: reader.required::<TopicParam>("topic")?,
            policy,
        })
    }
}

/// Has the caller follow a topic in another way.
pub(crate) async fn post(
    call: ApiCall<AuthenticatedCaller>,
    update: TopicPolicyParams,
) -> Result<ApiResponsePayload, ApiError> {
    let TopicPolicyParams { channel_id, topic, policy } = &update;
    choose(&call, TopicVisibilityPolicyChange { channel: RequestedChannel::Id(*channel_id), topic, policy: *policy })
        .await
}

/// The parameters of `PATCH /users/me/subscriptions/muted_topics`.
pub(crate) struct MuteTopicParams {
    channel: TopicChannel,
    topic: String,
    op: MuteOp,
}

enum TopicChannel {
    Id(ChannelId),
    Name(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MuteOp {
    Add,
    Remove,
}

impl WordEnum for MuteOp {
    const WORDS: &'static [(&'static str, Self)] = &[("add", Self::Add), ("remove", Self::Remove)];
}

impl EndpointParams for MuteTopicParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let id = reader.optional::<JsonParam<ChannelId>>("stream_id")?.map(TopicChannel::Id);
        let name = reader.optional::<TextParam>("stream")?.map(TopicChannel::Name);
        reader.reject_more_than_one(&["stream_id", "stream"])?;
        Ok(Self {
            channel: id.or(name).ok_or(ParamError::Missing { name: "stream_id" })?,
            topic: reader.required::<TopicParam>("topic")?,
            op: reader.required::<EnumWordParam<MuteOp>>("op")?,
        })
    }
}

/// Mutes a topic, or no longer; it can be so already.
///
/// # Source
/// Specification, `PATCH /users/me/subscriptions/muted_topics`. The text about a channel that is not there is the one
/// existing clients know.
pub(crate) async fn patch(
    call: ApiCall<AuthenticatedCaller>,
    params: MuteTopicParams,
) -> Result<ApiResponsePayload, ApiError> {
    let channel = match &params.channel {
        TopicChannel::Id(id) => RequestedChannel::Id(*id),
        TopicChannel::Name(name) => RequestedChannel::Name(name),
    };
    let policy = if params.op == MuteOp::Add { TopicVisibilityPolicy::Muted } else { TopicVisibilityPolicy::Inherit };
    let chosen = choose(&call, TopicVisibilityPolicyChange { channel, topic: &params.topic, policy }).await;
    match chosen {
        Err(ApiError::Setting(SettingChangeError::Topic(TopicVisibilityPolicyError::Channel(_))))
            if params.op == MuteOp::Remove =>
        {
            Err(SettingChangeError::TopicNotMuted.into())
        }
        chosen => chosen,
    }
}

async fn choose(
    call: &ApiCall<AuthenticatedCaller>,
    choice: TopicVisibilityPolicyChange<'_>,
) -> Result<ApiResponsePayload, ApiError> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(topic_visibility_policy::set_topic_visibility_policy(
            realm,
            call.caller.account_in_realm(realm)?,
            choice,
            commit,
        )?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}
