//! The tree between the two passes and the HTML: what a message says, names already resolved.

use super::context::ImagePreviews;
use super::url::SafeUrl;
use crate::id::{ChannelId, MessageId, UserGroupId, UserId};

/// A parsed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedMessage {
    /// The blocks in the order of the text.
    pub blocks: Vec<Block>,
    /// The formulas the blocks point into.
    pub formulas: Vec<Formula>,
    /// Whether the message speaks of its sender in the third person: one paragraph that begins with `/me `.
    pub is_me_message: bool,
    /// Whether pictures are shown below the text that links them.
    pub image_previews: ImagePreviews,
    pub(super) work: u64,
}

impl ParsedMessage {
    /// Returns the number of steps that the parser took. It grows with the length of the input and with nothing else.
    #[must_use]
    pub fn parser_steps(&self) -> u64 {
        self.work
    }
}

/// A block element of a message, such as a paragraph, list, quote or code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text with space around it.
    Paragraph(Vec<Inline>),
    /// The text of a list item whose list has no blank lines.
    Plain(Vec<Inline>),
    /// A heading; the level is 1 to 6.
    Heading {
        /// 1 is the largest.
        level: u8,
        /// What it says.
        text: Vec<Inline>,
    },
    /// A horizontal rule.
    Rule,
    /// What someone else said. Mentions inside it are silent.
    Quote(Vec<Block>),
    /// Code, shown as typed.
    Code {
        /// The language as typed, if one was.
        language: Option<String>,
        /// Lines that end with a newline each.
        text: String,
    },
    /// A formula on a line of its own.
    Math(FormulaIndex),
    /// Text the reader has to open.
    Spoiler {
        /// What is shown before it is opened.
        header: Vec<Block>,
        /// What is hidden.
        body: Vec<Block>,
    },
    /// A list.
    List {
        /// Bullets, or numbers and where they begin.
        kind: ListKind,
        /// The blocks of each item.
        items: Vec<Vec<Block>>,
    },
    /// A table.
    Table(Table),
}

/// The kind of a list: bulleted, or numbered from a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// A dot.
    Bullets,
    /// Numbers, the first of which was typed.
    Numbers {
        /// The number of the first item; the others follow from it whatever was typed.
        start: u64,
    },
}

/// A table; every row has as many cells as there are alignments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// One per column.
    pub alignments: Vec<Option<ColumnAlignment>>,
    /// The cells of the header row.
    pub head: Vec<Vec<Inline>>,
    /// The cells of the other rows; at least one row.
    pub rows: Vec<Vec<Vec<Inline>>>,
}

/// The text alignment of a table column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnAlignment {
    /// `:---`
    Left,
    /// `:---:`
    Centre,
    /// `---:`
    Right,
}

/// A TeX formula as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula {
    /// The TeX between the delimiters.
    pub source: String,
    /// In the line or on its own.
    pub style: FormulaStyle,
}

/// The display style of a formula: inline, or on a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormulaStyle {
    /// Within a line of text.
    Inline,
    /// On a line of its own.
    Display,
}

/// The index of a formula in [`ParsedMessage::formulas`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormulaIndex(pub(super) usize);

/// An inline element of a message, such as text, emphasis, a link or a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inline {
    /// Characters.
    Text(String),
    /// A character reference (`&nbsp;`), kept as typed.
    Entity(String),
    /// A new line in the same paragraph.
    Break,
    /// Code within a line.
    Code(String),
    /// A formula within a line.
    Math(FormulaIndex),
    /// `**bold**`
    Strong(Vec<Inline>),
    /// `*italic*`
    Emphasis(Vec<Inline>),
    /// `~~struck out~~`
    Struck(Vec<Inline>),
    /// A link, whether written as one, found in the text or made by a linkifier.
    Link {
        /// Where it leads.
        url: SafeUrl,
        /// What is shown when it is pointed at.
        title: Option<String>,
        /// What is shown.
        text: Vec<Inline>,
    },
    /// `@**Full Name**`
    User {
        /// Whom.
        id: UserId,
        /// The full name as the directory spells it.
        name: String,
        /// Whether it notifies.
        loudness: MentionNotification,
    },
    /// `@**all**`, `@**topic**`
    Wildcard {
        /// Everyone where.
        reach: WildcardMentionScope,
        /// The word that was typed.
        word: String,
        /// Whether it notifies.
        loudness: MentionNotification,
    },
    /// `@*group*`
    Group {
        /// Which.
        id: UserGroupId,
        /// The name as the directory spells it.
        name: String,
        /// Whether it notifies.
        loudness: MentionNotification,
    },
    /// `#**channel**`, `#**channel>topic**` and `#**channel>topic@message**`
    Channel {
        /// Which.
        id: ChannelId,
        /// Its name.
        name: String,
        /// The topic, if one was given.
        topic: Option<String>,
        /// The message, if one was given after the topic.
        message: Option<MessageId>,
    },
    /// A Unicode emoji, by name or by character.
    Emoji {
        /// The name it is shown under.
        name: String,
        /// Its code on the wire.
        code: &'static str,
    },
    /// An emoji that is an image: one of the realm's own, or the special one.
    ImageEmoji {
        /// Its name.
        name: String,
        /// Where the image is.
        source: SafeUrl,
    },
    /// `<time:…>`
    Time {
        /// Seconds since 1970 in UTC.
        at_s: i64,
        /// What was typed.
        written: String,
    },
    /// `<time:…>` around something that is no time.
    BadTime(String),
}

/// The kind of a mention: one that notifies the mentioned users, or a silent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MentionNotification {
    /// The mention notifies.
    Loud,
    /// It only shows the name (`@_`), as does every mention in a quote.
    Silent,
}

/// The users whom a wildcard mention addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WildcardMentionScope {
    /// Everyone in the channel or conversation.
    Channel,
    /// Everyone who took part in the topic.
    Topic,
}
