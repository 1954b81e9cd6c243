//! Emoji by name, as characters, and of emoticons.

use crate::dialect::becomes;
use crate::realm::{html, with_emoticons};

/// The HTML of a Unicode emoji.
fn emoji(name: &str, code: &str) -> String {
    let spoken = name.replace('_', " ");
    format!(
        "<span aria-label=\"{spoken}\" class=\"emoji emoji-{code}\" role=\"img\" title=\"{spoken}\">:{name}:</span>"
    )
}

#[test]
fn emoji_are_written_by_name() {
    becomes(&[
        (":smile:", &format!("<p>{}</p>", emoji("smile", "1f642"))),
        (":+1: :thumbs_up:", &format!("<p>{} {}</p>", emoji("+1", "1f44d"), emoji("thumbs_up", "1f44d"))),
        (
            ":cat:hello:dog::rabbit:",
            &format!("<p>{}hello{}{}</p>", emoji("cat", "1f408"), emoji("dog", "1f415"), emoji("rabbit", "1f407")),
        ),
        (":unknown_one: :smile:", &format!("<p>:unknown_one: {}</p>", emoji("smile", "1f642"))),
        ("x::y::z 12:30 :)", "<p>x::y::z 12:30 :)</p>"),
        ("**:smile:**", &format!("<p><strong>{}</strong></p>", emoji("smile", "1f642"))),
        ("*:smiley*: :sm*iley*:", "<p><em>:smiley</em>: :sm<em>iley</em>:</p>"),
        (
            ":green_tick:",
            "<p><img alt=\":green_tick:\" class=\"emoji\" src=\"/user_avatars/2/emoji/images/1.png\" title=\"green tick\"></p>",
        ),
        (
            ":zulip:",
            "<p><img alt=\":zulip:\" class=\"emoji\" src=\"/static/generated/emoji/images/emoji/unicode/zulip.png\" title=\"zulip\"></p>",
        ),
        (":evil:", "<p>:evil:</p>"),
    ]);
}

#[test]
fn emoji_are_written_as_characters() {
    becomes(&[
        ("Extra👽Terrestrial", &format!("<p>Extra{}Terrestrial</p>", emoji("alien", "1f47d"))),
        ("💩💩", &format!("<p>{0}{0}</p>", emoji("poop", "1f4a9"))),
        ("\u{2b06}\u{fe0f} \u{2764}", &format!("<p>{} \u{2764}</p>", emoji("up", "2b06"))),
        ("\u{1f34b}\u{200d}\u{1f7e9}", &format!("<p>{}</p>", emoji("lime", "1f34b-200d-1f7e9"))),
        ("\u{1f34b}\u{200d}\u{1f7e5}", "<p>\u{1f34b}\u{200d}\u{1f7e5}</p>"),
    ]);
}

#[test]
fn emoticons_become_emoji_when_the_sender_wants_it() {
    let smile = emoji("smile", "1f642");
    for (text, expected) in [
        (":)", format!("<p>{smile}</p>")),
        (":) foo :( bar <3", format!("<p>{smile} foo {} bar {}</p>", emoji("frown", "1f641"), emoji("heart", "2764"))),
        ("a:) ;)b", "<p>a:) ;)b</p>".to_owned()),
        ("x\n:) y", format!("<p>x<br>\n{smile} y</p>")),
        ("this :).", format!("<p>this {smile}.</p>")),
        ("**b**:)", "<p><strong>b</strong>:)</p>".to_owned()),
        ("`:)`", "<p><code>:)</code></p>".to_owned()),
        ("http://a.b", "<p><a href=\"http://a.b\">http://a.b</a></p>".to_owned()),
    ] {
        assert_eq!(with_emoticons(text), expected, "{text:?}");
    }
    assert_eq!(html(":)"), "<p>:)</p>");
}
