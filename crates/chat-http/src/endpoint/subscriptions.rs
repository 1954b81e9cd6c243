//! `/users/me/subscriptions`: who is in which channel, and what they chose for it.

mod form;

use chat_core::channels::{
    self, ChannelEnv, ChannelError, Principals, SubscribeOutcome, SubscribeRequest, SubscribeTarget,
    SubscriptionPropertyChange, UnsubscribeOutcome,
};
use chat_core::id::{ChannelId, UserId};
use chat_core::log::commit::RealmCommit;
use chat_core::model::address_visibility;
use chat_core::model::channel::Channel;
use chat_core::permission::access;
use chat_core::wire::subscription::{SubscriptionFields, full};
use serde_json::{Map, Value, json};

use super::channels::{decide, figures};
use super::flags::{mark_left, unread_where_left};
use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Path, Reader, Text};
use crate::routes::{Routes, get, nothing, patch, post};
use crate::schema::{Member, Schema, has, may};
use form::{Choices, People, Subscriptions, new_channels};

pub(crate) fn routes() -> Routes {
    let own = get(endpoint(list).says("List the caller's subscriptions.", listed))
        .post(endpoint(subscribe).says("Put the caller or others into channels.", entered_told))
        .patch(endpoint(change).says("Enter and leave channels, all of it or nothing.", changed_told))
        .delete(endpoint(unsubscribe).says("Take the caller or others out of channels.", left_told));
    let choose_one = patch(endpoint(choose_one).says("Choose something for one of the caller's channels.", nothing));
    let is_inside = endpoint(is_subscribed).says("Tell whether a user is in a channel.", is_inside);
    Routes::of("channels")
        .api("/users/me/subscriptions", own)
        .api("/users/me/subscriptions/properties", post(endpoint(choose).says("Choose things for channels.", nothing)))
        .api("/users/me/subscriptions/{stream_id}", choose_one)
        .api("/users/{user_id}/subscriptions/{stream_id}", get(is_inside))
}

/// What is shown of subscriptions.
struct Listing(SubscriptionFields);

impl Params for Listing {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let subscribers = given.or::<Json<bool>>("include_subscribers", false)?;
        Ok(Self(SubscriptionFields { null_notifications: true, subscribers }))
    }
}

/// Returns the caller's subscriptions, in the order of their channels' names.
async fn list(call: Call<Caller>, Listing(wish): Listing) -> Result<Answer, Fault> {
    let Caller { user, realm, .. } = &call.who;
    let inside = realm.memberships(user.id).filter_map(|(id, membership)| {
        let channel: &Channel = realm.channel(id)?;
        Some((channel, membership.subscription.as_ref()?)).filter(|(channel, _)| !channel.is_archived)
    });
    let mut inside: Vec<_> = inside.collect();
    inside.sort_by_cached_key(|(channel, _)| chat_core::model::channel::name_key(&channel.name));
    let figures = figures(&call.app, inside.iter().map(|(channel, _)| channel.id).collect::<Vec<_>>()).await?;
    let shown = |(channel, subscription)| full(realm, channel, subscription, &figures, wish);
    let subscriptions: Vec<Map<String, Value>> = inside.into_iter().map(shown).collect();
    Answer::of(&json!({"subscriptions": subscriptions}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("subscriptions", Schema::list(Schema::named("Subscription")))]
}

impl Params for SubscribeRequest {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            channels: given.required::<Subscriptions>("subscriptions")?,
            principals: given.or::<People>("principals", Principals::Caller)?,
            manner: new_channels(given)?,
            all_or_nothing: given.or::<Json<bool>>("authorization_errors_fatal", true)?,
        })
    }
}

/// Returns the channels of these names, as far as they exist.
fn existing(call: &Call<Caller>, names: impl Iterator<Item = impl AsRef<str>>) -> Vec<ChannelId> {
    names.filter_map(|name| call.who.realm.channel_by_name(name.as_ref())).map(|channel| channel.id).collect()
}

/// Puts the caller or others into channels; makes those that do not exist.
async fn subscribe(call: Call<Caller>, wish: SubscribeRequest) -> Result<Answer, Fault> {
    let about = existing(&call, wish.channels.iter().map(|wanted| &wanted.name));
    let done = decide(&call, about, |env, commit| channels::subscribe(env, &wish, commit)).await?;
    Answer::of(&entered(&done, wish.all_or_nothing))
}

fn entered(done: &SubscribeOutcome, all_or_nothing: bool) -> Map<String, Value> {
    let mut told = Map::new();
    told.insert("subscribed".to_owned(), json!(done.subscribed));
    told.insert("already_subscribed".to_owned(), json!(done.already_subscribed));
    if !all_or_nothing {
        told.insert("unauthorized".to_owned(), json!(done.unauthorized));
    }
    told
}

/// Returns the members of the response.
fn entered_told() -> Vec<Member> {
    let by_user = || Schema::map(Schema::list(Schema::string())).meaning("Names of channels, by user.");
    vec![
        has("subscribed", by_user()),
        has("already_subscribed", by_user()),
        may("unauthorized", Schema::list(Schema::string())),
    ]
}

/// Channels to leave.
struct Leaving {
    names: Vec<String>,
    principals: Principals,
}

impl Params for Leaving {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            names: given.required::<Json<Vec<String>>>("subscriptions")?,
            principals: given.or::<People>("principals", Principals::Caller)?,
        })
    }
}

/// Takes the caller or others out of channels.
async fn unsubscribe(call: Call<Caller>, Leaving { names, principals }: Leaving) -> Result<Answer, Fault> {
    let about = existing(&call, names.iter());
    let unread = unread_where_left(&call.app, &meant(&call, &principals), &about).await?;
    let done = decide(&call, about, |env, commit| channels::unsubscribe(env, &names, &principals, commit)).await?;
    mark_left(&call.app, unread).await;
    Answer::of(&left(&done))
}

/// Those of the users who are meant that there are.
fn meant(call: &Call<Caller>, principals: &Principals) -> Vec<UserId> {
    match principals {
        Principals::Caller => vec![call.who.id()],
        Principals::Ids(ids) => ids.clone(),
        Principals::Emails(emails) => {
            let found = |email: &String| {
                address_visibility::find_user(&call.who.realm, &call.who.user, email).map(|user| user.id)
            };
            emails.iter().filter_map(found).collect()
        }
    }
}

fn left(done: &UnsubscribeOutcome) -> Map<String, Value> {
    let mut told = Map::new();
    told.insert("removed".to_owned(), json!(done.removed));
    told.insert("not_removed".to_owned(), json!(done.not_removed));
    told
}

/// Returns the members of the response.
fn left_told() -> Vec<Member> {
    vec![has("removed", Schema::list(Schema::string())), has("not_removed", Schema::list(Schema::string()))]
}

/// Channels to leave and channels to enter.
struct Changing {
    add: Vec<SubscribeTarget>,
    delete: Vec<String>,
}

impl Params for Changing {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            delete: given.or::<Json<Vec<String>>>("delete", Vec::new())?,
            add: given.or::<Subscriptions>("add", Vec::new())?,
        })
    }
}

/// Takes the caller out of channels and puts them into others: all of it or nothing.
async fn change(call: Call<Caller>, Changing { add, delete }: Changing) -> Result<Answer, Fault> {
    if add.is_empty() && delete.is_empty() {
        return Err(ParamFault::NothingToDo.into());
    }
    let about = existing(&call, delete.iter().chain(add.iter().map(|wanted| &wanted.name)));
    let wish =
        SubscribeRequest { channels: add, principals: Principals::Caller, manner: form::USUAL, all_or_nothing: true };
    let both = |env: &ChannelEnv<'_>,
                commit: &mut RealmCommit|
     -> Result<(SubscribeOutcome, UnsubscribeOutcome), ChannelError> {
        let gone = channels::unsubscribe(env, &delete, &Principals::Caller, commit)?;
        let come = if wish.channels.is_empty() {
            SubscribeOutcome::default()
        } else {
            channels::subscribe(env, &wish, commit)?
        };
        Ok((come, gone))
    };
    let leaving = existing(&call, delete.iter());
    let unread = unread_where_left(&call.app, &[call.who.id()], &leaving).await?;
    let (come, gone) = decide(&call, about, both).await?;
    mark_left(&call.app, unread).await;
    let mut told = entered(&come, true);
    told.extend(left(&gone));
    Answer::of(&told)
}

/// Returns the members of the response.
fn changed_told() -> Vec<Member> {
    entered_told().into_iter().chain(left_told()).collect()
}

/// What the caller chose for their channels.
struct Choosing(Vec<(ChannelId, SubscriptionPropertyChange)>);

impl Params for Choosing {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        given.required::<Choices>("subscription_data").map(Self)
    }
}

/// Writes down what the caller chose for some of their channels.
async fn choose(call: Call<Caller>, Choosing(choices): Choosing) -> Result<Answer, Fault> {
    decide(&call, [], |env, commit| channels::choose(env, &choices, commit)).await?;
    Ok(Answer::empty())
}

/// What the caller chose for one channel.
struct ChoosingOne(SubscriptionPropertyChange);

impl Params for ChoosingOne {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let property = given.required::<Text>("property")?;
        given.more_precisely(|_| Schema::words(form::PROPERTIES));
        let value = given.required::<Json<Value>>("value")?;
        form::choice(&property, value, &Path::name("value")).map(Self)
    }
}

/// Writes down what the caller chose for one of their channels.
async fn choose_one(call: Call<Caller>, ChoosingOne(choice): ChoosingOne) -> Result<Answer, Fault> {
    let choices = [(ChannelId(call.path_id("stream_id")?), choice)];
    decide(&call, [], |env, commit| channels::choose(env, &choices, commit)).await?;
    Ok(Answer::empty())
}

/// Returns whether a user is in a channel.
async fn is_subscribed(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let Caller { user: caller, realm, .. } = &call.who;
    let user_id = UserId(call.path_id("user_id")?);
    let user = realm.user(user_id).ok_or(ChannelError::NoSuchUser)?;
    let channel = access::channel(realm, caller, ChannelId(call.path_id("stream_id")?))?;
    if !access::sees_subscribers(realm, caller, channel) {
        return Err(access::ChannelNotFound::Id(channel.id).into());
    }
    Answer::of(&json!({"is_subscribed": realm.subscription(channel.id, user.id).is_some()}))
}

/// Returns the members of the response.
fn is_inside() -> Vec<Member> {
    vec![has("is_subscribed", Schema::boolean())]
}
