//! The only way to write HTML: elements of a fixed set, attributes of fixed kinds, everything else escaped.
//!
//! An element is opened and closed by one call, so that what comes out is well nested whatever the caller does.

use super::tree::ColumnAlignment;
use super::url::SafeUrl;
use crate::files::ImageMetadata;
use crate::id::{ChannelId, UserGroupId, UserId};
use std::borrow::Cow;

/// The elements a message may contain, outside of formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    A,
    Audio,
    Blockquote,
    Br,
    Code,
    Del,
    Div,
    Em,
    H1,
    H2,
    H3,
    H4,
    H5,
    H6,
    Hr,
    Img,
    Li,
    Ol,
    P,
    Pre,
    Span,
    Strong,
    Table,
    Tbody,
    Td,
    Th,
    Thead,
    Time,
    Tr,
    Ul,
    Video,
}

impl Tag {
    fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::Audio => "audio",
            Self::Blockquote => "blockquote",
            Self::Br => "br",
            Self::Code => "code",
            Self::Del => "del",
            Self::Div => "div",
            Self::Em => "em",
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H3 => "h3",
            Self::H4 => "h4",
            Self::H5 => "h5",
            Self::H6 => "h6",
            Self::Hr => "hr",
            Self::Img => "img",
            Self::Li => "li",
            Self::Ol => "ol",
            Self::P => "p",
            Self::Pre => "pre",
            Self::Span => "span",
            Self::Strong => "strong",
            Self::Table => "table",
            Self::Tbody => "tbody",
            Self::Td => "td",
            Self::Th => "th",
            Self::Thead => "thead",
            Self::Time => "time",
            Self::Tr => "tr",
            Self::Ul => "ul",
            Self::Video => "video",
        }
    }
}

/// The attributes a message may contain, outside of formulas.
#[derive(Debug, Clone, Copy)]
pub(super) enum Attribute<'a> {
    Align(ColumnAlignment),
    Alt(&'a str),
    /// The picture moves.
    Animated,
    AriaHidden,
    AriaLabel(&'a str),
    Class(&'static str),
    CodeLanguage(&'a str),
    /// A player shows its buttons.
    Controls,
    Datetime(&'a str),
    /// The class of an emoji of this code.
    EmojiClass(&'static str),
    GroupId(UserGroupId),
    Href(&'a SafeUrl),
    /// The media type of the picture that a smaller one stands for.
    OriginalContentType(&'a str),
    /// The size of the picture that a smaller one stands for.
    OriginalDimensions(&'a ImageMetadata),
    /// A browser fetches how long a video is and what it begins with, and no more.
    PreloadMetadata,
    RoleImage,
    Source(&'a SafeUrl),
    Start(u64),
    StreamId(ChannelId),
    Title(&'a str),
    /// A user, or everyone.
    UserId(Option<UserId>),
}

impl Attribute<'_> {
    fn parts(&self) -> (&'static str, Cow<'_, str>) {
        let number = |number: &dyn ToString| Cow::Owned(number.to_string());
        match self {
            Self::Align(ColumnAlignment::Left) => ("style", "text-align: left;".into()),
            Self::Align(ColumnAlignment::Centre) => ("style", "text-align: center;".into()),
            Self::Align(ColumnAlignment::Right) => ("style", "text-align: right;".into()),
            Self::Alt(text) => ("alt", (*text).into()),
            Self::Animated => ("data-animated", "true".into()),
            Self::AriaHidden => ("aria-hidden", "true".into()),
            Self::AriaLabel(text) => ("aria-label", (*text).into()),
            Self::Class(class) => ("class", (*class).into()),
            Self::CodeLanguage(name) => ("data-code-language", (*name).into()),
            Self::Controls => ("controls", "".into()),
            Self::Datetime(time) => ("datetime", (*time).into()),
            Self::EmojiClass(code) => ("class", format!("emoji emoji-{code}").into()),
            Self::GroupId(id) => ("data-user-group-id", number(id)),
            Self::Href(url) => ("href", url.as_str().into()),
            Self::OriginalContentType(media_type) => ("data-original-content-type", (*media_type).into()),
            Self::OriginalDimensions(ImageMetadata { width, height, .. }) => {
                ("data-original-dimensions", format!("{width}x{height}").into())
            }
            Self::PreloadMetadata => ("preload", "metadata".into()),
            Self::RoleImage => ("role", "img".into()),
            Self::Source(url) => ("src", url.as_str().into()),
            Self::Start(start) => ("start", number(start)),
            Self::StreamId(id) => ("data-stream-id", number(id)),
            Self::Title(text) => ("title", (*text).into()),
            Self::UserId(Some(id)) => ("data-user-id", number(id)),
            Self::UserId(None) => ("data-user-id", "*".into()),
        }
    }
}

/// How quotation marks in text are written; clients compare some pieces byte by byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// As they are: text.
    Keep,
    /// `&quot;` and `&#39;`: blocks of code.
    Decimal,
    /// `&quot;` and `&#x27;`: attributes and formulas.
    Hexadecimal,
}

/// HTML under construction.
#[derive(Debug, Default)]
pub(super) struct Html {
    out: String,
}

impl Html {
    pub(super) fn into_string(self) -> String {
        self.out
    }

    /// An element and what `inside` writes into it.
    pub(super) fn element(&mut self, tag: Tag, attributes: &[Attribute<'_>], inside: impl FnOnce(&mut Self)) {
        self.start(tag, attributes);
        inside(self);
        self.out.push_str("</");
        self.out.push_str(tag.name());
        self.out.push('>');
    }

    /// An element that has no content.
    pub(super) fn void(&mut self, tag: Tag, attributes: &[Attribute<'_>]) {
        self.start(tag, attributes);
    }

    /// Text, escaped.
    pub(super) fn text(&mut self, text: &str) {
        self.quoted_text(text, Quotes::Keep);
    }

    /// Text, escaped, with quotation marks written in their own way.
    pub(super) fn quoted_text(&mut self, text: &str, quotes: Quotes) {
        for character in text.chars() {
            match (character, quotes) {
                ('&', _) => self.out.push_str("&amp;"),
                ('<', _) => self.out.push_str("&lt;"),
                ('>', _) => self.out.push_str("&gt;"),
                ('"', Quotes::Decimal | Quotes::Hexadecimal) => self.out.push_str("&quot;"),
                ('\'', Quotes::Decimal) => self.out.push_str("&#39;"),
                ('\'', Quotes::Hexadecimal) => self.out.push_str("&#x27;"),
                ('\0', _) => self.out.push('\u{fffd}'),
                (other, _) => self.out.push(other),
            }
        }
    }

    /// A line break between elements.
    pub(super) fn newline(&mut self) {
        self.out.push('\n');
    }

    /// A character reference as typed, or its characters as text when it is none.
    pub(super) fn entity(&mut self, entity: &str) {
        let name = entity.strip_prefix('&').and_then(|rest| rest.strip_suffix(';'));
        if name.is_some_and(is_entity_name) {
            self.out.push_str(entity);
        } else {
            self.text(entity);
        }
    }

    /// A typeset formula, whose elements have been checked one by one.
    pub(super) fn formula(&mut self, formula: &super::math::Markup) {
        self.out.push_str(formula.as_str());
    }

    fn start(&mut self, tag: Tag, attributes: &[Attribute<'_>]) {
        self.out.push('<');
        self.out.push_str(tag.name());
        for attribute in attributes {
            let (name, value) = attribute.parts();
            self.out.push(' ');
            self.out.push_str(name);
            if matches!(attribute, Attribute::Controls) {
                continue;
            }
            self.out.push_str("=\"");
            self.attribute_value(&value);
            self.out.push('"');
        }
        self.out.push('>');
    }

    fn attribute_value(&mut self, value: &str) {
        for character in value.chars() {
            match character {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\0' => self.out.push('\u{fffd}'),
                other => self.out.push(other),
            }
        }
    }
}

/// Returns whether `&name;` is a character reference. An unknown name is harmless: browsers show it as typed.
pub(super) fn is_entity_name(name: &str) -> bool {
    let all = |text: &str, allowed: fn(&u8) -> bool| {
        (1..=32).contains(&text.len()) && text.bytes().all(|byte| allowed(&byte))
    };
    match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix('x') {
            Some(hexadecimal) => all(hexadecimal, u8::is_ascii_hexdigit),
            None => all(number, u8::is_ascii_digit),
        },
        None => all(name, u8::is_ascii_alphanumeric),
    }
}
