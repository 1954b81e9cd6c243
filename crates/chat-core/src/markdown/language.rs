//! Languages of code blocks: what people type after the fence, and the name clients show and highlight by.
//!
//! The names are those of Pygments' lexers, because clients look them up there.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The shown name, then what may be typed for it.
const LANGUAGES: &[(&str, &str)] = &[
    ("ABAP", "abap"),
    ("Ada", "ada ada95 ada2005"),
    ("APL", "apl"),
    ("AppleScript", "applescript"),
    ("Arduino", "arduino"),
    ("Awk", "awk gawk mawk nawk"),
    ("Bash", "bash sh ksh zsh shell openrc"),
    ("Bash Session", "console shell-session"),
    ("Batchfile", "batch bat dosbatch winbatch"),
    ("BibTeX", "bibtex bib"),
    ("Brainfuck", "brainfuck bf"),
    ("C", "c"),
    ("C#", "csharp c# cs"),
    ("C++", "cpp c++"),
    ("CMake", "cmake"),
    ("COBOL", "cobol"),
    ("CSS", "css"),
    ("Clojure", "clojure clj"),
    ("CoffeeScript", "coffeescript coffee-script coffee"),
    ("Common Lisp", "common-lisp cl lisp"),
    ("Coq", "coq"),
    ("Crystal", "cr crystal"),
    ("Cython", "cython pyx pyrex"),
    ("D", "d"),
    ("Dart", "dart"),
    ("Delphi", "delphi pas pascal objectpascal"),
    ("Diff", "diff udiff"),
    ("Django/Jinja", "django jinja"),
    ("Docker", "docker dockerfile"),
    ("Elixir", "elixir ex exs"),
    ("Elm", "elm"),
    ("EmacsLisp", "emacs-lisp elisp emacs"),
    ("Erlang", "erlang"),
    ("F#", "fsharp f#"),
    ("Fish", "fish fishshell"),
    ("Fortran", "fortran f90"),
    ("GLSL", "glsl"),
    ("Gherkin", "gherkin cucumber"),
    ("Gnuplot", "gnuplot"),
    ("Go", "go golang"),
    ("GraphQL", "graphql"),
    ("Groovy", "groovy"),
    ("HTML", "html"),
    ("HTTP", "http"),
    ("Haskell", "haskell hs"),
    ("Hy", "hylang hy"),
    ("INI", "ini cfg dosini"),
    ("Idris", "idris idr"),
    ("JSON", "json json-object"),
    ("JSON-LD", "jsonld json-ld"),
    ("Java", "java"),
    ("JavaScript", "javascript js"),
    ("Julia", "julia jl"),
    ("Kotlin", "kotlin kt"),
    ("LLVM", "llvm"),
    ("Lean", "lean lean3"),
    ("LessCss", "less"),
    ("Lua", "lua"),
    ("MIME", "mime"),
    ("Makefile", "make makefile mf bsdmake"),
    ("Markdown", "markdown md"),
    ("Mathematica", "mathematica mma nb"),
    ("Matlab", "matlab"),
    ("MySQL", "mysql"),
    ("NASM", "nasm"),
    ("Nginx configuration file", "nginx"),
    ("Nim", "nimrod nim"),
    ("Nix", "nixos nix"),
    ("OCaml", "ocaml"),
    ("Objective-C", "objective-c objectivec obj-c objc"),
    ("Octave", "octave"),
    ("PHP", "php php3 php4 php5"),
    ("PL/pgSQL", "plpgsql"),
    ("Perl", "perl pl"),
    ("PostgreSQL SQL dialect", "postgresql postgres"),
    ("PostgreSQL console (psql)", "psql postgresql-console postgres-console"),
    ("PowerShell", "powershell pwsh posh ps1 psm1"),
    ("Prolog", "prolog"),
    ("Properties", "properties jproperties"),
    ("Protocol Buffer", "protobuf proto"),
    ("Puppet", "puppet"),
    ("Python", "python py sage python3 py3 bazel starlark pyi"),
    ("Python 2.x", "python2 py2"),
    ("Python 2.x Traceback", "py2tb"),
    ("Python Traceback", "pytb py3tb"),
    ("Python console session", "pycon python-console"),
    ("QML", "qml qbs"),
    ("R", "rconsole rout"),
    ("RPMSpec", "spec"),
    ("Racket", "racket rkt"),
    ("Ruby", "ruby rb duby"),
    ("Rust", "rust rs"),
    ("S", "splus s r"),
    ("SCSS", "scss"),
    ("SPARQL", "sparql"),
    ("SQL", "sql"),
    ("Sass", "sass"),
    ("Scala", "scala"),
    ("Scheme", "scheme scm"),
    ("Smalltalk", "smalltalk squeak st"),
    ("Solidity", "solidity"),
    ("Standard ML", "sml"),
    ("Svelte", "svelte"),
    ("Swift", "swift"),
    ("SystemVerilog", "systemverilog sv"),
    ("TOML", "toml"),
    ("TeX", "tex latex"),
    ("Tcl", "tcl"),
    ("Terraform", "terraform tf hcl"),
    ("Text only", "text"),
    ("Transact-SQL", "tsql t-sql"),
    ("TypeScript", "typescript ts"),
    ("VB.net", "vb.net vbnet lobas oobas sobas visual-basic visualbasic"),
    ("VHDL", "vhdl"),
    ("Vala", "vala vapi"),
    ("Verilog", "verilog v"),
    ("VimL", "vim"),
    ("WebAssembly", "wast wat"),
    ("XML", "xml"),
    ("XSLT", "xslt"),
    ("YAML", "yaml"),
    ("Zig", "zig"),
    ("aspx-cs", "aspx-cs"),
    ("reStructuredText", "restructuredtext rst rest"),
    ("sqlite3con", "sqlite3"),
    ("systemd", "systemd"),
    ("cURL", "curl"),
];

static NAMES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    LANGUAGES.iter().flat_map(|(name, aliases)| aliases.split(' ').map(move |alias| (alias, *name))).collect()
});

/// The name to show for what was typed; what was typed when it is no known language.
pub(super) fn shown(typed: &str) -> &str {
    NAMES.get(typed.to_ascii_lowercase().as_str()).copied().unwrap_or(typed)
}

/// Whether some word stands for this name.
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
    }
}
