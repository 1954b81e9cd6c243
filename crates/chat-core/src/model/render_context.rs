//! The words of a realm that every text is searched for: linkifiers and alert words, made ready once for many texts.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::files::ReadableLinkedUploads;
use crate::id::{AttachmentId, EventId, UserId};
use crate::markdown::{
    self, EmoticonHandling, ImagePreviews, Linkifier, MarkdownContext, NameDirectory, RenderedMessage,
};
use crate::model::realm_change::{RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::text_processing::alert_words::AlertWordMatcher;

/// The compiled linkifiers and alert words of a realm, for rendering messages.
///
/// Making one compiles every pattern of the realm, so it is kept for as long as it [`RenderContext::is_current`].
#[derive(Debug)]
pub struct RenderContext {
    linkifiers: Vec<Linkifier>,
    alert_words: Option<AlertWordMatcher>,
    of: EventId,
}

impl RenderContext {
    /// Compiles the linkifiers and alert words of the realm.
    ///
    /// A linkifier is a document with `pattern`, `url_template` and, where it was given one, `order`; one that
    /// cannot be compiled is left out, since whoever made it was told. Alert words are a list of texts.
    #[must_use]
    pub fn from_realm(realm: &RealmSnapshot) -> Self {
        let mut linkifiers: Vec<(i64, Linkifier)> = realm
            .realm_items(RealmItemKind::Linkifier)
            .filter_map(|(id, document)| {
                let text = |key: &str| document.get(key).and_then(Value::as_str);
                let order = document.get("order").and_then(Value::as_i64).unwrap_or(id);
                Some((order, Linkifier::new(text("pattern")?, text("url_template")?).ok()?))
            })
            .collect();
        linkifiers.sort_by_key(|(order, _)| *order);
        let words = realm.users().flat_map(|user| alert_words(realm, user.id));
        Self {
            linkifiers: linkifiers.into_iter().map(|(_, linkifier)| linkifier).collect(),
            alert_words: AlertWordMatcher::new(words).ok(),
            of: realm.text_patterns_changed_at(),
        }
    }

    /// Returns whether the realm's linkifiers and alert words are still those that were compiled.
    #[must_use]
    pub fn is_current(&self, realm: &RealmSnapshot) -> bool {
        self.of == realm.text_patterns_changed_at()
    }

    /// Returns the realm's linkifiers, in their order.
    #[must_use]
    pub fn linkifiers(&self) -> &[Linkifier] {
        &self.linkifiers
    }

    /// Returns the users whose alert words occur in the text, in ascending order.
    #[must_use]
    pub fn users_alerted_by(&self, content: &str) -> Vec<UserId> {
        let found = self.alert_words.as_ref().map(|words| words.users_alerted_by(content));
        found.into_iter().flatten().collect()
    }
}

fn alert_words(realm: &RealmSnapshot, user_id: UserId) -> impl Iterator<Item = (UserId, &str)> {
    let words = realm.user_item(user_id, UserItemKind::AlertWords, "").and_then(Value::as_array);
    words.into_iter().flatten().filter_map(move |word| Some((user_id, word.as_str()?)))
}

/// The render context of the newest realm that a text was rendered in.
#[derive(Debug, Default)]
pub struct RenderContextCache(Mutex<Option<Arc<RenderContext>>>);

impl RenderContextCache {
    /// Returns the render context of the realm, compiled again only after its linkifiers or alert words changed.
    #[must_use]
    pub fn get_or_compile(&self, realm: &RealmSnapshot) -> Arc<RenderContext> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match cached.as_ref().filter(|render_context| render_context.is_current(realm)) {
            Some(render_context) => Arc::clone(render_context),
            None => Arc::clone(cached.insert(Arc::new(RenderContext::from_realm(realm)))),
        }
    }
}

/// The settings for rendering one message.
#[derive(Debug, Clone, Copy)]
pub struct RenderSettings<'a> {
    /// The realm's own address, without a slash at the end.
    pub realm_url: &'a str,
    /// The realm's words.
    pub render_context: &'a RenderContext,
    /// The uploads that the text may use; none when nothing is said.
    pub uploads: Option<&'a ReadableLinkedUploads>,
    /// Now, in unix seconds.
    pub now_s: i64,
}

impl RenderSettings<'_> {
    /// Returns the ids of the uploads that a rendered message links.
    #[must_use]
    pub fn linked_attachment_ids(&self, rendered: &RenderedMessage) -> Vec<AttachmentId> {
        self.uploads.map(|uploads| uploads.ids_of_linked_paths(&rendered.attachments)).unwrap_or_default()
    }

    /// Renders a message of that author.
    #[must_use]
    pub fn render_message(&self, realm: &RealmSnapshot, writer: &User, content: &str) -> RenderedMessage {
        self.render_with(realm, (realm, self.render_context.linkifiers()), writer, content)
    }

    /// As [`RenderSettings::render_message`], with other names and linkifiers than those of the realm as it is.
    pub(crate) fn render_with(
        &self,
        realm: &RealmSnapshot,
        (directory, linkifiers): (&dyn NameDirectory, &[Linkifier]),
        writer: &User,
        content: &str,
    ) -> RenderedMessage {
        let settings = realm.user_item(writer.id, UserItemKind::Settings, "");
        let translate = settings.and_then(|settings| settings.get("translate_emoticons")).and_then(Value::as_bool);
        let against = MarkdownContext {
            directory,
            linkifiers,
            realm_url: self.realm_url,
            emoticons: if translate == Some(true) { EmoticonHandling::Translate } else { EmoticonHandling::Keep },
            image_previews: ImagePreviews::Show,
            default_code_language: None,
        };
        markdown::render_message_with_uploads(&markdown::parse_message(content, &against), self.uploads)
    }

    /// Renders a description to HTML: like a message, but without image previews.
    #[must_use]
    pub fn render_description(&self, realm: &RealmSnapshot, text: &str) -> String {
        let against = MarkdownContext {
            directory: realm,
            linkifiers: self.render_context.linkifiers(),
            realm_url: self.realm_url,
            emoticons: EmoticonHandling::Keep,
            image_previews: ImagePreviews::Hide,
            default_code_language: None,
        };
        markdown::render_message(&markdown::parse_message(text, &against)).html
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::testing;

    fn linkifier(id: i64, order: i64, host: &str) -> RealmChange {
        let document =
            json!({"pattern": "#(?P<id>[0-9]+)", "url_template": format!("https://{host}/{{id}}"), "order": order});
        RealmChange::Item { kind: RealmItemKind::Linkifier, id, document: Some(document) }
    }

    #[test]
    fn linkifiers_apply_in_their_order_and_a_broken_one_not_at_all() {
        let broken =
            RealmChange::Item { kind: RealmItemKind::Linkifier, id: 3, document: Some(json!({"pattern": "("})) };
        let changes = vec![linkifier(1, 2, "second.example"), linkifier(2, 1, "first.example"), broken];
        let realm = testing::realm(RealmPermissionSettings::default(), changes);
        let render_context = RenderContext::from_realm(&realm);
        assert_eq!(render_context.linkifiers().len(), 2);
        let setting = RenderSettings {
            realm_url: "https://chat.example",
            render_context: &render_context,
            uploads: None,
            now_s: 0,
        };
        let html = setting.render_message(&realm, realm.user(UserId(4)).unwrap(), "see #12").html;
        assert_eq!(html, r#"<p>see <a href="https://first.example/12">#12</a></p>"#);
    }

    #[test]
    fn a_lexicon_is_current_until_its_words_change() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let render_context = RenderContext::from_realm(&realm);
        let words = RealmChange::UserItem {
            user_id: UserId(4),
            kind: UserItemKind::AlertWords,
            key: String::new(),
            document: Some(json!(["Lunch"])),
        };
        let talked = realm.after_record(&LogRecord::new(EventId(1_000), 0, Vec::new(), None));
        assert!(render_context.is_current(&talked));
        let topic = RealmChange::UserItem {
            user_id: UserId(4),
            kind: UserItemKind::TopicPolicy,
            key: "20/lunch".to_owned(),
            document: Some(json!({})),
        };
        let followed = talked.after_record(&LogRecord::new(EventId(1_001), 0, vec![topic], None));
        assert!(render_context.is_current(&followed));
        let worded = followed.after_record(&LogRecord::new(EventId(1_002), 0, vec![words], None));
        assert!(!render_context.is_current(&worded));
        assert_eq!(render_context.users_alerted_by("lunch"), []);
        assert_eq!(RenderContext::from_realm(&worded).users_alerted_by("time for lunch!"), [UserId(4)]);
    }
}
