//! `/users/me/subscriptions`: who is in which channel, and what they chose for it.

mod form;

use chat_core::channels::{
    self, ChannelContext, ChannelError, ChannelToSubscribe, Principals, SubscribeOutcome, SubscribeRequest,
    SubscriptionPropertyChange, UnsubscribeOutcome,
};
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::{ChannelId, UserId};
use chat_core::messages::flag_update::{mark_left_channels_read, unread_in_left_channels};
use chat_core::messages::notices::ChannelNoticeOptions;
use chat_core::model::channel::Channel;
use chat_core::model::email_address_visibility;
use chat_core::permission::access;
use chat_core::wire_format::subscription::{SubscriptionFields, subscription_object};
use serde_json::{Map, Value, json};

use super::channels::{IncludeSubscribersParam, decide, decide_and_report, figures};
use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, ParamValuePath, TextParam};
use crate::routes::{Routes, get, no_members, patch, post};
pub(crate) use form::new_channel_settings;
use form::{PrincipalsParam, PropertyChangesParam, SubscribeTargetsParam};

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

impl EndpointParams for ListSubscriptionsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let subscribers = reader.optional_or::<IncludeSubscribersParam>("include_subscribers", false)?;
        Ok(Self(SubscriptionFields { null_notifications: true, email_address: false, subscribers }))
    }
}

/// Returns the caller's subscriptions, in the order of their channels' names.
async fn list(
    call: ApiCall<AuthenticatedCaller>,
    ListSubscriptionsParams(fields): ListSubscriptionsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let AuthenticatedCaller { user, realm, .. } = &call.caller;
    let inside = realm.memberships_of_user(user.id).filter_map(|(id, membership)| {
        let channel: &Channel = realm.channel(id)?;
        Some((channel, membership.subscription.as_ref()?)).filter(|(channel, _)| !channel.is_archived)
    });
    let mut inside: Vec<_> = inside.collect();
    inside.sort_by_cached_key(|(channel, _)| chat_core::model::channel::channel_name_key(&channel.name));
    let figures = figures(&call.app, inside.iter().map(|(channel, _)| channel.id).collect::<Vec<_>>()).await?;
    let shown = |(channel, subscription)| subscription_object(realm, channel, subscription, &figures, fields);
    let subscriptions: Vec<Map<String, Value>> = inside.into_iter().map(shown).collect();
    ApiResponsePayload::from_payload(&json!({"subscriptions": subscriptions}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("subscriptions", JsonSchema::list(JsonSchema::reference_to("Subscription")))]
}

/// The parameters of `POST /users/me/subscriptions`.
struct SubscribeParams {
    request: SubscribeRequest,
    notices: ChannelNoticeOptions,
}

impl EndpointParams for SubscribeParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let request = SubscribeRequest {
            channels: reader.required::<SubscribeTargetsParam>("subscriptions")?,
            principals: reader.optional_or::<PrincipalsParam>("principals", Principals::Caller)?,
            manner: new_channel_settings(reader)?,
            all_or_nothing: reader.optional_or::<JsonParam<bool>>("authorization_errors_fatal", true)?,
        };
        let announces = reader.optional_or::<JsonParam<bool>>("announce", false)?;
        let tells_subscribers = reader.optional_or::<JsonParam<bool>>("send_new_subscription_messages", true)?;
        let notices = ChannelNoticeOptions { announces, tells_subscribers };
        Ok(Self { request, notices })
    }
}

/// Returns the channels of these names, as far as they exist.
fn existing(call: &ApiCall<AuthenticatedCaller>, names: impl Iterator<Item = impl AsRef<str>>) -> Vec<ChannelId> {
    let channels = names.filter_map(|name| call.caller.realm.channel_by_name_even_archived(name.as_ref()));
    channels.map(|channel| channel.id).collect()
}

/// Puts the caller or others into channels; makes those that do not exist.
async fn subscribe(
    call: ApiCall<AuthenticatedCaller>,
    SubscribeParams { request, notices }: SubscribeParams,
) -> Result<ApiResponsePayload, ApiError> {
    let about = existing(&call, request.channels.iter().map(|target| &target.name));
    let enter = |env: &ChannelContext<'_>, commit: &mut RealmCommit| channels::subscribe_users(env, &request, commit);
    let (done, sent) = decide_and_report(&call, about, notices, enter).await?;
    let mut response = entered(&done, request.all_or_nothing);
    if notices.tells_subscribers {
        response.insert("new_subscription_messages_sent".to_owned(), sent.told_subscribers.into());
    }
    ApiResponsePayload::from_payload(&response)
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
fn entered_schema() -> Vec<SchemaMember> {
    let by_user =
        || JsonSchema::map(JsonSchema::list(JsonSchema::string())).with_description("Names of channels, by user.");
    vec![
        required_schema_member("subscribed", by_user()),
        required_schema_member("already_subscribed", by_user()),
        optional_schema_member("unauthorized", JsonSchema::list(JsonSchema::string())),
        optional_schema_member("new_subscription_messages_sent", JsonSchema::boolean()),
    ]
}

/// The parameters of `DELETE /users/me/subscriptions`.
struct UnsubscribeParams {
    names: Vec<String>,
    principals: Principals,
}

impl EndpointParams for UnsubscribeParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            names: reader.required::<JsonParam<Vec<String>>>("subscriptions")?,
            principals: reader.optional_or::<PrincipalsParam>("principals", Principals::Caller)?,
        })
    }
}

/// Takes the caller or others out of channels.
async fn unsubscribe(
    call: ApiCall<AuthenticatedCaller>,
    UnsubscribeParams { names, principals }: UnsubscribeParams,
) -> Result<ApiResponsePayload, ApiError> {
    let about = existing(&call, names.iter());
    let unread = unread_in_left_channels(&call.app.message_ports(), &meant(&call, &principals), &about).await?;
    let done =
        decide(&call, about, |env, commit| channels::unsubscribe_users(env, &names, &principals, commit)).await?;
    mark_left_channels_read(&call.app.message_ports(), unread).await;
    ApiResponsePayload::from_payload(&left(&done))
}

/// Those of the users who are meant that there are.
fn meant(call: &ApiCall<AuthenticatedCaller>, principals: &Principals) -> Vec<UserId> {
    match principals {
        Principals::Caller => vec![call.caller.user_id()],
        Principals::Ids(ids) => ids.clone(),
        Principals::Emails(emails) => {
            let found = |email: &String| {
                email_address_visibility::find_user_by_visible_email(&call.caller.realm, &call.caller.user, email)
                    .map(|user| user.id)
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
fn left_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("removed", JsonSchema::list(JsonSchema::string())),
        required_schema_member("not_removed", JsonSchema::list(JsonSchema::string())),
    ]
}

/// The parameters of `PATCH /users/me/subscriptions`: channels to leave and channels to enter.
struct UpdateSubscriptionsParams {
    add: Vec<ChannelToSubscribe>,
    delete: Vec<String>,
}

impl EndpointParams for UpdateSubscriptionsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            delete: reader.optional_or::<JsonParam<Vec<String>>>("delete", Vec::new())?,
            add: reader.optional_or::<SubscribeTargetsParam>("add", Vec::new())?,
        })
    }
}

/// Takes the caller out of channels and puts them into others: all of it or nothing.
async fn change(
    call: ApiCall<AuthenticatedCaller>,
    UpdateSubscriptionsParams { add, delete }: UpdateSubscriptionsParams,
) -> Result<ApiResponsePayload, ApiError> {
    if add.is_empty() && delete.is_empty() {
        return Err(ParamError::NothingToDo.into());
    }
    let about = existing(&call, delete.iter().chain(add.iter().map(|target| &target.name)));
    let request =
        SubscribeRequest { channels: add, principals: Principals::Caller, manner: form::USUAL, all_or_nothing: true };
    let both = |env: &ChannelContext<'_>,
                commit: &mut RealmCommit|
     -> Result<(SubscribeOutcome, UnsubscribeOutcome), ChannelError> {
        let gone = channels::unsubscribe_users(env, &delete, &Principals::Caller, commit)?;
        let come = if request.channels.is_empty() {
            SubscribeOutcome::default()
        } else {
            channels::subscribe_users(env, &request, commit)?
        };
        Ok((come, gone))
    };
    let leaving = existing(&call, delete.iter());
    let unread = unread_in_left_channels(&call.app.message_ports(), &[call.caller.user_id()], &leaving).await?;
    let notices = ChannelNoticeOptions { announces: false, tells_subscribers: true };
    let ((come, gone), sent) = decide_and_report(&call, about, notices, both).await?;
    mark_left_channels_read(&call.app.message_ports(), unread).await;
    let mut response = entered(&come, true);
    response.insert("new_subscription_messages_sent".to_owned(), sent.told_subscribers.into());
    response.extend(left(&gone));
    ApiResponsePayload::from_payload(&response)
}

/// Returns the members of the response.
fn changed_schema() -> Vec<SchemaMember> {
    entered_schema().into_iter().chain(left_schema()).collect()
}

/// The parameters of `POST /users/me/subscriptions/properties`.
struct SubscriptionPropertiesParams(Vec<(ChannelId, SubscriptionPropertyChange)>);

impl EndpointParams for SubscriptionPropertiesParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<PropertyChangesParam>("subscription_data").map(Self)
    }
}

/// Writes down what the caller chose for some of their channels.
async fn choose(
    call: ApiCall<AuthenticatedCaller>,
    SubscriptionPropertiesParams(choices): SubscriptionPropertiesParams,
) -> Result<ApiResponsePayload, ApiError> {
    decide(&call, [], |env, commit| channels::change_subscription_properties(env, &choices, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `PATCH /users/me/subscriptions/{stream_id}`.
struct SubscriptionPropertyParams(SubscriptionPropertyChange);

impl EndpointParams for SubscriptionPropertyParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let property = reader.required::<TextParam>("property")?;
        reader.refine_last_schema(|_| JsonSchema::one_of_words(form::PROPERTIES));
        let value = reader.required::<JsonParam<Value>>("value")?;
        form::choice(&property, value, &ParamValuePath::root("value")).map(Self)
    }
}

/// Writes down what the caller chose for one of their channels.
async fn choose_one(
    call: ApiCall<AuthenticatedCaller>,
    SubscriptionPropertyParams(choice): SubscriptionPropertyParams,
) -> Result<ApiResponsePayload, ApiError> {
    let choices = [(ChannelId(call.path_id("stream_id")?), choice)];
    decide(&call, [], |env, commit| channels::change_subscription_properties(env, &choices, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Returns whether a user is in a channel.
async fn is_subscribed(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let AuthenticatedCaller { user: caller, realm, .. } = &call.caller;
    let user_id = UserId(call.path_id("user_id")?);
    let user = realm.user(user_id).ok_or(ChannelError::NoSuchUser)?;
    let channel = access::find_visible_channel(realm, caller, ChannelId(call.path_id("stream_id")?))?;
    if !access::may_see_subscribers(realm, caller, channel) {
        return Err(access::ChannelNotFound::Id(channel.id).into());
    }
    ApiResponsePayload::from_payload(&json!({"is_subscribed": realm.subscription(channel.id, user.id).is_some()}))
}

/// Returns the members of the response.
fn is_inside() -> Vec<SchemaMember> {
    vec![required_schema_member("is_subscribed", JsonSchema::boolean())]
}
