//! Text as the default comparison of strings takes it: without case and accents.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Returns `text` without case, accents and Unicode compatibility differences, as string searches compare it.
///
/// Upper and then lower case, because that makes one of what has one capital form (`ς` and `σ`, `ß` and
/// `ss`).
///
/// # Source
/// FHIR R4, Search, string: "after both have been normalized by case and accent".
#[must_use]
pub fn fold_case_and_accents(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let bare = text.nfkd().filter(|c| !is_combining_mark(*c));
    bare.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_make_no_difference() {
        for (left, right) in [
            ("Müller", "MULLER"),
            ("Straße", "STRASSE"),
            ("É", "e\u{301}"),
            ("Σίσυφος", "ΣΙΣΥΦΟΣ"),
            ("İzmir", "izmir"),
            ("ﬁ", "FI"),
            ("Å", "a"),
        ] {
            assert_eq!(fold_case_and_accents(left), fold_case_and_accents(right), "{left} {right}");
        }
        assert_ne!(fold_case_and_accents("Muller"), fold_case_and_accents("Mueller"));
    }

    #[test]
    fn what_is_folded_stays_as_it_is() {
        for text in ["Müller", "Straße", "İ", "ŉ", "日本", "ϒ\u{301}"] {
            assert_eq!(fold_case_and_accents(&fold_case_and_accents(text)), fold_case_and_accents(text), "{text}");
        }
    }
}
