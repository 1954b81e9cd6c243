//! Languages of code blocks: what people type after the fence, and the name clients show and highlight by.
//!
//! The names are those of Pygments' lexers, because clients look them up there. A word that no lexer has is shown as it
//! was typed.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use table::LANGUAGES;

static NAMES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    LANGUAGES.iter().flat_map(|(name, aliases)| aliases.split(' ').map(move |alias| (alias, *name))).collect()
});

/// Returns the name to show for what was typed; what was typed when it is no known language.
pub(super) fn shown(typed: &str) -> &str {
    NAMES.get(typed.to_ascii_lowercase().as_str()).copied().unwrap_or(typed)
}

/// Returns whether some word stands for this name.
#[cfg(test)]
pub(super) fn is_shown(name: &str) -> bool {
    LANGUAGES.iter().any(|(known, _)| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_stands_for_two_languages() {
        let words: usize = LANGUAGES.iter().map(|(_, aliases)| aliases.split(' ').count()).sum();
        assert_eq!(NAMES.len(), words);
    }

    #[test]
    fn a_language_is_shown_by_its_name_and_an_unknown_one_as_typed() {
        assert_eq!(shown("rs"), "Rust");
        assert_eq!(shown("LaTeX"), "TeX");
        assert_eq!(shown("invented"), "invented");
        assert_eq!(shown("html+django"), "HTML+Django/Jinja");
        assert_eq!(shown("JS+PHP"), "JavaScript+PHP");
        assert_eq!(shown("html+erb"), "RHTML");
        assert_eq!(shown("html+ng2"), "HTML + Angular2");
    }

    #[test]
    fn a_name_of_mixed_case_is_written_as_the_lexer_writes_it() {
        let cases = [
            ("vhdl", "vhdl"),
            ("v", "verilog"),
            ("SV", "systemverilog"),
            ("systemd", "Systemd"),
            ("nim", "Nimrod"),
            ("rconsole", "RConsole"),
            ("Fortran", "Fortran"),
            ("fortranfixed", "FortranFixed"),
            ("csh", "Tcsh"),
            ("dot", "Graphviz"),
            ("jade", "Pug"),
            ("as3", "ActionScript 3"),
            ("antlr-csharp", "ANTLR With C# Target"),
            ("js+ul4", "Javascript+UL4"),
            ("capnp", "Cap'n Proto"),
            ("diff", "Diff"),
            ("reg", "reg"),
            ("registry", "reg"),
            ("JSX", "JSX"),
            ("PEM", "ASCII armored"),
        ];
        for (typed, name) in cases {
            assert_eq!(shown(typed), name, "{typed}");
        }
    }

    #[test]
    fn a_word_that_no_lexer_has_is_shown_as_it_was_typed() {
        for typed in ["kt", "Svelte", "cURL", "pyi"] {
            assert_eq!(shown(typed), typed);
        }
    }
}
