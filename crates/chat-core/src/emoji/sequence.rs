//! Finding the emoji written as characters at the start of a text.

use super::{EmojiPresentation, UnicodeEmoji, spelled};

/// U+FE0F, which asks for the coloured form of the character before it.
pub(super) const EMOJI_SELECTOR: char = '\u{fe0f}';
const JOINER: char = '\u{200d}';
const KEYCAP: char = '\u{20e3}';

/// The emoji sequence at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadingEmojiSequence {
    /// The emoji, or `None` when the characters belong together but mean no emoji of the table
    /// (a skin tone, a newer combination): then all of them stay text.
    pub emoji: Option<&'static UnicodeEmoji>,
    /// How many bytes of the text belong to it; at least one character.
    pub length_bytes: usize,
}

/// Reads the emoji at the start of `text`; `None` when the first character cannot begin one.
///
/// Looks at each character of the sequence once, whatever comes out.
#[must_use]
pub fn parse_leading_emoji(text: &str) -> Option<LeadingEmojiSequence> {
    let first = text.chars().next()?;
    let keycap_follows = || text.get(1..).is_some_and(|rest| rest.starts_with([EMOJI_SELECTOR, KEYCAP]));
    if !may_begin(first) || (first.is_ascii() && !keycap_follows()) {
        return None;
    }
    let length_bytes = sequence_length(text, first);
    let written = text.get(..length_bytes)?;
    let bare: String = written.chars().filter(|&character| character != EMOJI_SELECTOR).collect();
    let one_character = bare.chars().nth(1).is_none();
    let emoji = spelled(&bare).filter(|emoji| {
        !one_character || emoji.presentation == EmojiPresentation::Emoji || written.contains(EMOJI_SELECTOR)
    });
    if emoji.is_none() && first.is_ascii() {
        return None;
    }
    Some(LeadingEmojiSequence { emoji, length_bytes })
}

/// A superset of the first characters of the table's emoji, cheap to test.
fn may_begin(first: char) -> bool {
    matches!(first,
        '0'..='9' | '#' | '*' | '\u{a9}' | '\u{ae}'
        | '\u{203c}'..='\u{2fff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

fn sequence_length(text: &str, first: char) -> usize {
    let mut rest = text.get(first.len_utf8()..).unwrap_or_default();
    if is_flag_letter(first) {
        if let Some(second) = rest.chars().next().filter(|&next| is_flag_letter(next)) {
            rest = after(rest, second);
        }
        return text.len() - rest.len();
    }
    rest = skip_modifiers(rest);
    while let Some(joined) = rest.strip_prefix(JOINER) {
        let Some(next) = joined.chars().next().filter(|&next| !next.is_ascii() && may_begin(next)) else {
            break;
        };
        rest = skip_modifiers(after(joined, next));
    }
    text.len() - rest.len()
}

fn skip_modifiers(text: &str) -> &str {
    text.trim_start_matches(
        |next| matches!(next, EMOJI_SELECTOR | KEYCAP | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}'),
    )
}

fn after(text: &str, first: char) -> &str {
    text.get(first.len_utf8()..).unwrap_or_default()
}

fn is_flag_letter(character: char) -> bool {
    matches!(character, '\u{1f1e6}'..='\u{1f1ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<&'static str> {
        parse_leading_emoji(text).and_then(|found| found.emoji).map(|emoji| emoji.name)
    }

    #[test]
    fn one_character_with_the_emoji_form_is_recognised() {
        assert_eq!(name("💩 and more"), Some("poop"));
        assert_eq!(parse_leading_emoji("💩 and more").map(|found| found.length_bytes), Some(4));
    }

    #[test]
    fn a_text_form_needs_the_selector() {
        assert_eq!(name("\u{2764}"), None);
        assert_eq!(name("\u{2764}\u{fe0f}"), Some("heart"));
        assert_eq!(name("\u{a9}"), None);
        assert_eq!(name("\u{2b06}\u{fe0f}"), Some("up"));
    }

    #[test]
    fn joined_characters_are_one_emoji_with_or_without_selectors() {
        assert_eq!(name("\u{1f937}\u{200d}\u{2640}\u{fe0f}"), Some("woman_shrugging"));
        assert_eq!(name("\u{1f937}\u{200d}\u{2640}"), Some("woman_shrugging"));
        assert_eq!(name("\u{1f441}\u{200d}\u{1f5e8}"), Some("eye_in_speech_bubble"));
        assert_eq!(name("#\u{fe0f}\u{20e3}"), Some("hash"));
        assert_eq!(name("\u{1f1eb}\u{1f1f7}\u{1f1eb}"), Some("flag_france"));
    }

    #[test]
    fn an_unknown_combination_stays_text_as_a_whole() {
        let toned = "\u{1f44d}\u{1f3fd}x";
        assert_eq!(parse_leading_emoji(toned).map(|found| (found.emoji, found.length_bytes)), Some((None, 8)));
        let violet = "\u{1f34b}\u{200d}\u{1f7ea}";
        assert_eq!(parse_leading_emoji(violet).map(|found| (found.emoji, found.length_bytes)), Some((None, 11)));
    }

    #[test]
    fn plain_digits_and_signs_are_not_emoji() {
        assert_eq!(parse_leading_emoji("1"), None);
        assert_eq!(parse_leading_emoji("#x"), None);
        assert_eq!(parse_leading_emoji("a"), None);
        assert_eq!(parse_leading_emoji(""), None);
    }
}
