//! The names in a message, with their meaning when the message was rendered at the original server.
//!
//! People, channels, groups and emoji are renamed and go out of use; a message names them as they were called then. The
//! HTML of an export says by number whom and what it named, so names are resolved through it. It is read for that
//! alone: nothing of it is shown.

use std::collections::HashMap;

use serde_json::Value;

use crate::id::{ChannelId, UserGroupId, UserId};
use crate::markdown::{Linkifier, NameDirectory, html_to_plain_text};
use crate::model::realm_change::RealmItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::fold_case;

/// Elements that are read of one message, at most.
const NAMES_MAX: usize = 2_000;

/// The names of one message, before those of the organization as it is now.
pub(super) struct RenderedNames<'a> {
    realm: &'a RealmSnapshot,
    html: &'a str,
    users: HashMap<UserId, String>,
    users_by_name: HashMap<String, UserId>,
    groups: HashMap<String, (UserGroupId, String)>,
    channels: HashMap<String, ChannelId>,
}

impl<'a> RenderedNames<'a> {
    /// Reads the HTML that the export has of a message. Users, groups and channels that are not here are left out.
    pub(super) fn of(realm: &'a RealmSnapshot, html: &'a str) -> Self {
        let mut names = Self {
            realm,
            html,
            users: HashMap::new(),
            users_by_name: HashMap::new(),
            groups: HashMap::new(),
            channels: HashMap::new(),
        };
        for (tag, inside) in elements(html).take(NAMES_MAX) {
            if let Some(id) = number(tag, " data-user-id=\"").map(UserId).filter(|id| realm.user(*id).is_some()) {
                let name = shown(inside, '@');
                names.users_by_name.insert(fold_case(&name), id);
                names.users.insert(id, name);
            } else if let Some(id) = number(tag, " data-user-group-id=\"").map(UserGroupId)
                && realm.group(id).is_some()
            {
                let name = shown(inside, '@');
                names.groups.insert(fold_case(&name), (id, name));
            } else if let Some(id) = number(tag, " data-stream-id=\"").map(ChannelId)
                && realm.channel(id).is_some()
            {
                let name = shown(inside, '#');
                let has_topic = tag.contains("stream-topic") || tag.contains("message-link");
                let channel =
                    name.split_once(" > ").filter(|_| has_topic).map_or(name.as_str(), |(channel, _)| channel);
                names.channels.insert(channel.to_owned(), id);
            }
        }
        names
    }

    /// Those of the linkifiers that made a link then.
    pub(super) fn linkifiers(&self, all: &[Linkifier]) -> Vec<Linkifier> {
        let made = |linkifier: &&Linkifier| self.html.contains(&format!("href=\"{}", linkifier.address_start()));
        all.iter().filter(made).cloned().collect()
    }
}

impl NameDirectory for RenderedNames<'_> {
    fn user_full_name(&self, id: UserId) -> Option<&str> {
        self.users.get(&id).map(String::as_str).or_else(|| NameDirectory::user_full_name(self.realm, id))
    }

    fn user_by_full_name(&self, full_name: &str) -> Option<(UserId, &str)> {
        let known = self.users_by_name.get(&fold_case(full_name));
        let known = known.and_then(|id| Some((*id, self.users.get(id)?.as_str())));
        known.or_else(|| self.realm.user_by_full_name(full_name))
    }

    fn group_by_name(&self, name: &str) -> Option<(UserGroupId, &str)> {
        let known = self.groups.get(&fold_case(name)).map(|(id, name)| (*id, name.as_str()));
        known.or_else(|| self.realm.group_by_name(name))
    }

    fn system_group_by_name(&self, name: &str) -> Option<UserGroupId> {
        self.realm.system_group_by_name(name)
    }

    fn system_group_display_name(&self, name: &str) -> Option<&'static str> {
        self.realm.system_group_display_name(name)
    }

    fn channel_id_by_name(&self, name: &str) -> Option<ChannelId> {
        self.channels.get(name).copied().or_else(|| self.realm.channel_id_by_name(name))
    }

    /// Also one that is out of use now; none that came later.
    fn custom_emoji_url(&self, name: &str) -> Option<&str> {
        if !self.html.contains(&format!("<img alt=\":{name}:\"")) {
            return None;
        }
        let is_called = |emoji: &Value| emoji.get("name").and_then(Value::as_str) == Some(name);
        self.realm.custom_emoji_url(name).or_else(|| {
            let (_, emoji) = self.realm.realm_items(RealmItemKind::Emoji).find(|(_, emoji)| is_called(emoji))?;
            emoji.get("source_url")?.as_str()
        })
    }
}

/// Returns the elements of a text that carry data, each as its tag and what is in it.
fn elements(html: &str) -> impl Iterator<Item = (&str, &str)> {
    html.split('<').skip(1).filter_map(|piece| {
        let (tag, inside) = piece.split_once('>')?;
        tag.contains(" data-").then_some((tag, inside))
    })
}

fn number(tag: &str, attribute: &str) -> Option<i64> {
    tag.split_once(attribute)?.1.split_once('"')?.0.parse().ok()
}

/// Returns what an element shows, without the sign before it.
fn shown(inside: &str, sign: char) -> String {
    let text = html_to_plain_text(inside);
    text.strip_prefix(sign).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::render_context::{RenderContext, RenderSettings};
    use crate::model::role::Role;
    use crate::model::user::User;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        let gone = User { is_active: false, full_name: "Renamed".to_owned(), ..testing::user(3, Role::Member) };
        let emoji = |id: i64, name: &str, deactivated: bool| RealmChange::Item {
            kind: RealmItemKind::Emoji,
            id,
            document: Some(json!({"name": name, "source_url": format!("/e/{id}.png"), "deactivated": deactivated})),
        };
        let linkifier = |id: i64, pattern: &str, url: &str| RealmChange::Item {
            kind: RealmItemKind::Linkifier,
            id,
            document: Some(json!({"pattern": pattern, "url_template": url})),
        };
        let changes = vec![
            RealmChange::User(Box::new(gone)),
            RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
            emoji(1, "old", true),
            emoji(2, "late", false),
            linkifier(1, "#(?P<id>[0-9]+)", "https://then.example/{id}"),
            linkifier(2, "T(?P<id>[0-9]+)", "https://later.example/{id}"),
        ];
        testing::realm(RealmPermissionSettings::default(), changes)
    }

    #[test]
    fn a_name_means_what_it_meant_when_the_message_was_rendered() {
        let realm = realm();
        let html = "<p><span class=\"user-mention\" data-user-id=\"3\">@Ann &amp; Co</span> \
            <a class=\"stream-topic\" data-stream-id=\"20\" href=\"/#narrow/stream/20-x/topic/a\">#before &gt; a</a> \
            <img alt=\":old:\" class=\"emoji\" src=\"/user_avatars/2/emoji/images/1.png\" title=\"old\"> :late: \
            <a href=\"https://then.example/4\">#4</a> T5 <script>x</script></p>";
        let names = RenderedNames::of(&realm, html);
        let render_context = RenderContext::from_realm(&realm);
        let setting =
            RenderSettings { realm_url: "https://x.org", render_context: &render_context, uploads: None, now_s: 0 };
        let linkifiers = names.linkifiers(render_context.linkifiers());
        let typed = "@**Ann & Co** @**ann & co|3** #**before>a** :old: :late: #4 T5";
        let writer = realm.user(UserId(4)).unwrap();
        let html = setting.render_with(&realm, (&names, &linkifiers), writer, typed).html;
        let mention = "<span class=\"user-mention\" data-user-id=\"3\">@Ann &amp; Co</span>";
        assert_eq!(
            html,
            format!(
                "<p>{mention} {mention} <a class=\"stream-topic\" data-stream-id=\"20\" \
                 href=\"/#narrow/stream/20-before/topic/a\">#before &gt; a</a> \
                 <img alt=\":old:\" class=\"emoji\" src=\"/e/1.png\" title=\"old\"> :late: \
                 <a href=\"https://then.example/4\">#4</a> T5</p>"
            )
        );
    }

    #[test]
    fn a_mention_of_an_account_out_of_use_is_silent() {
        let realm = realm();
        let render_context = RenderContext::from_realm(&realm);
        let setting =
            RenderSettings { realm_url: "https://x.org", render_context: &render_context, uploads: None, now_s: 0 };
        let rendered = setting.render_message(&realm, realm.user(UserId(4)).unwrap(), "@**Renamed**");
        assert_eq!(rendered.html, "<p><span class=\"user-mention silent\" data-user-id=\"3\">Renamed</span></p>");
        assert!(rendered.mentioned_users.is_empty());
    }

    #[test]
    fn who_is_not_here_is_not_named() {
        let realm = realm();
        let names =
            RenderedNames::of(&realm, "<p><span data-user-id=\"99\">@Nobody</span><a data-stream-id=\"98\">#x</a>");
        assert_eq!((names.user_by_full_name("Nobody"), names.channel_id_by_name("x")), (None, None));
        assert_eq!(names.user_by_full_name("User 4"), Some((UserId(4), "User 4")));
    }
}
