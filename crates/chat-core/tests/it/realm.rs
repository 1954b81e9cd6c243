//! A realm with a few names, for the tests.

use chat_core::id::{ChannelId, UserGroupId, UserId};
use chat_core::markdown::{
    self, EmoticonHandling, ImagePreviews, Linkifier, MarkdownContext, NameDirectory, RenderedMessage,
};
use std::sync::LazyLock;

/// Two users share the name `Twin`.
const USERS: [(i64, &str); 4] = [(10, "King Hamlet"), (11, "Cordelia, Lear's daughter"), (12, "Twin"), (13, "Twin")];

pub(crate) struct Realm;

impl NameDirectory for Realm {
    fn user_full_name(&self, id: UserId) -> Option<&str> {
        USERS.iter().find(|(known, _)| *known == id.0).map(|(_, name)| *name)
    }

    fn user_by_full_name(&self, full_name: &str) -> Option<(UserId, &str)> {
        let mut same = USERS.iter().filter(|(_, name)| name.to_lowercase() == full_name.to_lowercase());
        let (id, name) = same.next()?;
        same.next().is_none().then_some((UserId(*id), *name))
    }

    fn group_by_name(&self, name: &str) -> Option<(UserGroupId, &str)> {
        let known = ["Support", "role:members"].into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
        Some((UserGroupId(5), known))
    }

    fn system_group_by_name(&self, name: &str) -> Option<UserGroupId> {
        (name == "role:members").then_some(UserGroupId(6))
    }

    fn system_group_display_name(&self, name: &str) -> Option<&'static str> {
        (name == "role:members").then_some("Members")
    }

    fn channel_id_by_name(&self, name: &str) -> Option<ChannelId> {
        match name {
            "Denmark" => Some(ChannelId(3)),
            "web & co." => Some(ChannelId(4)),
            "a > b" => Some(ChannelId(6)),
            _ => None,
        }
    }

    fn custom_emoji_url(&self, name: &str) -> Option<&str> {
        match name {
            "green_tick" => Some("/user_avatars/2/emoji/images/1.png"),
            "evil" => Some("javascript:alert(1)"),
            _ => None,
        }
    }
}

static LINKIFIERS: LazyLock<Vec<Linkifier>> = LazyLock::new(|| {
    [
        (r"#(?P<id>[0-9]{2,8})", "https://trac.example.com/ticket/{id}"),
        (r"PR-(?P<id>[0-9]+)", "https://pulls.example.com/{id}"),
    ]
    .into_iter()
    .map(|(pattern, template)| Linkifier::new(pattern, template).expect("a linkifier"))
    .collect()
});

pub(crate) fn context() -> MarkdownContext<'static> {
    MarkdownContext {
        directory: &Realm,
        linkifiers: &LINKIFIERS,
        realm_url: "http://chat.test",
        emoticons: EmoticonHandling::Keep,
        image_previews: ImagePreviews::Show,
        default_code_language: None,
    }
}

pub(crate) fn rendered(text: &str) -> RenderedMessage {
    markdown::render_message(&markdown::parse_message(text, &context()))
}

pub(crate) fn html(text: &str) -> String {
    rendered(text).html
}

pub(crate) fn with_emoticons(text: &str) -> String {
    let context = MarkdownContext { emoticons: EmoticonHandling::Translate, ..context() };
    markdown::render_message(&markdown::parse_message(text, &context)).html
}
