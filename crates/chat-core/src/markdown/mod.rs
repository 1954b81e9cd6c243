//! The message dialect: what people type, to the HTML that clients show.
//!
//! The dialect looks like Markdown and is not `CommonMark`: underscores do not emphasise, a list hangs off a
//! paragraph, two spaces nest, fences quote and hide, and there are mentions, channels, times, formulas and
//! linkifiers. On the regular cases of the dialect the `CommonMark` parsers we tried were right in a third, so the
//! renderer is our own.
//!
//! It works in two passes over a small tree: lines to [`Block`]s, their text to [`Inline`]s, names resolved on the
//! way; then the tree is written. Two properties follow from the construction and are tested as such:
//!
//! - **Safe.** The tree can only be written through a writer that knows elements, attributes and checked addresses,
//!   and escapes everything else. There is no sanitiser because there is nothing to sanitise.
//! - **Linear.** Each pass looks at each byte a fixed number of times; what a text could make it look at again
//!   draws from a budget, and nesting is limited. [`ParsedMessage::parser_steps`] counts the steps.
//!
//! ```
//! use chat_core::markdown::{self, MarkdownContext, EmptyNameDirectory, EmoticonHandling, ImagePreviews};
//!
//! let context = MarkdownContext {
//!     directory: &EmptyNameDirectory,
//!     linkifiers: &[],
//!     realm_url: "https://chat.example",
//!     emoticons: EmoticonHandling::Keep,
//!     image_previews: ImagePreviews::Show,
//!     default_code_language: None,
//! };
//! let rendered = markdown::render_message(&markdown::parse_message("**Hello** :smile: <b>", &context));
//! assert_eq!(
//!     rendered.html,
//!     "<p><strong>Hello</strong> <span aria-label=\"smile\" class=\"emoji emoji-1f642\" role=\"img\" \
//!      title=\"smile\">:smile:</span> &lt;b&gt;</p>"
//! );
//! ```
//!
//! Whether the sender may mention everyone is not decided here: [`RenderedMessage`] says that the message does, and who
//! accepts the message refuses it.
//!
//! # Source
//! The dialect has no specification. What it does is recorded in the project's notes on what existing servers
//! answer and existing clients expect; where those are silent the tests of this module are the record.

mod autolink;
mod block;
mod context;
mod highlight;
mod html;
mod inline;
mod language;
pub mod limits;
mod linkifier;
mod math;
mod parser;
mod plain_text;
mod preview;
mod render;
mod time;
mod tld;
mod tree;
mod url;

pub use context::{EmoticonHandling, EmptyNameDirectory, ImagePreviews, MarkdownContext, NameDirectory};
pub use linkifier::{Linkifier, LinkifierError, TopicLink, find_topic_links};
pub use plain_text::html_to_plain_text;
pub use render::{RenderedMessage, render_message, render_message_with_uploads};
pub use tree::{
    Block, ColumnAlignment, Formula, FormulaIndex, FormulaStyle, Inline, ListKind, MentionNotification, ParsedMessage,
    Table, WildcardMentionScope,
};
pub use url::SafeUrl;
pub(crate) use url::narrow as narrow_address;

use parser::{Parser, Scope};
use std::borrow::Cow;

/// What a message of the third person begins with.
const ME: &str = "/me ";

/// Columns between tab stops.
const TAB: usize = 4;

/// Parses the Markdown of a message; every text is valid.
#[must_use]
pub fn parse_message(text: &str, context: &MarkdownContext<'_>) -> ParsedMessage {
    let mut parser = Parser { context, formulas: Vec::new(), work: 0 };
    let lines: Vec<Cow<'_, str>> = text.lines().map(without_tabs).collect();
    let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    let blocks = parser.blocks(&lines, Scope::MESSAGE);
    ParsedMessage {
        is_me_message: text.starts_with(ME) && matches!(blocks.as_slice(), [Block::Paragraph(_)]),
        blocks,
        formulas: parser.formulas,
        image_previews: context.image_previews,
        work: parser.work,
    }
}

fn without_tabs(line: &str) -> Cow<'_, str> {
    if !line.contains('\t') {
        return Cow::Borrowed(line);
    }
    let mut spaced = String::with_capacity(line.len() + TAB);
    let mut column = 0;
    for character in line.chars() {
        let width = if character == '\t' { TAB - column % TAB } else { 1 };
        match character {
            '\t' => spaced.extend(std::iter::repeat_n(' ', width)),
            other => spaced.push(other),
        }
        column += width;
    }
    Cow::Owned(spaced)
}
