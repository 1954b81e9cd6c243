//! The languages and what distinguishes their code.

use super::Kind;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A language, or several alike.
pub(super) struct Grammar {
    /// The names it is shown by.
    names: &'static [&'static str],
    pub(super) line_comments: &'static [&'static str],
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    /// Longer marks first.
    pub(super) quotes: &'static [Quote],
    case: Case,
    keywords: &'static str,
    constants: &'static str,
}

/// What a string stands between.
pub(super) struct Quote {
    pub(super) mark: &'static str,
    pub(super) spans_lines: bool,
    pub(super) escapes: bool,
}

/// Whether `IF` is `if`.
enum Case {
    Matters,
    Ignored,
}

const fn line(mark: &'static str) -> Quote {
    Quote { mark, spans_lines: false, escapes: true }
}

const fn lines(mark: &'static str) -> Quote {
    Quote { mark, spans_lines: true, escapes: true }
}

const fn raw(mark: &'static str) -> Quote {
    Quote { mark, spans_lines: true, escapes: false }
}

const SLASHES: &[&str] = &["//"];
const STARS: Option<(&str, &str)> = Some(("/*", "*/"));
const BOTH: &[Quote] = &[line("\""), line("'")];

/// A grammar and its words, ready to be looked up.
pub(super) struct Language {
    pub(super) grammar: &'static Grammar,
    words: HashMap<&'static str, Kind>,
}

impl Language {
    /// Returns what a word is in this language.
    pub(super) fn word(&self, word: &str) -> Option<Kind> {
        let word = match self.grammar.case {
            Case::Matters => Cow::Borrowed(word),
            Case::Ignored => Cow::Owned(word.to_ascii_lowercase()),
        };
        self.words.get(word.as_ref()).copied()
    }
}

static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    let kinds = |words: &'static str, kind| words.split_ascii_whitespace().map(move |word| (word, kind));
    GRAMMARS
        .iter()
        .map(|grammar| Language {
            grammar,
            words: kinds(grammar.keywords, Kind::Keyword).chain(kinds(grammar.constants, Kind::Constant)).collect(),
        })
        .collect()
});

/// Returns the language of that name.
pub(super) fn of(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.grammar.names.contains(&name))
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    GRAMMARS.iter().flat_map(|grammar| grammar.names.iter().copied())
}

static GRAMMARS: &[Grammar] = &[
    Grammar {
        names: &["Rust"],
        line_comments: SLASHES,
        block_comment: STARS,
        // A single quotation mark is as often a lifetime as a character.
        quotes: &[lines("\"")],
        case: Case::Matters,
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move \
            mut pub ref return self Self static struct super trait type unsafe use where while",
        constants: "true false",
    },
    Grammar {
        names: &["Python", "Python 2.x"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &[lines("\"\"\""), lines("'''"), line("\""), line("'")],
        case: Case::Matters,
        keywords: "and as assert async await break class continue def del elif else except finally for from global if import \
            in is lambda match nonlocal not or pass print raise return try while with yield",
        constants: "True False None",
    },
    Grammar {
        names: &["JavaScript", "TypeScript"],
        line_comments: SLASHES,
        block_comment: STARS,
        quotes: &[line("\""), line("'"), lines("`")],
        case: Case::Matters,
        keywords: "abstract as async await break case catch class const continue debugger declare default delete do else enum \
            export extends finally for from function get if implements import in instanceof interface keyof let namespace \
            new of private protected public readonly return set static super switch this throw try type typeof var void \
            while with yield",
        constants: "true false null undefined NaN Infinity",
    },
    Grammar {
        names: &["C", "C++", "Objective-C", "Arduino"],
        line_comments: SLASHES,
        block_comment: STARS,
        quotes: BOTH,
        case: Case::Matters,
        keywords: "alignas alignof auto bool break case catch char class const constexpr continue default delete do double \
            else enum explicit extern final float for friend goto if inline int long mutable namespace new noexcept \
            operator override private protected public register restrict return short signed sizeof static struct switch \
            template this throw try typedef typename union unsigned using virtual void volatile while",
        constants: "true false NULL nullptr",
    },
    Grammar {
        names: &["Java", "C#", "Kotlin", "Scala", "Dart", "Swift", "Groovy"],
        line_comments: SLASHES,
        block_comment: STARS,
        quotes: &[lines("\"\"\""), line("\""), line("'")],
        case: Case::Matters,
        keywords: "abstract actual as async await base boolean break byte case catch char class const continue data def default \
            defer deinit do double else enum extends extension factory final finally float for foreach fun func guard if \
            implements implicit import in init inline instanceof int interface internal is late lazy let library long \
            mixin namespace native new object of operator out override package part private protected protocol public \
            readonly record required return sealed short static string struct super suspend switch synchronized this \
            throw throws trait try type typealias using val var virtual void volatile when where while with yield",
        constants: "true false null nil",
    },
    Grammar {
        names: &["Go"],
        line_comments: SLASHES,
        block_comment: STARS,
        quotes: &[line("\""), line("'"), raw("`")],
        case: Case::Matters,
        keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map \
            package range return select struct switch type var",
        constants: "true false nil iota",
    },
    Grammar {
        names: &["Bash", "Fish"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &[lines("\""), raw("'")],
        case: Case::Matters,
        keywords: "alias break case cd continue do done echo elif else end esac eval exec exit export fi for function if in \
            local read return select set shift source then trap unset until while",
        constants: "true false",
    },
    Grammar {
        names: &["SQL", "MySQL", "PostgreSQL SQL dialect", "PL/pgSQL", "Transact-SQL", "sqlite3con"],
        line_comments: &["--"],
        block_comment: STARS,
        quotes: &[raw("'"), raw("\"")],
        case: Case::Ignored,
        keywords: "add all alter and as asc begin between by case cast check column commit conflict constraint create cross \
            declare default delete desc distinct do drop else end except exists explain foreign from full function grant \
            group having if in index inner insert intersect into is join key lateral left like limit lock natural not \
            nothing offset on or order outer over partition primary procedure references replace returning returns revoke \
            right rollback row rows schema select set table temporary then to transaction trigger truncate union unique \
            update using values view when where window with",
        constants: "true false null",
    },
    Grammar {
        names: &["JSON", "JSON-LD"],
        line_comments: &[],
        block_comment: None,
        quotes: &[line("\"")],
        case: Case::Matters,
        keywords: "",
        constants: "true false null",
    },
    Grammar {
        names: &["YAML", "TOML", "INI", "Properties", "Nginx configuration file", "Systemd"],
        line_comments: &["#", ";"],
        block_comment: None,
        quotes: &[line("\""), line("'")],
        case: Case::Matters,
        keywords: "",
        constants: "true false null yes no on off",
    },
    Grammar {
        names: &["Ruby", "Elixir", "Crystal"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &[lines("\"\"\""), lines("\""), lines("'")],
        case: Case::Matters,
        keywords: "alias and begin break case class cond def defmodule defp defstruct do else elsif end ensure fn for if import \
            in include module next not or raise receive redo require rescue retry return self super then undef unless \
            until use when while with yield",
        constants: "true false nil",
    },
    Grammar {
        names: &["Docker", "Makefile", "CMake", "Terraform"],
        line_comments: &["#"],
        block_comment: None,
        quotes: &[line("\"")],
        case: Case::Matters,
        keywords: "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL USER VOLUME WORKDIR define else endef \
            endif export ifdef ifeq ifndef ifneq include data for in locals module output provider resource variable",
        constants: "true false ON OFF",
    },
    Grammar {
        names: &["Lua", "Haskell", "Elm"],
        line_comments: &["--"],
        block_comment: None,
        quotes: &[line("\"")],
        case: Case::Matters,
        keywords: "and break case class data deriving do else elseif end exposing for function goto if import in infix infixl \
            infixr instance let local module newtype not of or repeat return then type until where while",
        constants: "true false nil True False",
    },
];
