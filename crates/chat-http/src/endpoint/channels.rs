//! `/streams` and `/default_streams`: which channels there are, and what administrators make of them.

mod form;

use chat_core::channels::{self, ChannelEnv, ChannelError, ChannelGroup, ChannelUpdate};
use chat_core::id::{ChannelId, MessageId};
use chat_core::log::commit::RealmCommit;
use chat_core::messages::narrow::{MessageSelection, NarrowCondition, NarrowTerm};
use chat_core::model::change::ItemKind;
use chat_core::model::channel::Channel;
use chat_core::permission::access::{self, ChannelNotFound, ReadableHistory, sees_subscribers};
use chat_core::wire::channel::{ChannelStatistics, basic, weekly};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, MaxChars, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, get, nothing, post};
use crate::schema::{Member, Schema, has};
use crate::state::Site;

pub(crate) use form::{GroupNumber, PostPolicyNumber, RetentionText, announcing};

pub(crate) fn routes() -> Routes {
    let one = get(endpoint(one).says("Describe a channel.", || vec![has("stream", Schema::named("Channel"))]))
        .patch(endpoint(update).says("Change a channel.", nothing))
        .delete(endpoint(archive).says("Close a channel.", nothing));
    let default = post(endpoint(add_default).says("Have new users be in a channel.", nothing))
        .delete(endpoint(remove_default).says("Have new users no longer be in a channel.", nothing));
    Routes::of("channels")
        .api("/streams", get(endpoint(list).says("List the channels the caller may see.", listed)))
        .api("/streams/{stream_id}", one)
        .api("/streams/{stream_id}/members", get(endpoint(members).says("List who is in a channel.", inside)))
        .api(
            "/streams/{stream_id}/email_address",
            get(endpoint(email_address).says("Tell a channel's address.", mailed)),
        )
        .api("/get_stream_id", get(endpoint(number).says("Tell the number of a channel.", numbered)))
        .api("/default_streams", default)
        .api("/users/me/{stream_id}/topics", get(endpoint(topics).says("List the topics of a channel.", topics_told)))
}

/// Returns what the messages of these channels come to.
pub(crate) async fn figures(
    app: &Site,
    ids: impl IntoIterator<Item = ChannelId> + Send,
) -> Result<ChannelStatistics, Fault> {
    let ids: Vec<ChannelId> = ids.into_iter().collect();
    let (realm, now_s) = (app.realm(), app.now_s());
    let counts = app.traffic.counts(app.messages.as_ref(), now_s).await?;
    let a_week = |id: &ChannelId| {
        let age_s = now_s.saturating_sub(realm.channel(*id)?.created_s);
        Some((*id, weekly(counts.get(id).copied().unwrap_or_default(), age_s)?))
    };
    let first = app.messages.first_messages(&ids).await?;
    Ok(ChannelStatistics::new(first).with_weekly(ids.iter().filter_map(a_week)))
}

/// Takes a decision about channels as the caller. The objects that are told say of these channels, and of the default
/// ones, what their messages come to.
pub(crate) async fn decide<T>(
    call: &Call<Caller>,
    about: impl IntoIterator<Item = ChannelId> + Send,
    decide: impl Fn(&ChannelEnv<'_>, &mut RealmCommit) -> Result<T, ChannelError> + Send + Sync,
) -> Result<T, Fault> {
    let app = &call.app;
    let defaults: Vec<_> = app.realm().items(ItemKind::DefaultChannel).map(|(id, _)| ChannelId(id)).collect();
    let figures = figures(app, about.into_iter().chain(defaults).collect::<Vec<_>>()).await?;
    app.commit(|realm, commit| {
        let lexicon = app.lexicon(realm);
        let env = ChannelEnv {
            realm,
            caller: call.who.again(realm)?,
            figures: &figures,
            realm_url: &app.settings.base_url,
            linkifiers: lexicon.linkifiers(),
        };
        Ok(decide(&env, commit)?)
    })
    .await
}

/// Which channels are asked for.
struct Listing {
    groups: Vec<ChannelGroup>,
    tell_default: bool,
}

impl Params for Listing {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let mut groups = Vec::new();
        for (name, usual, group) in [
            ("include_public", true, ChannelGroup::Public),
            ("include_web_public", false, ChannelGroup::WebPublic),
            ("include_subscribed", true, ChannelGroup::Subscribed),
            ("include_all_active", false, ChannelGroup::All),
            ("include_owner_subscribed", false, ChannelGroup::OwnerSubscribed),
        ] {
            if given.or::<Json<bool>>(name, usual)? {
                groups.push(group);
            }
        }
        Ok(Self { groups, tell_default: given.or::<Json<bool>>("include_default", false)? })
    }
}

#[derive(Serialize)]
struct Streams {
    streams: Vec<Map<String, Value>>,
}

/// Returns the channels the caller asks for, as far as they see them.
async fn list(call: Call<Caller>, listing: Listing) -> Result<Answer, Fault> {
    let Caller { user, realm, .. } = &call.who;
    let found = channels::list(realm, user, &listing.groups)?;
    let figures = figures(&call.app, found.iter().map(|channel| channel.id).collect::<Vec<_>>()).await?;
    let shown = |channel: &Channel| {
        let mut object = basic(channel, &figures);
        if listing.tell_default {
            let is_default = realm.item(ItemKind::DefaultChannel, channel.id.0).is_some();
            object.insert("is_default".to_owned(), is_default.into());
        }
        object
    };
    Answer::of(&Streams { streams: found.into_iter().map(|channel| shown(channel)).collect() })
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("streams", Schema::list(Schema::named("Channel")))]
}

/// Returns the channel in the path, if the caller sees it.
fn in_path(call: &Call<Caller>) -> Result<&Channel, Fault> {
    let id = ChannelId(call.path_id("stream_id")?);
    Ok(access::channel(&call.who.realm, &call.who.user, id)?)
}

/// A channel.
async fn one(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let channel = in_path(&call)?;
    let figures = figures(&call.app, [channel.id]).await?;
    Answer::of(&json!({"stream": basic(channel, &figures)}))
}

/// What shall be different.
struct Changing(ChannelUpdate);

impl Params for Changing {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        const DESCRIPTION_MAX: usize = chat_core::limits::MAX_CHANNEL_DESCRIPTION_CHARS;
        let announcing = given.optional::<Json<bool>>("is_announcement_only")?.map(announcing);
        Ok(Self(ChannelUpdate {
            name: given.optional::<Text>("new_name")?,
            description: given.optional::<MaxChars<Text, DESCRIPTION_MAX>>("description")?,
            is_private: given.optional::<Json<bool>>("is_private")?,
            is_web_public: given.optional::<Json<bool>>("is_web_public")?,
            shares_history: given.optional::<Json<bool>>("history_public_to_subscribers")?,
            post_policy: given.optional::<PostPolicyNumber>("stream_post_policy")?.or(announcing),
            retention: given.optional::<RetentionText>("message_retention_days")?,
            can_remove_subscribers_group: given.optional::<GroupNumber>("can_remove_subscribers_group")?,
            is_default: given.optional::<Json<bool>>("is_default_stream")?,
        }))
    }
}

/// Changes a channel.
async fn update(call: Call<Caller>, Changing(wish): Changing) -> Result<Answer, Fault> {
    let id = ChannelId(call.path_id("stream_id")?);
    decide(&call, [id], |env, commit| channels::update(env, id, &wish, commit)).await?;
    Ok(Answer::empty())
}

/// Closes a channel.
async fn archive(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = ChannelId(call.path_id("stream_id")?);
    decide(&call, [id], |env, commit| channels::archive(env, id, commit)).await?;
    Ok(Answer::empty())
}

/// Returns who is in a channel, of accounts in use.
async fn members(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let channel = in_path(&call)?;
    let Caller { user, realm, .. } = &call.who;
    if !sees_subscribers(realm, user, channel) {
        return Err(ChannelNotFound::Id(channel.id).into());
    }
    let in_use = |id: &chat_core::id::UserId| realm.user(*id).is_some_and(|user| user.is_active);
    let subscribers: Vec<_> = realm.subscribers(channel.id).filter(in_use).collect();
    Answer::of(&json!({"subscribers": subscribers}))
}

/// Returns the members of the response.
fn inside() -> Vec<Member> {
    vec![has("subscribers", Schema::list(Schema::integer()))]
}

/// Returns the address messages can be mailed to. There is no way in for mail, so it is empty, as existing clients know
/// it.
async fn email_address(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    in_path(&call)?;
    Answer::of(&json!({"email": ""}))
}

/// Returns the members of the response.
fn mailed() -> Vec<Member> {
    vec![has("email", Schema::string())]
}

/// A channel by its name.
struct Named {
    stream: String,
}

impl Params for Named {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { stream: given.required::<Text>("stream")? })
    }
}

/// Returns the number of a channel.
async fn number(call: Call<Caller>, named: Named) -> Result<Answer, Fault> {
    let channel = access::channel_named(&call.who.realm, &call.who.user, &named.stream)?;
    Answer::of(&json!({"stream_id": channel.id}))
}

/// Returns the members of the response.
fn numbered() -> Vec<Member> {
    vec![has("stream_id", Schema::integer())]
}

/// A channel by its number.
struct Numbered {
    stream_id: ChannelId,
}

impl Params for Numbered {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { stream_id: given.required::<Json<ChannelId>>("stream_id")? })
    }
}

/// Has new users be in a channel.
async fn add_default(call: Call<Caller>, Numbered { stream_id: id }: Numbered) -> Result<Answer, Fault> {
    decide(&call, [id], |env, commit| channels::add_default(env, id, commit)).await?;
    Ok(Answer::empty())
}

/// Has new users no longer be in a channel.
async fn remove_default(call: Call<Caller>, Numbered { stream_id: id }: Numbered) -> Result<Answer, Fault> {
    decide(&call, [id], |env, commit| channels::remove_default(env, id, commit)).await?;
    Ok(Answer::empty())
}

#[derive(Serialize)]
struct TopicShown {
    name: String,
    max_id: MessageId,
}

/// Returns the topics of a channel that have messages the caller may read, the newest first.
async fn topics(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let Caller { user, realm, .. } = &call.who;
    let channel = in_path(&call)?;
    if access::history(realm, user, channel) == ReadableHistory::NONE {
        return Err(ChannelNotFound::Id(channel.id).into());
    }
    let here = NarrowTerm { condition: NarrowCondition::Channel(channel.id), negated: false };
    let found = call.app.messages.topics(&MessageSelection::new(realm, user, vec![here]), channel.id).await?;
    let topics: Vec<_> = found.into_iter().map(|topic| TopicShown { name: topic.name, max_id: topic.max_id }).collect();
    Answer::of(&json!({"topics": topics}))
}

/// Returns the members of the response.
fn topics_told() -> Vec<Member> {
    let topic = Schema::object([has("name", Schema::string()), has("max_id", Schema::integer())]);
    vec![has("topics", Schema::list(topic))]
}
