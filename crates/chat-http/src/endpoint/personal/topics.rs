//! `/user_topics`, and `/users/me/subscriptions/muted_topics` for older clients: how the caller follows a topic.

use chat_core::id::ChannelId;
use chat_core::limits::MAX_TOPIC_CHARS;
use chat_core::log::commit::RealmCommit;
use chat_core::messages::topic_policy::{self, RequestedChannel, TopicPolicy, TopicPolicyChange, TopicPolicyError};
use chat_core::model::snapshot::RealmSnapshot;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::Call;
use crate::error::{ChoiceFault, Fault};
use crate::params::{Json, Listed, MaxChars, Numbers, ParamFault, Params, Reader, Stripped, Text, Word, Words};

/// A topic as messages have it: blanks around it do not count. It may be empty, and none has more characters.
type Topic = MaxChars<Stripped, MAX_TOPIC_CHARS>;

/// A topic and how it shall be followed.
pub(crate) struct Update {
    channel_id: ChannelId,
    topic: String,
    policy: TopicPolicy,
}

impl Numbers for TopicPolicy {
    const NUMBERS: &'static [(i64, Self)] = &Self::NUMBERS;
}

impl Params for Update {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let Listed(policy) = given.required::<Json<Listed<TopicPolicy>>>("visibility_policy")?;
        Ok(Self {
            channel_id: given.required::<Json<ChannelId>>("stream_id")?,
            topic: given.required::<Topic>("topic")?,
            policy,
        })
    }
}

/// Has the caller follow a topic in another way.
pub(crate) async fn post(call: Call<Caller>, update: Update) -> Result<Answer, Fault> {
    let Update { channel_id, topic, policy } = &update;
    choose(&call, TopicPolicyChange { channel: RequestedChannel::Id(*channel_id), topic, policy: *policy }).await
}

/// A topic that shall be muted, or no longer.
pub(crate) struct Mute {
    channel: Named,
    topic: String,
    op: Op,
}

enum Named {
    Id(ChannelId),
    Name(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Add,
    Remove,
}

impl Words for Op {
    const WORDS: &'static [(&'static str, Self)] = &[("add", Self::Add), ("remove", Self::Remove)];
}

impl Params for Mute {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let id = given.optional::<Json<ChannelId>>("stream_id")?.map(Named::Id);
        let name = given.optional::<Text>("stream")?.map(Named::Name);
        given.at_most_one(&["stream_id", "stream"])?;
        Ok(Self {
            channel: id.or(name).ok_or(ParamFault::Missing { name: "stream_id" })?,
            topic: given.required::<Topic>("topic")?,
            op: given.required::<Word<Op>>("op")?,
        })
    }
}

/// Mutes a topic, or no longer; it can be so already.
///
/// # Source
/// Specification, `PATCH /users/me/subscriptions/muted_topics`. The text about a channel that is not there is the one
/// existing clients know.
pub(crate) async fn patch(call: Call<Caller>, wish: Mute) -> Result<Answer, Fault> {
    let channel = match &wish.channel {
        Named::Id(id) => RequestedChannel::Id(*id),
        Named::Name(name) => RequestedChannel::Name(name),
    };
    let policy = if wish.op == Op::Add { TopicPolicy::Muted } else { TopicPolicy::Inherit };
    let told = choose(&call, TopicPolicyChange { channel, topic: &wish.topic, policy }).await;
    match told {
        Err(Fault::Choice(ChoiceFault::Topic(TopicPolicyError::Channel(_)))) if wish.op == Op::Remove => {
            Err(ChoiceFault::TopicNotMuted.into())
        }
        told => told,
    }
}

async fn choose(call: &Call<Caller>, choice: TopicPolicyChange<'_>) -> Result<Answer, Fault> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(topic_policy::choose(realm, call.who.again(realm)?, choice, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}
