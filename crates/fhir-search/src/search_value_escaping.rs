//! Separators in values, and the backslash that takes their meaning from them.
//!
//! # Source
//! FHIR R4, Search, Escaping Search Parameters.

/// Splits `text` at every `separator` without a backslash before it; escapes stay as they are.
#[must_use]
pub fn split_at_unescaped_separator(text: &str, separator: char) -> Vec<&str> {
    let mut escaped = false;
    let parts = text.split(move |c| {
        let separates = c == separator && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    });
    parts.collect()
}

/// Returns `text` without the backslashes that escape a separator (`,`, `|`, `$`) or a backslash.
#[must_use]
pub fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let meant = c == '\\' && characters.peek().is_some_and(|next| matches!(next, ',' | '|' | '$' | '\\'));
        plain.extend(if meant { characters.next() } else { Some(c) });
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_backslash_takes_the_meaning_of_a_separator() {
        assert_eq!(split_at_unescaped_separator(r"a,b\,c,,d", ','), ["a", r"b\,c", "", "d"]);
        assert_eq!(split_at_unescaped_separator(r"a\\,b", ','), [r"a\\", "b"]);
        assert_eq!(split_at_unescaped_separator("", ','), [""]);
        assert_eq!(unescape(r"a\,b\|c\$d\\e\f"), r"a,b|c$d\e\f");
        assert_eq!(unescape("\\"), "\\");
    }

    proptest! {
        #![proptest_config(fhir_resource::property_testing::seeded_proptest_config(300))]

        #[test]
        fn parts_joined_are_the_text(text in r"[a,\\|$é]{0,12}") {
            for separator in [',', '|', '$'] {
                let parts = split_at_unescaped_separator(&text, separator);
                prop_assert_eq!(parts.join(&separator.to_string()), text.as_str());
            }
        }

        #[test]
        fn an_escaped_text_is_one_part_and_reads_as_it_was(text in r"[a,\\|$é]{0,12}") {
            let mut escaped = String::new();
            for c in text.chars() {
                if matches!(c, ',' | '|' | '$' | '\\') {
                    escaped.push('\\');
                }
                escaped.push(c);
            }
            prop_assert_eq!(split_at_unescaped_separator(&escaped, ','), vec![escaped.as_str()]);
            prop_assert_eq!(unescape(&escaped), text);
        }
    }
}
