//! Text written to become something it must not.

use crate::checker::check;
use crate::payloads::PAYLOADS;
use crate::realm::{html, with_emoticons};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[test]
fn no_payload_becomes_more_than_text_and_allowed_elements() {
    for payload in PAYLOADS {
        for text in [
            payload.to_owned(),
            format!("> {payload}"),
            format!("* {payload}\n  * {payload}"),
            format!("**{payload}** *{payload}* ~~{payload}~~"),
            format!("[{payload}](http://a.b)"),
            format!("[a](http://a.b \"{payload}\")"),
            format!("`{payload}`"),
            format!("$${payload}$$"),
            format!("```spoiler {payload}\n{payload}\n```"),
            format!("``` {payload}\n{payload}"),
            format!("|{payload}|{payload}|\n|-|-|\n|{payload}|"),
            format!("#**Denmark>{payload}**"),
            format!("<time:{payload}>"),
        ] {
            let html = html(&text);
            assert_eq!(check(&html), Ok(()), "{text:?} became {html}");
        }
    }
}

/// Pieces that mean something, and pieces that break things apart.
const PIECES: [&str; 64] = [
    "*",
    "**",
    "***",
    "~~",
    "`",
    "``",
    "```",
    "~~~",
    "$$",
    "$",
    "[",
    "]",
    "(",
    ")",
    "](",
    "<",
    ">",
    "<time:",
    "@**",
    "@_**",
    "@*",
    "#**",
    "**\n",
    "|",
    "|-|-|\n",
    "\n",
    "\n\n",
    "    ",
    "  ",
    " ",
    "> ",
    ">",
    "* ",
    "1. ",
    "# ",
    "---\n",
    "```quote\n",
    "```spoiler x\n",
    "```math\n",
    "```js\n",
    "```\n",
    "http://",
    "https://a.b/",
    "example.com",
    "a@b.com",
    "javascript:",
    ":smile:",
    ":",
    ":)",
    "&lt;",
    "&",
    "\"",
    "'",
    "\\",
    "King Hamlet",
    "Denmark",
    "\u{1f468}\u{200d}",
    "\u{fe0f}",
    "\u{202e}",
    "é",
    "\0",
    "\t",
    "#123",
    "\\frac{a}{",
];

fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES.as_slice()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z]{1,6}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Pieces of TeX, whole and broken.
const TEX: [&str; 48] = [
    "x",
    "1",
    "+",
    "=",
    "^",
    "_",
    "{",
    "}",
    "\\frac",
    "\\sqrt",
    "[",
    "]",
    "\\left(",
    "\\right)",
    "\\begin{matrix}",
    "&",
    "\\\\",
    "\\end{matrix}",
    "\\color{red}",
    "\\text{",
    "\\rule{1em}{-9em}",
    "\\kern-99em",
    "\\raisebox{99em}{x}",
    "\\vec",
    "\\hat",
    "\\overbrace",
    "\\sum",
    "\\int",
    "\\limits",
    "\\alpha",
    "é",
    "<",
    ">",
    "\"",
    "'",
    "\\tag{1}",
    "\\href{x}{y}",
    "\\char`x",
    "\\mathbb",
    "\\not",
    "\\cancel",
    "\\boxed",
    "\\verb|<|",
    "\\u",
    "~",
    "%",
    "#1",
    "\\begin{array}{c|c}",
];

fn tex() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(TEX.as_slice()), 1..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_120), ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_of_marks_becomes_allowed_html(text in soup()) {
        let html = html(&text);
        prop_assert_eq!(check(&html), Ok(()), "{} became {}", text, html);
    }

    #[test]
    fn any_mixture_becomes_allowed_html_with_emoticons(text in soup()) {
        prop_assert_eq!(check(&with_emoticons(&text)), Ok(()));
    }

    #[test]
    fn code_in_any_language_becomes_allowed_html(
        language in prop::sample::select(vec!["rs", "py", "js", "c", "java", "go", "sh", "sql", "json", "yaml", "rb", "make", "lua"]),
        text in soup(),
    ) {
        prop_assert_eq!(check(&html(&format!("~~~~~{language}\n{text}\n~~~~~"))), Ok(()));
    }

    #[test]
    fn any_formula_becomes_allowed_html(tex in tex()) {
        let inline = html(&format!("$${tex}$$"));
        prop_assert_eq!(check(&inline), Ok(()), "{} became {}", tex, inline);
        let display = html(&format!("```math\n{tex}\n```"));
        prop_assert_eq!(check(&display), Ok(()), "{} became {}", tex, display);
    }

    #[test]
    fn any_text_at_all_becomes_allowed_html(text in any::<String>()) {
        prop_assert_eq!(check(&html(&text)), Ok(()));
    }

    #[test]
    fn a_text_is_read_the_same_way_every_time(text in soup()) {
        prop_assert_eq!(html(&text), html(&text));
    }
}
