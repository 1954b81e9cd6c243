//! Lines that open a fence: three or more backticks or tildes and what is inside them.

/// A line that opens a fence.
pub(super) struct Fence<'t> {
    /// The characters that close it, alone on a line.
    pub(super) mark: &'t str,
    pub(super) kind: Kind<'t>,
}

/// What a fence is around.
pub(super) enum Kind<'t> {
    Quote,
    Spoiler { header: &'t str },
    Math,
    Code { language: Option<&'t str> },
}

impl Kind<'_> {
    /// Returns whether what is inside is read as blocks.
    pub(super) fn nests(&self) -> bool {
        matches!(self, Self::Quote | Self::Spoiler { .. })
    }
}

/// Reads a line that opens a fence; it begins in the first column.
pub(super) fn opening(line: &str) -> Option<Fence<'_>> {
    let first = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let after = line.trim_start_matches(first);
    let mark = line.strip_suffix(after)?;
    if mark.len() < 3 || after.contains(['`', '~']) {
        return None;
    }
    let words = after.trim().trim_start_matches('{').trim_end_matches('}');
    let words = words.strip_prefix('.').unwrap_or(words);
    let (word, header) = words.split_once(' ').unwrap_or((words, ""));
    if !word.chars().all(is_language_character) {
        return None;
    }
    let kind = match word {
        "quote" => Kind::Quote,
        "spoiler" => Kind::Spoiler { header: header.trim() },
        "math" => Kind::Math,
        "" => Kind::Code { language: None },
        language => Kind::Code { language: Some(language) },
    };
    Some(Fence { mark, kind })
}

fn is_language_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_+-,./#".contains(character)
}
