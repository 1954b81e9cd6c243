//! `/users/me/subscriptions`: who is in which channel, and what they chose for it.

mod form;

use chat_core::channels::{
    self, ChannelEnv, ChannelError, Principals, SubscribeOutcome, SubscribeRequest, SubscribeTarget,
    SubscriptionPropertyChange, UnsubscribeOutcome,
};
use chat_core::id::{ChannelId, UserId};
use chat_core::log::commit::RealmCommit;
use chat_core::messages::flag_update::{mark_left, unread_where_left};
use chat_core::model::address_visibility;
use chat_core::model::channel::Channel;
use chat_core::permission::access;
use chat_core::wire::subscription::{SubscriptionFields, full};
use serde_json::{Map, Value, json};

use super::channels::{decide, figures};
use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{Json, JsonPath, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch, post};
use crate::schema::{Member, Schema, has, may};
use form::{PrincipalsParam, PropertyChangesParam, SubscribeTargetsParam, new_channels};

pub(crate) fn routes() -> Routes {
    let own = get(endpoint(list).documented("List the caller's subscriptions.", listed))
        .post(endpoint(subscribe).documented("Put the caller or others into channels.", entered_schema))
        .patch(endpoint(change).documented("Enter and leave channels, all of it or nothing.", changed_schema))
        .delete(endpoint(unsubscribe).documented("Take the caller or others out of channels.", left_schema));
    let choose_one =
        patch(endpoint(choose_one).documented("Choose something for one of the caller's channels.", no_members));
    let is_inside = endpoint(is_subscribed).documented("Tell whether a user is in a channel.", is_inside);
    Routes::of("channels")
        .api("/users/me/subscriptions", own)
        .api(
            "/users/me/subscriptions/properties",
            post(endpoint(choose).documented("Choose things for channels.", no_members)),
        )
        .api("/users/me/subscriptions/{stream_id}", choose_one)
        .api("/users/{user_id}/subscriptions/{stream_id}", get(is_inside))
}

/// The parameters of `GET /users/me/subscriptions`.
struct ListSubscriptionsParams(SubscriptionFields);

impl Params for ListSubscriptionsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let subscribers = reader.or::<Json<bool>>("include_subscribers", false)?;
        Ok(Self(SubscriptionFields { null_notifications: true, subscribers }))
    }
}

/// Returns the caller's subscriptions, in the order of their channels' names.
async fn list(
    call: ApiCall<Caller>,
    ListSubscriptionsParams(fields): ListSubscriptionsParams,
) -> Result<ApiResponse, ApiError> {
    let Caller { user, realm, .. } = &call.caller;
    let inside = realm.memberships(user.id).filter_map(|(id, membership)| {
        let channel: &Channel = realm.channel(id)?;
        Some((channel, membership.subscription.as_ref()?)).filter(|(channel, _)| !channel.is_archived)
    });
    let mut inside: Vec<_> = inside.collect();
    inside.sort_by_cached_key(|(channel, _)| chat_core::model::channel::name_key(&channel.name));
    let figures = figures(&call.app, inside.iter().map(|(channel, _)| channel.id).collect::<Vec<_>>()).await?;
    let shown = |(channel, subscription)| full(realm, channel, subscription, &figures, fields);
    let subscriptions: Vec<Map<String, Value>> = inside.into_iter().map(shown).collect();
    ApiResponse::from_payload(&json!({"subscriptions": subscriptions}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("subscriptions", Schema::list(Schema::named("Subscription")))]
}

impl Params for SubscribeRequest {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            channels: reader.required::<SubscribeTargetsParam>("subscriptions")?,
            principals: reader.or::<PrincipalsParam>("principals", Principals::Caller)?,
            manner: new_channels(reader)?,
            all_or_nothing: reader.or::<Json<bool>>("authorization_errors_fatal", true)?,
        })
    }
}

/// Returns the channels of these names, as far as they exist.
fn existing(call: &ApiCall<Caller>, names: impl Iterator<Item = impl AsRef<str>>) -> Vec<ChannelId> {
    names.filter_map(|name| call.caller.realm.channel_by_name(name.as_ref())).map(|channel| channel.id).collect()
}

/// Puts the caller or others into channels; makes those that do not exist.
async fn subscribe(call: ApiCall<Caller>, request: SubscribeRequest) -> Result<ApiResponse, ApiError> {
    let about = existing(&call, request.channels.iter().map(|target| &target.name));
    let done = decide(&call, about, |env, commit| channels::subscribe(env, &request, commit)).await?;
    ApiResponse::from_payload(&entered(&done, request.all_or_nothing))
}

fn entered(done: &SubscribeOutcome, all_or_nothing: bool) -> Map<String, Value> {
    let mut response = Map::new();
    response.insert("subscribed".to_owned(), json!(done.subscribed));
    response.insert("already_subscribed".to_owned(), json!(done.already_subscribed));
    if !all_or_nothing {
        response.insert("unauthorized".to_owned(), json!(done.unauthorized));
    }
    response
}

/// Returns the members of the response.
fn entered_schema() -> Vec<Member> {
    let by_user = || Schema::map(Schema::list(Schema::string())).meaning("Names of channels, by user.");
    vec![
        has("subscribed", by_user()),
        has("already_subscribed", by_user()),
        may("unauthorized", Schema::list(Schema::string())),
    ]
}

/// The parameters of `DELETE /users/me/subscriptions`.
struct UnsubscribeParams {
    names: Vec<String>,
    principals: Principals,
}

impl Params for UnsubscribeParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            names: reader.required::<Json<Vec<String>>>("subscriptions")?,
            principals: reader.or::<PrincipalsParam>("principals", Principals::Caller)?,
        })
    }
}

/// Takes the caller or others out of channels.
async fn unsubscribe(
    call: ApiCall<Caller>,
    UnsubscribeParams { names, principals }: UnsubscribeParams,
) -> Result<ApiResponse, ApiError> {
    let about = existing(&call, names.iter());
    let unread = unread_where_left(&call.app.message_ports(), &meant(&call, &principals), &about).await?;
    let done = decide(&call, about, |env, commit| channels::unsubscribe(env, &names, &principals, commit)).await?;
    mark_left(&call.app.message_ports(), unread).await;
    ApiResponse::from_payload(&left(&done))
}

/// Those of the users who are meant that there are.
fn meant(call: &ApiCall<Caller>, principals: &Principals) -> Vec<UserId> {
    match principals {
        Principals::Caller => vec![call.caller.id()],
        Principals::Ids(ids) => ids.clone(),
        Principals::Emails(emails) => {
            let found = |email: &String| {
                address_visibility::find_user(&call.caller.realm, &call.caller.user, email).map(|user| user.id)
            };
            emails.iter().filter_map(found).collect()
        }
    }
}

fn left(done: &UnsubscribeOutcome) -> Map<String, Value> {
    let mut response = Map::new();
    response.insert("removed".to_owned(), json!(done.removed));
    response.insert("not_removed".to_owned(), json!(done.not_removed));
    response
}

/// Returns the members of the response.
fn left_schema() -> Vec<Member> {
    vec![has("removed", Schema::list(Schema::string())), has("not_removed", Schema::list(Schema::string()))]
}

/// The parameters of `PATCH /users/me/subscriptions`: channels to leave and channels to enter.
struct UpdateSubscriptionsParams {
    add: Vec<SubscribeTarget>,
    delete: Vec<String>,
}

impl Params for UpdateSubscriptionsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            delete: reader.or::<Json<Vec<String>>>("delete", Vec::new())?,
            add: reader.or::<SubscribeTargetsParam>("add", Vec::new())?,
        })
    }
}

/// Takes the caller out of channels and puts them into others: all of it or nothing.
async fn change(
    call: ApiCall<Caller>,
    UpdateSubscriptionsParams { add, delete }: UpdateSubscriptionsParams,
) -> Result<ApiResponse, ApiError> {
    if add.is_empty() && delete.is_empty() {
        return Err(ParamError::NothingToDo.into());
    }
    let about = existing(&call, delete.iter().chain(add.iter().map(|target| &target.name)));
    let request =
        SubscribeRequest { channels: add, principals: Principals::Caller, manner: form::USUAL, all_or_nothing: true };
    let both = |env: &ChannelEnv<'_>,
                commit: &mut RealmCommit|
     -> Result<(SubscribeOutcome, UnsubscribeOutcome), ChannelError> {
        let gone = channels::unsubscribe(env, &delete, &Principals::Caller, commit)?;
        let come = if request.channels.is_empty() {
            SubscribeOutcome::default()
        } else {
            channels::subscribe(env, &request, commit)?
        };
        Ok((come, gone))
    };
    let leaving = existing(&call, delete.iter());
    let unread = unread_where_left(&call.app.message_ports(), &[call.caller.id()], &leaving).await?;
    let (come, gone) = decide(&call, about, both).await?;
    mark_left(&call.app.message_ports(), unread).await;
    let mut response = entered(&come, true);
    response.extend(left(&gone));
    ApiResponse::from_payload(&response)
}

/// Returns the members of the response.
fn changed_schema() -> Vec<Member> {
    entered_schema().into_iter().chain(left_schema()).collect()
}

/// The parameters of `POST /users/me/subscriptions/properties`.
struct SubscriptionPropertiesParams(Vec<(ChannelId, SubscriptionPropertyChange)>);

impl Params for SubscriptionPropertiesParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<PropertyChangesParam>("subscription_data").map(Self)
    }
}

/// Writes down what the caller chose for some of their channels.
async fn choose(
    call: ApiCall<Caller>,
    SubscriptionPropertiesParams(choices): SubscriptionPropertiesParams,
) -> Result<ApiResponse, ApiError> {
    decide(&call, [], |env, commit| channels::choose(env, &choices, commit)).await?;
    Ok(ApiResponse::empty())
}

/// The parameters of `PATCH /users/me/subscriptions/{stream_id}`.
struct SubscriptionPropertyParams(SubscriptionPropertyChange);

impl Params for SubscriptionPropertyParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let property = reader.required::<TextParam>("property")?;
        reader.more_precisely(|_| Schema::words(form::PROPERTIES));
        let value = reader.required::<Json<Value>>("value")?;
        form::choice(&property, value, &JsonPath::name("value")).map(Self)
    }
}

/// Writes down what the caller chose for one of their channels.
async fn choose_one(
    call: ApiCall<Caller>,
    SubscriptionPropertyParams(choice): SubscriptionPropertyParams,
) -> Result<ApiResponse, ApiError> {
    let choices = [(ChannelId(call.path_id("stream_id")?), choice)];
    decide(&call, [], |env, commit| channels::choose(env, &choices, commit)).await?;
    Ok(ApiResponse::empty())
}

/// Returns whether a user is in a channel.
async fn is_subscribed(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let Caller { user: caller, realm, .. } = &call.caller;
    let user_id = UserId(call.path_id("user_id")?);
    let user = realm.user(user_id).ok_or(ChannelError::NoSuchUser)?;
    let channel = access::channel(realm, caller, ChannelId(call.path_id("stream_id")?))?;
    if !access::sees_subscribers(realm, caller, channel) {
        return Err(access::ChannelNotFound::Id(channel.id).into());
    }
    ApiResponse::from_payload(&json!({"is_subscribed": realm.subscription(channel.id, user.id).is_some()}))
}

/// Returns the members of the response.
fn is_inside() -> Vec<Member> {
    vec![has("is_subscribed", Schema::boolean())]
}
