//! Characters that a name may not have: those of Unicode's category C, which no screen shows or which change the
//! direction of what stands beside them, so that one name passes for another.
//!
//! The joiner between two symbols is let through: it makes one emoji of several, and is seen by that.
//!
//! ```
//! use chat_core::text_processing::printable_names::find_unprintable_in_name;
//!
//! assert_eq!(find_unprintable_in_name("Ada Lovelace 👩‍💻"), None);
//! assert_eq!(find_unprintable_in_name("Ada\u{202e}ecalevoL"), Some(4));
//! ```

use unicode_general_category::{GeneralCategory, get_general_category};

/// Joins two symbols to one.
const JOINER: char = '\u{200d}';

/// Returns the position, from 1, of the first unprintable character in a name.
#[must_use]
pub fn find_unprintable_in_name(name: &str) -> Option<usize> {
    find(name, |_| false)
}

/// Returns the position, from 1, of the first unprintable character in a text, where line ends and tabs are allowed.
#[must_use]
pub fn find_unprintable_in_text(text: &str) -> Option<usize> {
    find(text, |character| matches!(character, '\n' | '\r' | '\t'))
}

fn find(text: &str, is_free: impl Fn(char) -> bool) -> Option<usize> {
    let mut before = None;
    let mut characters = text.chars().peekable();
    let mut place = 0;
    while let Some(character) = characters.next() {
        place += 1;
        let joins = character == JOINER
            && before.is_some_and(is_symbol)
            && characters.peek().is_some_and(|next| is_symbol(*next));
        if is_refused(character) && !joins && !is_free(character) {
            return Some(place);
        }
        before = Some(character);
    }
    None
}

fn is_refused(character: char) -> bool {
    matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Surrogate
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
    )
}

/// Returns whether it is a part of an emoji: a symbol, a tone of skin, or what asks for the colored form.
fn is_symbol(character: char) -> bool {
    let category = get_general_category(character);
    let is_tone = matches!(character, '\u{1f3fb}'..='\u{1f3ff}' | '\u{fe0f}');
    is_tone || category == GeneralCategory::OtherSymbol
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_category_c_stands_in_a_name() {
        for refused in [
            '\0',
            '\n',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{61c}',
            '\u{180e}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{e000}',
            '\u{fff9}',
            '\u{e0041}',
            '\u{378}',
            '\u{ffff}',
        ] {
            assert_eq!(find_unprintable_in_name(&format!("ä{refused}b")), Some(2), "{refused:?}");
        }
        for free in ["", "Ada Lovelace", "Zoë", "李雷", "मोहन", "O\u{2019}Neil", "a\u{301}", "✔ done", "🇨🇭"]
        {
            assert_eq!(find_unprintable_in_name(free), None, "{free}");
        }
    }

    #[test]
    fn a_joiner_stands_between_the_parts_of_an_emoji_alone() {
        for free in ["👩\u{200d}💻", "👨\u{1f3fd}\u{200d}🚀", "❤\u{fe0f}\u{200d}🔥"] {
            assert_eq!(find_unprintable_in_name(free), None, "{free}");
        }
        for refused in ["👩\u{200d}", "\u{200d}💻", "👩\u{200d}a", "a\u{200d}💻", "👩\u{200d}\u{200d}💻"] {
            assert!(find_unprintable_in_name(refused).is_some(), "{refused:?}");
        }
    }

    #[test]
    fn a_text_has_lines() {
        assert_eq!(find_unprintable_in_text("a\r\n\tb"), None);
        assert_eq!(find_unprintable_in_text("a\u{202e}"), Some(2));
    }
}
