//! The work grows with the text and with nothing else.

use crate::realm::{context, html};
use chat_core::markdown;

/// Steps per byte of text that any text may cost. Ordinary prose costs about six.
const STEPS_PER_BYTE: u64 = 60;

/// Text made so that a careless reader looks at it again and again.
const REPEATED: [&str; 58] = [
    "[",
    "]",
    "[[",
    "](",
    "[a](",
    "[a]([",
    "[](",
    "(",
    "*",
    "**",
    "***",
    "****",
    "* a ",
    "*a ",
    "**a ",
    "a**",
    "~~",
    "~~a",
    "`",
    "``a`",
    "`` ` ",
    "$$",
    "$$a",
    "$a",
    "<",
    "<time:",
    "@**",
    "@**a",
    "@*a",
    "#**a",
    "#**a>",
    ":",
    ":a",
    ":a:",
    "&",
    "&a",
    "http://",
    "http://a.b/(",
    "http://a:",
    ",http://a.b/\"",
    "a.com/(,",
    "a@",
    "a.",
    "\"a.com/",
    ">",
    "> ",
    ">\n",
    "> > a\n",
    "* a\n",
    "* ",
    "  * a\n",
    "1. ",
    "```quote\n",
    "```spoiler a\n",
    "|",
    "a|b\n",
    "\u{1f468}\u{200d}",
    "\\",
];

fn work(text: &str) -> u64 {
    markdown::parse_message(text, &context()).parser_steps()
}

fn assert_linear(text: &str) {
    let bytes = u64::try_from(text.len()).expect("a length");
    let steps = work(text);
    let start: String = text.chars().take(40).collect();
    assert!(steps <= STEPS_PER_BYTE * (bytes + 16), "{steps} steps for {bytes} bytes of {start:?}");
}

#[test]
fn repeating_a_mark_does_not_make_it_dearer() {
    for piece in REPEATED {
        assert_linear(&piece.repeat(10_000 / piece.len()));
    }
}

#[test]
fn twice_the_text_is_at_most_about_twice_the_work() {
    for piece in REPEATED {
        let half = work(&piece.repeat(5_000 / piece.len()));
        let whole = work(&piece.repeat(10_000 / piece.len()));
        assert!(whole <= 3 * half + 1_000, "{half} and {whole} steps for {piece:?}");
    }
}

#[test]
fn closing_what_was_opened_many_times_does_not_make_it_dearer() {
    for (open, close) in [
        ("[", "](x)"),
        ("(", ")"),
        ("**", "**"),
        ("[a](", ")"),
        ("http://a.b/(", ")"),
        ("`", "`"),
        ("{", "}"),
        ("```quote\n", "\n```\n"),
    ] {
        let times = 10_000 / (open.len() + close.len());
        assert_linear(&format!("{}x{}", open.repeat(times), close.repeat(times)));
    }
}

#[test]
fn deep_nesting_ends_and_many_lines_under_it_are_not_read_at_every_depth() {
    let quotes = format!("{}\n{}", ">".repeat(5_000), "a\n".repeat(2_500));
    assert_linear(&quotes);
    assert!(html(&quotes).matches("<blockquote>").count() <= markdown::limits::MAX_BLOCK_NESTING_DEPTH);
    let list: String = (0..120).flat_map(|depth| ["  ".repeat(depth), "* a\n".to_owned()]).collect();
    assert_linear(&list);
    let fences = format!("{}a\n", "````quote\n~~~~spoiler\n".repeat(400));
    assert_linear(&fences);
    let below = format!("{}{}", "* a\n  * b\n    * c\n", "      d\n".repeat(1_200));
    assert_linear(&below);
}

#[test]
fn the_html_is_not_much_longer_than_the_text() {
    for piece in REPEATED {
        let text = piece.repeat(10_000 / piece.len());
        let html = html(&text);
        assert!(html.len() <= 60 * text.len() + 20_000, "{} bytes of HTML for {piece:?}", html.len());
    }
}

#[test]
fn ordinary_prose_costs_little() {
    let prose = "The **patient** in room 12 has seen @**King Hamlet**; see https://a.example/x and #**Denmark>ward**. :smile:\n\n";
    let text = prose.repeat(90);
    let bytes = u64::try_from(text.len()).expect("a length");
    assert!(work(&text) <= 12 * bytes, "{} steps for {bytes} bytes", work(&text));
}
