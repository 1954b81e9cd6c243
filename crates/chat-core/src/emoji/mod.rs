//! The Unicode emoji this server knows: names to code points and back.
//!
//! Clients of this API name emoji in their own way, which no published list of short names follows; the table beside
//! this file is therefore the project's own. Which emoji there are and their codes are those of the npm package
//! `emoji-datasource` (`cargo xtask emoji`). Each line of `names.tsv` holds, separated by tabs: the code (lower-case
//! hexadecimal code points joined with `-`), the presentation (`e`: shown as an emoji as it stands; `t`: plain text
//! unless the selector U+FE0F follows), the canonical name, and the other names separated by spaces.
//!
//! The index over it is built at first use (well under a millisecond) and is never changed.
//!
//! ```
//! let smile = chat_core::emoji::emoji_by_name("smile").ok_or("no such emoji")?;
//! assert_eq!(smile.code, "1f642");
//! assert!(chat_core::emoji::emoji_by_code("1f44d").is_some_and(|emoji| emoji.has_name_or_alias("thumbs_up")));
//! # Ok::<(), &str>(())
//! ```

mod sequence;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use sequence::{LeadingEmojiSequence, parse_leading_emoji};

/// A selector in a code.
const SELECTOR: &str = "-fe0f";

/// The one special emoji: its name and its code, as existing clients spell them.
pub(crate) const SPECIAL: &str = "zulip";

static NAMES: &str = include_str!("names.tsv");

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(NAMES));

/// One Unicode emoji.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnicodeEmoji {
    /// Code points in lower-case hexadecimal joined with `-`, as in `emoji_code` on the wire.
    pub code: &'static str,
    /// The canonical name.
    pub name: &'static str,
    /// The other names people may type.
    pub aliases: Vec<&'static str>,
    /// How the character looks without a selector.
    pub presentation: EmojiPresentation,
}

impl UnicodeEmoji {
    /// Returns whether `name` is the canonical name or an alias of this emoji.
    #[must_use]
    pub fn has_name_or_alias(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// The default presentation of an emoji character that no variation selector follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmojiPresentation {
    /// As an emoji.
    Emoji,
    /// As plain text; U+FE0F behind it makes it an emoji.
    Text,
}

/// Returns the emoji of that canonical name or alias. Names are case-sensitive.
#[must_use]
pub fn emoji_by_name(name: &str) -> Option<&'static UnicodeEmoji> {
    let table = &*TABLE;
    table.by_name.get(name).and_then(|&at| table.emoji.get(at))
}

/// Returns the emoji of that code, as it appears in `emoji_code` on the wire. A code with selectors, as older data have
/// it, is that of the same emoji.
#[must_use]
pub fn emoji_by_code(code: &str) -> Option<&'static UnicodeEmoji> {
    let table = &*TABLE;
    let at = table.by_code.get(code).or_else(|| table.by_code.get(code.replace(SELECTOR, "").as_str()));
    at.and_then(|&at| table.emoji.get(at))
}

/// Returns all Unicode emoji in the order of their canonical names.
pub fn all_emoji() -> impl Iterator<Item = &'static UnicodeEmoji> {
    TABLE.emoji.iter()
}

/// Returns the emoji written with exactly these characters, variation selectors left out on both sides.
fn spelled(characters: &str) -> Option<&'static UnicodeEmoji> {
    let table = &*TABLE;
    table.by_characters.get(characters).and_then(|&at| table.emoji.get(at))
}

struct Table {
    emoji: Vec<UnicodeEmoji>,
    by_name: HashMap<&'static str, usize>,
    by_code: HashMap<&'static str, usize>,
    by_characters: HashMap<String, usize>,
}

impl Table {
    fn new(lines: &'static str) -> Self {
        let emoji: Vec<UnicodeEmoji> = lines.lines().filter_map(entry).collect();
        let mut table = Self {
            by_name: HashMap::with_capacity(emoji.len() * 2),
            by_code: HashMap::with_capacity(emoji.len()),
            by_characters: HashMap::with_capacity(emoji.len()),
            emoji,
        };
        for (at, emoji) in table.emoji.iter().enumerate() {
            table.by_name.insert(emoji.name, at);
            table.by_name.extend(emoji.aliases.iter().map(|&alias| (alias, at)));
            table.by_code.insert(emoji.code, at);
            table.by_characters.insert(characters(emoji.code), at);
        }
        table
    }
}

fn entry(line: &'static str) -> Option<UnicodeEmoji> {
    let mut fields = line.split('\t');
    let code = fields.next()?;
    let presentation = match fields.next()? {
        "t" => EmojiPresentation::Text,
        _ => EmojiPresentation::Emoji,
    };
    Some(UnicodeEmoji {
        code,
        presentation,
        name: fields.next()?,
        aliases: fields.next()?.split_whitespace().collect(),
    })
}

fn characters(code: &str) -> String {
    code.split('-')
        .filter_map(|point| u32::from_str_radix(point, 16).ok())
        .filter_map(char::from_u32)
        .filter(|&character| character != sequence::EMOJI_SELECTOR)
        .collect()
}

/// Returns whether the name is that of an emoji which every realm has: a Unicode emoji or the special one.
#[must_use]
pub fn is_default_emoji_name(name: &str) -> bool {
    name == SPECIAL || emoji_by_name(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_an_emoji_with_a_name_and_a_code_of_its_own() {
        let table = &*TABLE;
        assert_eq!(table.emoji.len(), NAMES.lines().count());
        assert_eq!(table.emoji.len(), 1875);
        assert_eq!(table.by_code.len(), table.emoji.len());
        assert_eq!(table.by_characters.len(), table.emoji.len());
        let names: usize = table.emoji.iter().map(|emoji| 1 + emoji.aliases.len()).sum();
        assert_eq!(table.by_name.len(), names);
        assert_eq!(names, 2936);
    }

    #[test]
    fn codes_are_lower_case_hexadecimal_code_points() {
        for emoji in all_emoji() {
            let decoded = emoji.code.split('-').all(|point| {
                u32::from_str_radix(point, 16).is_ok_and(|number| char::from_u32(number).is_some())
                    && point == point.to_lowercase()
            });
            assert!(decoded, "{} has the code {}", emoji.name, emoji.code);
        }
    }

    #[test]
    fn emoji_of_the_level_are_known_by_its_codes() {
        for (name, code) in [
            ("shaking_face", "1fae8"),
            ("phoenix", "1f426-200d-1f525"),
            ("pink_heart", "1fa77"),
            ("head_shaking_vertically", "1f642-200d-2195"),
            ("eye_in_speech_bubble", "1f441-200d-1f5e8"),
        ] {
            assert_eq!(emoji_by_name(name).map(|emoji| emoji.code), Some(code));
        }
        assert_eq!(emoji_by_code("1f441-fe0f-200d-1f5e8-fe0f"), emoji_by_name("eye_in_speech_bubble"));
    }

    #[test]
    fn an_alias_leads_to_the_emoji_of_its_canonical_name() {
        assert_eq!(emoji_by_name("thumbs_up"), emoji_by_name("+1"));
        assert_eq!(emoji_by_name("love").map(|emoji| emoji.name), Some("heart"));
        assert_eq!(emoji_by_name("Smile"), None);
        assert_eq!(emoji_by_name("france"), None);
        assert_eq!(emoji_by_name("flag_france").map(|emoji| emoji.code), Some("1f1eb-1f1f7"));
    }
}
