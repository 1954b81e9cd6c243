//! From the tree to HTML, and to what the server must know about the message besides.

use super::context::ImagePreviews;
use super::highlight;
use super::html::{Attribute, Html, Quotes, Tag};
use super::language;
use super::limits::MAX_IMAGE_PREVIEWS;
use super::math::{self, Typeset};
use super::preview::{self, Preview, Thumbnail};
use super::time;
use super::tree::{
    Block, Formula, FormulaIndex, FormulaStyle, Inline, ListKind, MentionNotification, ParsedMessage, Table,
    WildcardMentionScope,
};
use super::url::{self, SafeUrl};
use crate::files::ReadableLinkedUploads;
use crate::id::{ChannelId, MessageId, UserGroupId, UserId};
use std::collections::BTreeSet;

/// A rendered message: its HTML and what it mentions and links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderedMessage {
    /// The HTML; safe to show as it is.
    pub html: String,
    /// Users mentioned aloud.
    pub mentioned_users: BTreeSet<UserId>,
    /// Groups mentioned aloud; their members are mentioned.
    pub mentioned_groups: BTreeSet<UserGroupId>,
    /// What the wildcards mentioned aloud reach.
    pub wildcards: BTreeSet<WildcardMentionScope>,
    /// Addresses of the links, each once.
    pub links: BTreeSet<SafeUrl>,
    /// Whether the message links an image.
    pub has_image: bool,
    /// Uploads of the realm the message links, as paths below the folder of all uploads.
    pub attachments: BTreeSet<String>,
    /// Whether the message speaks of its sender in the third person (`/me`).
    pub is_me_message: bool,
}

impl RenderedMessage {
    /// Returns whether the message has a link.
    #[must_use]
    pub fn has_link(&self) -> bool {
        !self.links.is_empty()
    }

    /// Returns whether the message links an upload of the realm.
    #[must_use]
    pub fn has_attachment(&self) -> bool {
        !self.attachments.is_empty()
    }
}

/// Renders a parsed message to HTML and collects what it mentions and links.
#[must_use]
pub fn render_message(document: &ParsedMessage) -> RenderedMessage {
    render_message_with_uploads(document, None)
}

/// Renders a parsed message like [`render_message`], with thumbnails of the given images whose sizes are known.
#[must_use]
pub fn render_message_with_uploads(
    document: &ParsedMessage,
    uploads: Option<&ReadableLinkedUploads>,
) -> RenderedMessage {
    let mut renderer = Renderer {
        html: Html::default(),
        rendered: RenderedMessage { is_me_message: document.is_me_message, ..RenderedMessage::default() },
        formulas: &document.formulas,
        typeset: math::typeset(&document.formulas),
        image_previews: document.image_previews,
        previewed: BTreeSet::new(),
        uploads,
    };
    for (at, block) in document.blocks.iter().enumerate() {
        if at > 0 {
            renderer.html.newline();
        }
        renderer.block(block);
    }
    RenderedMessage { html: renderer.html.into_string(), ..renderer.rendered }
}

fn shrunk(html: &mut Html, Thumbnail { url, picture, media_type }: &Thumbnail) {
    let moves = picture.is_animated.then_some(Attribute::Animated);
    let always =
        [Attribute::OriginalDimensions(picture), Attribute::OriginalContentType(media_type), Attribute::Source(url)];
    html.void(Tag::Img, &moves.into_iter().chain(always).collect::<Vec<_>>());
}

struct Renderer<'d> {
    html: Html,
    rendered: RenderedMessage,
    formulas: &'d [Formula],
    typeset: Vec<Typeset>,
    image_previews: ImagePreviews,
    previewed: BTreeSet<SafeUrl>,
    uploads: Option<&'d ReadableLinkedUploads>,
}

impl Renderer<'_> {
    fn element(&mut self, tag: Tag, attributes: &[Attribute<'_>], inside: impl FnOnce(&mut Self)) {
        // The writer closes what it opens, so it is lent to the content and comes back.
        let mut html = std::mem::take(&mut self.html);
        html.element(tag, attributes, |html| {
            std::mem::swap(&mut self.html, html);
            inside(self);
            std::mem::swap(&mut self.html, html);
        });
        self.html = html;
    }

    /// Blocks in a container: each on lines of its own.
    fn blocks(&mut self, blocks: &[Block]) {
        if !matches!(blocks.first(), Some(Block::Plain(_))) {
            self.html.newline();
        }
        for block in blocks {
            self.block(block);
            if !matches!(block, Block::Plain(_)) {
                self.html.newline();
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(text) => {
                self.element(Tag::P, &[], |to| to.inlines(text));
                self.previews(text, "\n");
            }
            Block::Plain(text) => {
                self.inlines(text);
                self.previews(text, "");
            }
            Block::Heading { level, text } => self.element(heading(*level), &[], |to| to.inlines(text)),
            Block::Rule => self.html.void(Tag::Hr, &[]),
            Block::Quote(blocks) => self.quote(blocks),
            Block::Code { language, text } => self.code(language.as_deref(), text),
            Block::Math(formula) => self.element(Tag::P, &[], |to| to.formula(*formula)),
            Block::Spoiler { header, body } => self.spoiler(header, body),
            Block::List { kind, items } => self.list(*kind, items),
            Block::Table(table) => self.table(table),
        }
    }

    fn quote(&mut self, blocks: &[Block]) {
        let outside = std::mem::replace(&mut self.image_previews, ImagePreviews::Hide);
        self.element(Tag::Blockquote, &[], |to| to.blocks(blocks));
        self.image_previews = outside;
    }

    /// The pictures linked in a text that are not shown yet, apart from the text as `before` says.
    fn previews(&mut self, text: &[Inline], before: &str) {
        if self.image_previews == ImagePreviews::Hide {
            return;
        }
        let mut before = Some(before);
        for Preview { url, title } in preview::previews(text) {
            if self.previewed.len() == MAX_IMAGE_PREVIEWS || !self.previewed.insert(url.clone()) {
                continue;
            }
            self.html.text(before.take().unwrap_or_default());
            let attributes: Vec<_> =
                [Some(Attribute::Href(url)), title.as_deref().map(Attribute::Title)].into_iter().flatten().collect();
            if url.has_video_extension() {
                self.html.element(Tag::Div, &[Attribute::Class("message_inline_image message_inline_video")], |html| {
                    html.element(Tag::A, &attributes, |html| {
                        html.element(Tag::Video, &[Attribute::PreloadMetadata, Attribute::Source(url)], |_| {});
                    });
                });
                continue;
            }
            let thumbnail = self.uploads.and_then(|uploads| preview::thumbnail(url, uploads));
            self.html.element(Tag::Div, &[Attribute::Class("message_inline_image")], |html| {
                html.element(Tag::A, &attributes, |html| match &thumbnail {
                    None => html.void(Tag::Img, &[Attribute::Source(url)]),
                    Some(thumbnail) => shrunk(html, thumbnail),
                });
            });
        }
    }

    fn code(&mut self, typed: Option<&str>, text: &str) {
        let language = typed.map(language::shown);
        let attributes: Vec<_> = [Some(Attribute::Class("codehilite")), language.map(Attribute::CodeLanguage)]
            .into_iter()
            .flatten()
            .collect();
        self.element(Tag::Div, &attributes, |to| {
            to.element(Tag::Pre, &[], |to| {
                to.html.element(Tag::Span, &[], |_| {});
                to.html.element(Tag::Code, &[], |html| {
                    for (kind, piece) in highlight::tokens(language, text) {
                        match kind {
                            Some(kind) => html.element(Tag::Span, &[Attribute::Class(kind.class())], |html| {
                                html.quoted_text(piece, Quotes::Decimal);
                            }),
                            None => html.quoted_text(piece, Quotes::Decimal),
                        }
                    }
                });
            });
        });
    }

    fn formula(&mut self, index: FormulaIndex) {
        match (self.typeset.get(index.0), self.formulas.get(index.0)) {
            (Some(Typeset::Markup(markup)), _) => self.html.formula(markup),
            (_, Some(formula)) => {
                self.html.element(Tag::Span, &[Attribute::Class("tex-error")], |html| match formula.style {
                    FormulaStyle::Inline => html.text(&format!("$${}$$", formula.source)),
                    FormulaStyle::Display => html.quoted_text(&formula.source, Quotes::Hexadecimal),
                });
            }
            (_, None) => {}
        }
    }

    fn spoiler(&mut self, header: &[Block], body: &[Block]) {
        self.element(Tag::Div, &[Attribute::Class("spoiler-block")], |to| {
            to.element(Tag::Div, &[Attribute::Class("spoiler-header")], |to| to.blocks(header));
            let hidden = [Attribute::Class("spoiler-content"), Attribute::AriaHidden];
            to.element(Tag::Div, &hidden, |to| to.blocks(body));
        });
    }

    fn list(&mut self, kind: ListKind, items: &[Vec<Block>]) {
        let start;
        let (tag, attributes): (_, &[_]) = match kind {
            ListKind::Bullets => (Tag::Ul, &[]),
            ListKind::Numbers { start: 1 } => (Tag::Ol, &[]),
            ListKind::Numbers { start: first } => {
                start = [Attribute::Start(first)];
                (Tag::Ol, &start)
            }
        };
        self.element(tag, attributes, |to| {
            to.html.newline();
            for item in items {
                to.element(Tag::Li, &[], |to| to.blocks(item));
                to.html.newline();
            }
        });
    }

    fn table(&mut self, table: &Table) {
        self.element(Tag::Table, &[], |to| {
            to.html.newline();
            to.element(Tag::Thead, &[], |to| {
                to.html.newline();
                to.row(Tag::Th, table, &table.head);
            });
            to.html.newline();
            to.element(Tag::Tbody, &[], |to| {
                to.html.newline();
                for row in &table.rows {
                    to.row(Tag::Td, table, row);
                }
            });
            to.html.newline();
        });
    }

    fn row(&mut self, tag: Tag, table: &Table, cells: &[Vec<Inline>]) {
        self.element(Tag::Tr, &[], |to| {
            to.html.newline();
            for (alignment, cell) in table.alignments.iter().zip(cells) {
                let style = alignment.map(Attribute::Align);
                to.element(tag, style.as_slice(), |to| to.inlines(cell));
                to.html.newline();
            }
        });
        self.html.newline();
    }

    fn inlines(&mut self, inlines: &[Inline]) {
        for inline in inlines {
            self.inline(inline);
        }
    }

    fn inline(&mut self, inline: &Inline) {
        match inline {
            Inline::Text(text) => self.html.text(text),
            Inline::Entity(entity) => self.html.entity(entity),
            Inline::Break => {
                self.html.void(Tag::Br, &[]);
                self.html.newline();
            }
            Inline::Code(code) => self.html.element(Tag::Code, &[], |html| html.text(code)),
            Inline::Math(formula) => self.formula(*formula),
            Inline::Strong(inside) => self.element(Tag::Strong, &[], |to| to.inlines(inside)),
            Inline::Emphasis(inside) => self.element(Tag::Em, &[], |to| to.inlines(inside)),
            Inline::Struck(inside) => self.element(Tag::Del, &[], |to| to.inlines(inside)),
            Inline::Link { url, title, text } => self.link(url, title.as_deref(), text),
            Inline::User { id, name, loudness } => self.user(*id, name, *loudness),
            Inline::Wildcard { reach, word, loudness } => self.wildcard(*reach, word, *loudness),
            Inline::Group { id, name, loudness } => self.group(*id, name, *loudness),
            Inline::Channel { id, name, topic, message } => self.channel((*id, name), topic.as_deref(), *message),
            Inline::Emoji { name, code } => self.emoji(name, code),
            Inline::ImageEmoji { name, source } => self.image_emoji(name, source),
            Inline::Time { at_s, written } => self.time(*at_s, written),
            Inline::BadTime(written) => self.html.element(Tag::Span, &[Attribute::Class("timestamp-error")], |html| {
                html.text("Invalid time format: ");
                html.text(written);
            }),
        }
    }

    fn link(&mut self, url: &SafeUrl, title: Option<&str>, text: &[Inline]) {
        self.rendered.has_image |= url.has_image_extension();
        self.rendered.attachments.extend(url.upload_path().map(str::to_owned));
        self.rendered.links.insert(url.clone());
        if self.image_previews == ImagePreviews::Show
            && let Some(name) = self.uploads.and_then(|uploads| preview::audio_title((url, text), uploads))
        {
            return self.audio(url, &name);
        }
        let attributes: Vec<_> =
            [Some(Attribute::Href(url)), title.map(Attribute::Title)].into_iter().flatten().collect();
        self.element(Tag::A, &attributes, |to| to.inlines(text));
    }

    /// A player, with the link in it for clients that have none.
    fn audio(&mut self, url: &SafeUrl, name: &str) {
        let attributes =
            [Attribute::Controls, Attribute::PreloadMetadata, Attribute::Source(url), Attribute::Title(name)];
        self.html.element(Tag::Audio, &attributes, |html| {
            html.element(Tag::A, &[Attribute::Href(url)], |html| html.text(name));
        });
    }

    fn user(&mut self, id: UserId, name: &str, loudness: MentionNotification) {
        if loudness == MentionNotification::Loud {
            self.rendered.mentioned_users.insert(id);
        }
        let class = class_of(loudness, "user-mention", "user-mention silent");
        self.mention(&[class, Attribute::UserId(Some(id))], name, loudness);
    }

    fn wildcard(&mut self, reach: WildcardMentionScope, word: &str, loudness: MentionNotification) {
        if loudness == MentionNotification::Loud {
            self.rendered.wildcards.insert(reach);
        }
        match reach {
            WildcardMentionScope::Channel => {
                let class = class_of(loudness, "user-mention", "user-mention silent");
                self.mention(&[class, Attribute::UserId(None)], word, loudness);
            }
            WildcardMentionScope::Topic => {
                let class = class_of(loudness, "topic-mention", "topic-mention silent");
                self.mention(&[class], word, loudness);
            }
        }
    }

    fn group(&mut self, id: UserGroupId, name: &str, loudness: MentionNotification) {
        if loudness == MentionNotification::Loud {
            self.rendered.mentioned_groups.insert(id);
        }
        let class = class_of(loudness, "user-group-mention", "user-group-mention silent");
        self.mention(&[class, Attribute::GroupId(id)], name, loudness);
    }

    fn mention(&mut self, attributes: &[Attribute<'_>], name: &str, loudness: MentionNotification) {
        self.html.element(Tag::Span, attributes, |html| {
            if loudness == MentionNotification::Loud {
                html.text("@");
            }
            html.text(name);
        });
    }

    fn channel(&mut self, (id, name): (ChannelId, &str), topic: Option<&str>, message: Option<MessageId>) {
        let address = url::narrow((id, name), topic, message);
        let class = match (topic, message) {
            (_, Some(_)) => "message-link",
            (Some(_), None) => "stream-topic",
            (None, None) => "stream",
        };
        let known = message.is_none().then_some(Attribute::StreamId(id));
        let attributes = [Some(Attribute::Class(class)), known, Some(Attribute::Href(&address))];
        self.html.element(Tag::A, &attributes.into_iter().flatten().collect::<Vec<_>>(), |html| {
            html.text("#");
            html.text(name);
            if let Some(topic) = topic {
                html.text(" > ");
                html.text(topic);
            }
            if message.is_some() {
                html.text(" @ 💬");
            }
        });
    }

    fn emoji(&mut self, name: &str, code: &'static str) {
        let spoken = name.replace('_', " ");
        let attributes = [
            Attribute::AriaLabel(&spoken),
            Attribute::EmojiClass(code),
            Attribute::RoleImage,
            Attribute::Title(&spoken),
        ];
        self.html.element(Tag::Span, &attributes, |html| html.text(&format!(":{name}:")));
    }

    fn image_emoji(&mut self, name: &str, source: &SafeUrl) {
        let (alternative, title) = (format!(":{name}:"), name.replace('_', " "));
        let attributes = [
            Attribute::Alt(&alternative),
            Attribute::Class("emoji"),
            Attribute::Source(source),
            Attribute::Title(&title),
        ];
        self.html.void(Tag::Img, &attributes);
    }

    fn time(&mut self, at_s: i64, written: &str) {
        match time::rfc3339(at_s) {
            Some(datetime) => {
                self.html.element(Tag::Time, &[Attribute::Datetime(&datetime)], |html| html.text(written));
            }
            None => self.html.text(written),
        }
    }
}

fn class_of(loudness: MentionNotification, loud: &'static str, silent: &'static str) -> Attribute<'static> {
    Attribute::Class(match loudness {
        MentionNotification::Loud => loud,
        MentionNotification::Silent => silent,
    })
}

fn heading(level: u8) -> Tag {
    match level {
        1 => Tag::H1,
        2 => Tag::H2,
        3 => Tag::H3,
        4 => Tag::H4,
        5 => Tag::H5,
        _ => Tag::H6,
    }
}
