//! Small things of a realm and of a user as clients see them: their documents, with their numbers.

use serde_json::{Map, Value, json};

use crate::id::{ChannelId, UserId};
use crate::model::channel::Channel;
use crate::model::realm_change::{RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::permission::access;

/// Returns the objects of all custom emoji, active or not, by id; an emoji's `id` is a string.
#[must_use]
pub fn custom_emoji_objects(realm: &RealmSnapshot) -> Map<String, Value> {
    let emoji = realm.realm_items(RealmItemKind::Emoji);
    emoji.map(|(id, document)| (id.to_string(), with("id", json!(id.to_string()), document))).collect()
}

/// Returns the linkifier objects in the order in which they are applied: by `order`, which is left out of them, or else
/// by id.
#[must_use]
pub fn linkifier_objects(realm: &RealmSnapshot) -> Vec<Value> {
    ordered(realm, RealmItemKind::Linkifier).into_iter().map(|object| without(object, "order")).collect()
}

/// Returns the custom profile field objects in their order.
#[must_use]
pub fn profile_field_objects(realm: &RealmSnapshot) -> Vec<Value> {
    ordered(realm, RealmItemKind::ProfileField)
}

/// Returns the code playground objects.
#[must_use]
pub fn playground_objects(realm: &RealmSnapshot) -> Vec<Value> {
    realm.realm_items(RealmItemKind::Playground).map(|(id, document)| with("id", json!(id), document)).collect()
}

/// Returns the object of a channel folder.
#[must_use]
pub(crate) fn channel_folder_object(id: i64, document: &Value) -> Value {
    with("id", json!(id), document)
}

/// Returns the channel folder objects, archived ones included, in their order.
#[must_use]
pub fn channel_folder_objects(realm: &RealmSnapshot) -> Vec<Value> {
    ordered(realm, RealmItemKind::ChannelFolder)
}

/// Returns the active default channels, to which new users are subscribed, in ascending order.
pub fn default_channels(realm: &RealmSnapshot) -> impl Iterator<Item = &Channel> {
    let channels = realm.realm_items(RealmItemKind::DefaultChannel).filter_map(|(id, _)| realm.channel(ChannelId(id)));
    channels.map(AsRef::as_ref).filter(|channel| !channel.is_archived)
}

/// Returns the user's topic visibility policies as objects of the wire, which are the stored documents themselves.
/// Those with policy 0 are left out.
#[must_use]
pub fn user_topic_objects(realm: &RealmSnapshot, user_id: UserId) -> Vec<Value> {
    let policies = realm.user_items(user_id, UserItemKind::TopicPolicy);
    policies.filter(|(_, document)| policy_of(document) != 0).map(|(_, document)| document.clone()).collect()
}

/// Returns the user's muted topics in the legacy format: channel name, topic and time. Those of channels that the user
/// can no longer see are left out, as the channel's present name is not theirs to know.
#[must_use]
pub fn legacy_muted_topics(realm: &RealmSnapshot, user_id: UserId) -> Vec<Value> {
    let policies = realm.user_items(user_id, UserItemKind::TopicPolicy);
    policies.filter_map(|(_, document)| muted_topic(realm, user_id, document)).collect()
}

/// Returns the user's muted topics in the legacy format, with the documents of the given keys replaced.
#[must_use]
pub fn legacy_muted_topics_with(realm: &RealmSnapshot, user_id: UserId, now: &[(String, Value)]) -> Vec<Value> {
    let is_now = |key: &str| now.iter().any(|(other, _)| other == key);
    let others = realm.user_items(user_id, UserItemKind::TopicPolicy).filter(|(key, _)| !is_now(key));
    let documents = others.map(|(_, document)| document).chain(now.iter().map(|(_, document)| document));
    documents.filter_map(|document| muted_topic(realm, user_id, document)).collect()
}

fn muted_topic(realm: &RealmSnapshot, user_id: UserId, document: &Value) -> Option<Value> {
    let channel = realm.channel(ChannelId(document.get("stream_id")?.as_i64()?))?;
    if !access::may_see_channel(realm, realm.user(user_id)?, channel) {
        return None;
    }
    let shown = json!([channel.name, document.get("topic_name")?, document.get("last_updated")?]);
    (policy_of(document) == 1).then_some(shown)
}

/// Returns the wire's `visibility_policy`: 0 none, 1 muted, 2 unmuted, 3 followed.
fn policy_of(document: &Value) -> i64 {
    document.get("visibility_policy").and_then(Value::as_i64).unwrap_or(0)
}

/// Returns the users whom the user has muted, each with the time; the key of a document is the id of the muted user.
#[must_use]
pub fn muted_user_objects(realm: &RealmSnapshot, user_id: UserId) -> Vec<Value> {
    let muted = realm.user_items(user_id, UserItemKind::MutedUser);
    let shown = muted.filter_map(|(key, document)| Some(with("id", json!(key.parse::<i64>().ok()?), document)));
    shown.collect()
}

fn ordered(realm: &RealmSnapshot, kind: RealmItemKind) -> Vec<Value> {
    let mut items: Vec<_> = realm.realm_items(kind).map(|(id, document)| (order(id, document), id, document)).collect();
    items.sort_by_key(|(order, id, _)| (*order, *id));
    items.into_iter().map(|(_, id, document)| with("id", json!(id), document)).collect()
}

/// Returns where a small thing stands among those of its kind: where it was put, or else its number.
pub(crate) fn order(id: i64, document: &Value) -> i64 {
    document.get("order").and_then(Value::as_i64).unwrap_or(id)
}

fn with(key: &str, value: Value, document: &Value) -> Value {
    let mut members = document.as_object().cloned().unwrap_or_default();
    members.insert(key.to_owned(), value);
    Value::Object(members)
}

fn without(mut object: Value, key: &str) -> Value {
    if let Value::Object(members) = &mut object {
        members.remove(key);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn of_user(kind: UserItemKind, key: &str, document: Value) -> RealmChange {
        RealmChange::UserItem { user_id: UserId(4), kind, key: key.to_owned(), document: Some(document) }
    }

    #[test]
    fn items_are_told_with_their_numbers_and_in_their_order() {
        let item = |kind, id, document| RealmChange::Item { kind, id, document: Some(document) };
        let realm = testing::realm(
            RealmPermissionSettings::default(),
            vec![
                item(RealmItemKind::Linkifier, 5, json!({"pattern": "a", "url_template": "b", "order": 9})),
                item(RealmItemKind::Linkifier, 6, json!({"pattern": "c", "url_template": "d", "order": 2})),
                item(RealmItemKind::Emoji, 7, json!({"name": "wave"})),
            ],
        );
        assert_eq!(
            linkifier_objects(&realm),
            [
                json!({"pattern": "c", "url_template": "d", "id": 6}),
                json!({"pattern": "a", "url_template": "b", "id": 5})
            ]
        );
        assert_eq!(Value::Object(custom_emoji_objects(&realm)), json!({"7": {"name": "wave", "id": "7"}}));
    }

    #[test]
    fn only_muted_topics_are_told_as_muted_and_only_policies_as_policies() {
        let topic = |name: &str, policy: i64| json!({"stream_id": 20, "topic_name": name, "last_updated": 5, "visibility_policy": policy});
        let realm = testing::realm(
            RealmPermissionSettings::default(),
            vec![
                RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
                of_user(UserItemKind::TopicPolicy, "20/a", topic("a", 1)),
                of_user(UserItemKind::TopicPolicy, "20/b", topic("b", 3)),
                of_user(UserItemKind::TopicPolicy, "20/c", topic("c", 0)),
                of_user(UserItemKind::MutedUser, "3", json!({"timestamp": 8})),
            ],
        );
        assert_eq!(legacy_muted_topics(&realm, UserId(4)), [json!(["Channel 20", "a", 5])]);
        assert_eq!(user_topic_objects(&realm, UserId(4)), [topic("a", 1), topic("b", 3)]);
        assert_eq!(muted_user_objects(&realm, UserId(4)), [json!({"timestamp": 8, "id": 3})]);
        assert!(muted_user_objects(&realm, UserId(3)).is_empty());
    }

    #[test]
    fn a_channel_that_is_seen_no_longer_is_not_named_by_what_was_muted_in_it() {
        let muted = json!({"stream_id": 20, "topic_name": "a", "last_updated": 5, "visibility_policy": 1});
        let private = testing::channel(20, ChannelPrivacy::PrivateSharedHistory);
        let changes =
            vec![RealmChange::Channel(Box::new(private)), of_user(UserItemKind::TopicPolicy, "20/a", muted.clone())];
        let realm = testing::realm(RealmPermissionSettings::default(), changes);
        assert_eq!(legacy_muted_topics(&realm, UserId(4)), Vec::<Value>::new());
        assert_eq!(legacy_muted_topics_with(&realm, UserId(4), &[("20/a".to_owned(), muted)]), Vec::<Value>::new());
    }
}
