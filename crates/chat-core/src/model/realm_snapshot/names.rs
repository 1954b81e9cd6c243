//! The names of users, groups, channels and emoji that messages are read against.

use serde_json::Value;

use super::RealmSnapshot;
use crate::id::{ChannelId, UserGroupId, UserId};
use crate::markdown::NameDirectory;
use crate::model::group::SystemGroup;
use crate::model::realm_change::RealmItemKind;
use crate::model::user::fold_case;

impl NameDirectory for RealmSnapshot {
    fn user_full_name(&self, id: UserId) -> Option<&str> {
        self.users.get(&id).map(|user| user.full_name.as_str())
    }

    fn receives_mention_notifications(&self, id: UserId) -> bool {
        self.users.get(&id).is_some_and(|user| user.is_active)
    }

    /// One in use, or where there is none one out of use.
    fn user_by_full_name(&self, full_name: &str) -> Option<(UserId, &str)> {
        let users =
            || self.users_by_name.get(&fold_case(full_name)).into_iter().flatten().filter_map(|id| self.users.get(id));
        let in_use = users().any(|user| user.is_active);
        let mut found = users().filter(|user| user.is_active == in_use);
        let user = found.next()?;
        found.next().is_none().then_some((user.id, user.full_name.as_str()))
    }

    fn group_by_name(&self, name: &str) -> Option<(UserGroupId, &str)> {
        let key = fold_case(name);
        let group = self
            .groups
            .values()
            .find(|group| group.system.is_none() && !group.is_deactivated && fold_case(&group.name) == key)?;
        Some((group.id, &group.name))
    }

    fn system_group_by_name(&self, name: &str) -> Option<UserGroupId> {
        Some(self.system_group(SystemGroup::from_wire_name(name)?)?.id)
    }

    fn system_group_display_name(&self, name: &str) -> Option<&'static str> {
        SystemGroup::from_wire_name(name).map(SystemGroup::display_name)
    }

    fn channel_id_by_name(&self, name: &str) -> Option<ChannelId> {
        self.channel_by_name(name).filter(|channel| channel.name == name).map(|channel| channel.id)
    }

    fn custom_emoji_url(&self, name: &str) -> Option<&str> {
        let text = |document: &Value, key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut emoji =
            self.realm_items(RealmItemKind::Emoji).filter(|(_, emoji)| text(emoji, "name").as_deref() == Some(name));
        let (_, emoji) = emoji.find(|(_, emoji)| emoji.get("deactivated").and_then(Value::as_bool) != Some(true))?;
        emoji.get("source_url").and_then(Value::as_str)
    }
}
