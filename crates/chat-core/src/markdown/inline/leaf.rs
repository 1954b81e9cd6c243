//! Text without marks: emoji by name, emoticons, emoji as characters, character references.

use super::super::context::EmoticonHandling;
use super::super::html::is_entity_name;
use super::super::parser::Parser;
use super::super::tree::Inline;
use super::super::url::SafeUrl;
use crate::emoji;

/// The special emoji that is neither of the realm nor of Unicode, and its image.
const SPECIAL: (&str, &str) = ("zulip", "/static/generated/emoji/images/emoji/unicode/zulip.png");

/// What people type for a few faces. Longer ones need not come first: none begins another.
const EMOTICONS: [(&str, &str); 11] = [
    (":)", "smile"),
    ("(:", "smile"),
    (":(", "frown"),
    ("<3", "heart"),
    (":|", "neutral"),
    (":/", "confused"),
    (";)", "wink"),
    (":D", "grinning"),
    (":d", "grinning"),
    (":P", "stuck_out_tongue"),
    (":p", "stuck_out_tongue"),
];

/// What may stand on either side of an emoticon, besides the ends of the text.
const AROUND_EMOTICON: &str = ",.;?!()[] \"'\n\t";

/// Whether an end of the text is an end for the reader, or something else follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Open,
    Closed,
}

/// Appends what the text says.
pub(super) fn read(parser: &mut Parser<'_>, text: &str, edges: (Edge, Edge), inlines: &mut Vec<Inline>) {
    parser.worked(text.len());
    let mut reader = Reader { parser, text, edges, at: 0, plain: String::new() };
    while let Some(next) = reader.rest().chars().next() {
        match reader.special(next) {
            Some((Some(inline), length)) => {
                reader.flush(inlines);
                inlines.push(inline);
                reader.at += length;
            }
            Some((None, length)) => reader.keep(length),
            None => reader.keep(next.len_utf8()),
        }
    }
    reader.flush(inlines);
}

/// Something that is no plain text and its length in bytes, or how many bytes are plain text together.
type Special = Option<(Option<Inline>, usize)>;

struct Reader<'s, 't, 'c> {
    parser: &'s Parser<'c>,
    text: &'t str,
    edges: (Edge, Edge),
    at: usize,
    plain: String,
}

impl<'t> Reader<'_, 't, '_> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn keep(&mut self, bytes: usize) {
        self.plain.push_str(self.rest().get(..bytes).unwrap_or_default());
        self.at += bytes;
    }

    fn flush(&mut self, inlines: &mut Vec<Inline>) {
        if !self.plain.is_empty() {
            inlines.push(Inline::Text(std::mem::take(&mut self.plain)));
        }
    }

    fn special(&self, next: char) -> Special {
        match next {
            ':' => self.named().or_else(|| self.emoticon()),
            '(' | '<' | ';' => self.emoticon(),
            '&' => self.entity(),
            _ => self.unicode(),
        }
    }

    fn named(&self) -> Special {
        let rest = self.rest().strip_prefix(':')?;
        let length = rest.find(|character: char| !(character.is_alphanumeric() || "_-+".contains(character)))?;
        let name = rest.get(..length).filter(|name| !name.is_empty())?;
        rest.get(length..)?.starts_with(':').then_some(())?;
        // A colon that closed an unknown name opens no other: `12:30:smile:` is a time and a word.
        Some((self.emoji(name), length + 2))
    }

    fn emoji(&self, name: &str) -> Option<Inline> {
        let image = |source: &str| Some(Inline::ImageEmoji { name: name.to_owned(), source: SafeUrl::parse(source)? });
        if let Some(source) = self.parser.context.directory.custom_emoji_url(name) {
            return image(source);
        }
        if name == SPECIAL.0 {
            return image(SPECIAL.1);
        }
        let code = emoji::emoji_by_name(name)?.code;
        Some(Inline::Emoji { name: name.to_owned(), code })
    }

    fn emoticon(&self) -> Special {
        if self.parser.context.emoticons == EmoticonHandling::Keep {
            return None;
        }
        let (sign, name) = EMOTICONS.iter().find(|(sign, _)| self.rest().starts_with(sign))?;
        let free = |neighbour: Option<char>, edge: Edge| match neighbour {
            Some(neighbour) => AROUND_EMOTICON.contains(neighbour),
            None => edge == Edge::Open,
        };
        let before = self.text.get(..self.at)?.chars().next_back();
        let after = self.rest().get(sign.len()..)?.chars().next();
        (free(before, self.edges.0) && free(after, self.edges.1)).then_some(())?;
        Some((Some(self.emoji(name)?), sign.len()))
    }

    fn unicode(&self) -> Special {
        let found = emoji::parse_leading_emoji(self.rest())?;
        let inline = found.emoji.map(|emoji| Inline::Emoji { name: emoji.name.to_owned(), code: emoji.code });
        Some((inline, found.length_bytes))
    }

    fn entity(&self) -> Special {
        const LONGEST: usize = 36;
        let end = self.rest().bytes().take(LONGEST).position(|byte| byte == b';')?;
        let name = self.rest().get(1..end)?;
        is_entity_name(name).then(|| (Some(Inline::Entity(format!("&{name};"))), end + 1))
    }
}
