//! What is typed and what is shown, construct by construct.

use crate::checker::check;
use crate::realm::{context, html, rendered};
use chat_core::id::{UserGroupId, UserId};
use chat_core::markdown::{self, ImagePreviews, MarkdownContext, WildcardMentionScope};

/// Compares each text with the HTML it must become.
pub(crate) fn becomes(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let html = html(text);
        assert_eq!(html, *expected, "{text:?}");
        assert_eq!(check(&html), Ok(()), "{text:?}");
    }
}

#[test]
fn paragraphs_are_apart_and_lines_are_broken() {
    becomes(&[
        ("", ""),
        ("one\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("one\r\ntwo", "<p>one<br>\ntwo</p>"),
        ("one  ", "<p>one  </p>"),
        ("  one", "<p>one</p>"),
        ("a\tb", "<p>a   b</p>"),
        ("it's \"so\" & <b>", "<p>it's \"so\" &amp; &lt;b&gt;</p>"),
        ("\\*x\\*", "<p>\\<em>x\\</em></p>"),
    ]);
}

#[test]
fn character_references_pass_and_nothing_else_does() {
    becomes(&[
        ("&lt;&nbsp;&amp;amp; &#x27; &#9; & &; &x y;", "<p>&lt;&nbsp;&amp;amp; &#x27; &#9; &amp; &amp;; &amp;x y;</p>"),
        ("`&nbsp;`", "<p><code>&amp;nbsp;</code></p>"),
    ]);
}

#[test]
fn headings_have_one_to_six_signs_and_a_space() {
    becomes(&[
        ("# One", "<h1>One</h1>"),
        ("######  Six ##", "<h6>Six</h6>"),
        ("####### Seven", "<p>####### Seven</p>"),
        ("#None", "<p>#None</p>"),
        ("text\n## Two\nmore", "<p>text</p>\n<h2>Two</h2>\n<p>more</p>"),
    ]);
}

#[test]
fn rules_are_three_signs() {
    becomes(&[
        ("---", "<hr>"),
        ("***", "<hr>"),
        ("* * *", "<hr>"),
        ("a\n---\nb", "<p>a</p>\n<hr>\n<p>b</p>"),
        ("--", "<p>--</p>"),
    ]);
}

#[test]
fn emphasis_is_of_stars_and_within_a_line() {
    becomes(&[
        ("*a b* is *c*", "<p><em>a b</em> is <em>c</em></p>"),
        ("**a b**", "<p><strong>a b</strong></p>"),
        ("***a***", "<p><strong><em>a</em></strong></p>"),
        ("**a *b* c** d", "<p><strong>a <em>b</em> c</strong> d</p>"),
        ("*a **b** c*", "<p><em>a <strong>b</strong> c</em></p>"),
        ("~~a b~~ and ~~ c ~~", "<p><del>a b</del> and <del> c </del></p>"),
        ("~~**a**~~ **~~b~~**", "<p><del><strong>a</strong></del> <strong><del>b</del></strong></p>"),
        ("_a_ __b__", "<p>_a_ __b__</p>"),
        ("const char *x = (char *)y", "<p>const char *x = (char *)y</p>"),
        ("**a\nb**", "<p>**a<br>\nb**</p>"),
        ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
        ("~a~ ~~~a~~~", "<p>~a~ ~~~a~~~</p>"),
        ("a **** b", "<p>a **** b</p>"),
    ]);
}

#[test]
fn code_in_a_line_keeps_what_is_typed() {
    becomes(&[
        ("`a` ``b ` c``", "<p><code>a</code> <code>b ` c</code></p>"),
        ("` outer ` ```    space    ```", "<p><code> outer </code> <code>    space    </code></p>"),
        (
            "`**a** :smile: @**King Hamlet** http://a.b $$x$$`",
            "<p><code>**a** :smile: @**King Hamlet** http://a.b $$x$$</code></p>",
        ),
        ("*a `b*` c*", "<p><em>a <code>b*</code> c</em></p>"),
        ("`a", "<p>`a</p>"),
    ]);
}

#[test]
fn fenced_code_is_framed_with_the_name_of_its_language() {
    let framed = |attribute: &str, code: &str| {
        format!("<div class=\"codehilite\"{attribute}><pre><span></span><code>{code}</code></pre></div>")
    };
    becomes(&[
        ("```\nx < \"1\" & 'a'\n```", &framed("", "x &lt; &quot;1&quot; &amp; &#39;a&#39;\n")),
        ("~~~~.python \nx  \n\ny\n~~~~", &framed(" data-code-language=\"Python\"", "x\n\ny\n")),
        ("``` py2\nx", &framed(" data-code-language=\"Python 2.x\"", "x\n")),
        (
            "```invented\"\nx\n```",
            "<p>```invented\"<br>\nx</p>\n<div class=\"codehilite\"><pre><span></span><code>\n</code></pre></div>",
        ),
        ("```invented\nx\n```", &framed(" data-code-language=\"invented\"", "x\n")),
        (
            "a\n```text\n*x*\n```\nb",
            &format!("<p>a</p>\n{}\n<p>b</p>", framed(" data-code-language=\"Text only\"", "*x*\n")),
        ),
        ("````\n```\n````", &framed("", "```\n")),
        ("    x\n      y\n\n    z\nb", &format!("{}\n<p>b</p>", framed("", "x\n  y\n\nz\n"))),
        ("```inline code```", "<p><code>inline code</code></p>"),
    ]);
}

#[test]
fn code_of_a_known_language_is_coloured() {
    becomes(&[(
        "```py\ndef f(x): # \"a\"\n    return '<b>' + 1\n```",
        "<div class=\"codehilite\" data-code-language=\"Python\"><pre><span></span><code><span class=\"k\">def</span> f(x): \
         <span class=\"c1\"># &quot;a&quot;</span>\n    <span class=\"k\">return</span> \
         <span class=\"s\">&#39;&lt;b&gt;&#39;</span> + <span class=\"m\">1</span>\n</code></pre></div>",
    )]);
}

#[test]
fn fenced_code_without_a_language_takes_that_of_the_realm() {
    let context = MarkdownContext { default_code_language: Some("rust"), ..context() };
    let html = |text| markdown::render_message(&markdown::parse_message(text, &context)).html;
    assert!(html("```\nx\n```").contains("data-code-language=\"Rust\""));
    assert!(html("```js\nx\n```").contains("data-code-language=\"JavaScript\""));
    assert!(!html("    x").contains("data-code-language"));
}

#[test]
fn quotes_are_of_signs_or_of_fences_and_nest() {
    becomes(&[
        ("> a\n> b", "<blockquote>\n<p>a<br>\nb</p>\n</blockquote>"),
        ("> a\nb", "<blockquote>\n<p>a<br>\nb</p>\n</blockquote>"),
        ("> a\n\n> b", "<blockquote>\n<p>a</p>\n</blockquote>\n<blockquote>\n<p>b</p>\n</blockquote>"),
        (">", "<p>&gt;</p>"),
        (">\n>\ntext", "<blockquote>\n<p>text</p>\n</blockquote>"),
        (">>>", "<blockquote>\n<blockquote>\n<p>&gt;</p>\n</blockquote>\n</blockquote>"),
        ("a\n> b\n\nc", "<p>a</p>\n<blockquote>\n<p>b</p>\n</blockquote>\n<p>c</p>"),
        (
            "a:\n```quote\nb **c**\n\nd\n```\ne",
            "<p>a:</p>\n<blockquote>\n<p>b <strong>c</strong></p>\n<p>d</p>\n</blockquote>\n<p>e</p>",
        ),
        (
            "~~~ quote\na\n> b\n```\nc\n```\n~~~",
            "<blockquote>\n<p>a</p>\n<blockquote>\n<p>b</p>\n</blockquote>\n<div class=\"codehilite\"><pre><span></span><code>c\n</code></pre></div>\n</blockquote>",
        ),
        ("```quote\n# a\n* b\n```", "<blockquote>\n<h1>a</h1>\n<ul>\n<li>b</li>\n</ul>\n</blockquote>"),
    ]);
}

#[test]
fn spoilers_have_a_header_or_none() {
    let spoiler = |header: &str, body: &str| {
        format!(
            "<div class=\"spoiler-block\"><div class=\"spoiler-header\">\n{header}</div>\
             <div class=\"spoiler-content\" aria-hidden=\"true\">\n{body}</div></div>"
        )
    };
    becomes(&[
        (
            "```spoiler The **end**\ncontent\n```\nafter",
            &format!("{}\n<p>after</p>", spoiler("<p>The <strong>end</strong></p>\n", "<p>content</p>\n")),
        ),
        ("```spoiler\ncontent\n```", &spoiler("", "<p>content</p>\n")),
        (
            "~~~quote\n```spoiler a\nb\n```\nc\n~~~",
            &format!("<blockquote>\n{}\n<p>c</p>\n</blockquote>", spoiler("<p>a</p>\n", "<p>b</p>\n")),
        ),
    ]);
}

#[test]
fn lists_hang_off_a_line_and_nest_by_two_spaces() {
    becomes(&[
        ("a\n* b\n* c", "<p>a</p>\n<ul>\n<li>b</li>\n<li>c</li>\n</ul>"),
        ("* a\n- b\n+ c", "<ul>\n<li>a</li>\n<li>b</li>\n<li>c</li>\n</ul>"),
        ("* a\n  * b\n  * c\n* d", "<ul>\n<li>a<ul>\n<li>b</li>\n<li>c</li>\n</ul>\n</li>\n<li>d</li>\n</ul>"),
        (
            "1. a\n  2. b\n    3. c\n  2. d\n2. e",
            "<ol>\n<li>a<ol start=\"2\">\n<li>b<ol start=\"3\">\n<li>c</li>\n</ol>\n</li>\n<li>d</li>\n</ol>\n</li>\n<li>e</li>\n</ol>",
        ),
        ("5. a\n5. b", "<ol start=\"5\">\n<li>a</li>\n<li>b</li>\n</ol>"),
        ("* a\n  more", "<ul>\n<li>a<br>\n  more</li>\n</ul>"),
        ("* a\n\n* b\n\nafter", "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n<p>after</p>"),
        (
            "* a \n  * b\n\n    more\n    of b",
            "<ul>\n<li>a <ul>\n<li>\n<p>b</p>\n<p>more<br>\nof b</p>\n</li>\n</ul>\n</li>\n</ul>",
        ),
        (
            "1. a\n\n1. b\nmore\n1. c",
            "<ol>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b<br>\nmore</p>\n</li>\n<li>\n<p>c</p>\n</li>\n</ol>",
        ),
        ("on the\n12. of May", "<p>on the<br>\n12. of May</p>"),
        ("2) a", "<p>2) a</p>"),
        ("* a\n1. b", "<ul>\n<li>a</li>\n</ul>\n<ol>\n<li>b</li>\n</ol>"),
        (
            "a:\n\n    1. b\n    2. c",
            "<p>a:</p>\n<div class=\"codehilite\"><pre><span></span><code>1. b\n2. c\n</code></pre></div>",
        ),
        ("* a\n> b", "<ul>\n<li>a<blockquote>\n<p>b</p>\n</blockquote>\n</li>\n</ul>"),
    ]);
}

#[test]
fn an_item_is_a_paragraph_when_what_is_nested_in_it_is_apart_from_its_text() {
    becomes(&[
        // Without a blank line: a list of the other kind, and a list after a second line.
        ("* a\n  1. b", "<ul>\n<li>\n<p>a</p>\n<ol>\n<li>b</li>\n</ol>\n</li>\n</ul>"),
        ("1. a\n  * b\n  * c", "<ol>\n<li>\n<p>a</p>\n<ul>\n<li>b</li>\n<li>c</li>\n</ul>\n</li>\n</ol>"),
        ("1. a\n  * b\n2. c", "<ol>\n<li>\n<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n</li>\n<li>\n<p>c</p>\n</li>\n</ol>"),
        ("* a\nmore\n  * b", "<ul>\n<li>\n<p>a<br>\nmore</p>\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>"),
        // With one.
        ("* a\n\n  * b", "<ul>\n<li>\n<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>"),
        (
            "* a\n  * b\n\n  * c",
            "<ul>\n<li>\n<p>a</p>\n<ul>\n<li>\n<p>b</p>\n</li>\n<li>\n<p>c</p>\n</li>\n</ul>\n</li>\n</ul>",
        ),
        ("* a\n  * b\n\n* c", "<ul>\n<li>\n<p>a</p>\n<ul>\n<li>b</li>\n</ul>\n</li>\n<li>\n<p>c</p>\n</li>\n</ul>"),
    ]);
}

#[test]
fn a_blank_line_before_a_nested_item_nests_what_follows_until_the_next() {
    becomes(&[
        (
            "* a\n\n  * b\n* c\n\n* d",
            "<ul>\n<li>\n<p>a</p>\n<ul>\n<li>b</li>\n<li>c</li>\n</ul>\n</li>\n<li>\n<p>d</p>\n</li>\n</ul>",
        ),
        (
            "* a\n  * b\n\n    * c\n* d",
            "<ul>\n<li>a<ul>\n<li>\n<p>b</p>\n<ul>\n<li>c</li>\n<li>d</li>\n</ul>\n</li>\n</ul>\n</li>\n</ul>",
        ),
    ]);
}

#[test]
fn tables_have_a_header_a_rule_and_rows() {
    let head = "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n";
    becomes(&[
        (
            "a | b\n-- | --\n1 | `|` *x*",
            &format!("{head}<tr>\n<td>1</td>\n<td><code>|</code> <em>x</em></td>\n</tr>\n</tbody>\n</table>"),
        ),
        ("|a|b|\n|-|-|\n|1|", &format!("{head}<tr>\n<td>1</td>\n<td></td>\n</tr>\n</tbody>\n</table>")),
        ("|a|b|\n|-|-|", &format!("{head}<tr>\n<td></td>\n<td></td>\n</tr>\n</tbody>\n</table>")),
        (
            "|a|b|c|\n|:-|:-:|-:|\n|1|2|3|4|",
            "<table>\n<thead>\n<tr>\n<th style=\"text-align: left;\">a</th>\n<th style=\"text-align: center;\">b</th>\n\
             <th style=\"text-align: right;\">c</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td style=\"text-align: left;\">1</td>\n\
             <td style=\"text-align: center;\">2</td>\n<td style=\"text-align: right;\">3</td>\n</tr>\n</tbody>\n</table>",
        ),
        ("x\n|a|b|\n|-|-|", "<p>x<br>\n|a|b|<br>\n|-|-|</p>"),
        ("a | b\n-- ", "<p>a | b<br>\n-- </p>"),
        (
            "|a|\n|-|\n|\\||",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>|</td>\n</tr>\n</tbody>\n</table>",
        ),
    ]);
}

#[test]
fn a_table_with_far_more_cells_than_text_is_no_table() {
    let wide = "|a".repeat(300);
    let text = format!("{wide}\n{}\n{}", "|-".repeat(300), "x\n".repeat(300));
    assert!(!html(&text).contains("<table>"));
}

#[test]
fn users_are_mentioned_by_name_by_id_or_by_both() {
    let hamlet = "<span class=\"user-mention\" data-user-id=\"10\">@King Hamlet</span>";
    becomes(&[
        ("hi @**King Hamlet**!", &format!("<p>hi {hamlet}!</p>")),
        ("@**king hamlet**", &format!("<p>{hamlet}</p>")),
        ("@**King Hamlet|10** (@**|10**)", &format!("<p>{hamlet} ({hamlet})</p>")),
        (
            "@**Cordelia, Lear's daughter**",
            "<p><span class=\"user-mention\" data-user-id=\"11\">@Cordelia, Lear's daughter</span></p>",
        ),
        ("@**Twin|13**", "<p><span class=\"user-mention\" data-user-id=\"13\">@Twin</span></p>"),
        ("@**Twin**", "<p>@<strong>Twin</strong></p>"),
        ("@**King Hamlet|11**", "<p>@<strong>King Hamlet|11</strong></p>"),
        ("@**Nobody** @**|99** @**|x**", "<p>@<strong>Nobody</strong> @<strong>|99</strong> @<strong>|x</strong></p>"),
        ("a@**King Hamlet**", "<p>a@<strong>King Hamlet</strong></p>"),
        ("**@**King Hamlet****", "<p><strong>@</strong>King Hamlet****</p>"),
    ]);
    let loud = rendered("@**King Hamlet** @**Twin|12** @_**Cordelia, Lear's daughter**");
    assert_eq!(loud.mentioned_users.into_iter().collect::<Vec<_>>(), [UserId(10), UserId(12)]);
}

#[test]
fn silent_mentions_and_mentions_in_quotes_notify_nobody() {
    becomes(&[
        ("@_**King Hamlet**", "<p><span class=\"user-mention silent\" data-user-id=\"10\">King Hamlet</span></p>"),
        (
            "> @**King Hamlet**",
            "<blockquote>\n<p><span class=\"user-mention silent\" data-user-id=\"10\">King Hamlet</span></p>\n</blockquote>",
        ),
        ("@_**all**", "<p><span class=\"user-mention silent\" data-user-id=\"*\">all</span></p>"),
        ("@_**topic**", "<p><span class=\"topic-mention silent\">topic</span></p>"),
        ("@_*support*", "<p><span class=\"user-group-mention silent\" data-user-group-id=\"5\">Support</span></p>"),
    ]);
    for text in [
        "@_**King Hamlet** @_**all** @_**topic** @_*support*",
        "> @**King Hamlet** @**all** @**topic** @*support*",
        "```quote\n* @**King Hamlet**\n\n```spoiler\n@**all**\n```\n```",
        "`@**King Hamlet**`",
        "```\n@**all**\n```",
    ] {
        let rendered = rendered(text);
        assert!(rendered.mentioned_users.is_empty(), "{text}");
        assert!(rendered.mentioned_groups.is_empty(), "{text}");
        assert!(rendered.wildcards.is_empty(), "{text}");
    }
}

#[test]
fn wildcards_mention_the_channel_or_the_topic() {
    becomes(&[
        (
            "@**all** @**everyone**",
            "<p><span class=\"user-mention\" data-user-id=\"*\">@all</span> <span class=\"user-mention\" data-user-id=\"*\">@everyone</span></p>",
        ),
        ("@**topic**", "<p><span class=\"topic-mention\">@topic</span></p>"),
    ]);
    for (text, reach) in [
        ("@**all**", WildcardMentionScope::Channel),
        ("@**everyone**", WildcardMentionScope::Channel),
        ("@**channel**", WildcardMentionScope::Channel),
        ("@**stream**", WildcardMentionScope::Channel),
        ("@**topic**", WildcardMentionScope::Topic),
    ] {
        assert_eq!(rendered(text).wildcards.into_iter().collect::<Vec<_>>(), [reach], "{text}");
    }
    assert!(rendered("@all @**All**").wildcards.is_empty());
}

#[test]
fn groups_are_mentioned_without_regard_to_case_and_not_those_of_roles() {
    becomes(&[
        ("@*support*", "<p><span class=\"user-group-mention\" data-user-group-id=\"5\">@Support</span></p>"),
        ("@*role:members*", "<p>@<em>role:members</em></p>"),
        (
            "@_*role:members*",
            "<p><span class=\"user-group-mention silent\" data-user-group-id=\"6\">Members</span></p>",
        ),
        (
            "> @*role:members*",
            "<blockquote>\n<p><span class=\"user-group-mention silent\" data-user-group-id=\"6\">Members</span></p>\n</blockquote>",
        ),
        ("@*nobody*", "<p>@<em>nobody</em></p>"),
    ]);
    assert_eq!(rendered("@*support*").mentioned_groups.into_iter().collect::<Vec<_>>(), [UserGroupId(5)]);
}

#[test]
fn channels_and_topics_are_linked_by_exact_name() {
    becomes(&[
        (
            "#**Denmark**",
            "<p><a class=\"stream\" data-stream-id=\"3\" href=\"/#narrow/stream/3-Denmark\">#Denmark</a></p>",
        ),
        (
            "#**web & co.**",
            "<p><a class=\"stream\" data-stream-id=\"4\" href=\"/#narrow/stream/4-web-.26-co.2E\">#web &amp; co.</a></p>",
        ),
        ("#**Denmark>a b*", "<p>#**Denmark&gt;a b*</p>"),
        (
            "#**Denmark>a b/c?**",
            "<p><a class=\"stream-topic\" data-stream-id=\"3\" href=\"/#narrow/stream/3-Denmark/topic/a.20b.2Fc.3F\">#Denmark &gt; a b/c?</a></p>",
        ),
        (
            "#**Denmark>t@123**",
            "<p><a class=\"message-link\" href=\"/#narrow/stream/3-Denmark/topic/t/near/123\">#Denmark &gt; t @ 💬</a></p>",
        ),
        (
            "#**Denmark>t@12x**",
            "<p><a class=\"stream-topic\" data-stream-id=\"3\" href=\"/#narrow/stream/3-Denmark/topic/t.4012x\">#Denmark &gt; t@12x</a></p>",
        ),
        (
            "#**Denmark>a@b@7**",
            "<p><a class=\"message-link\" href=\"/#narrow/stream/3-Denmark/topic/a.40b/near/7\">#Denmark &gt; a@b @ 💬</a></p>",
        ),
        (
            "#**Denmark>@7**",
            "<p><a class=\"stream-topic\" data-stream-id=\"3\" href=\"/#narrow/stream/3-Denmark/topic/.407\">#Denmark &gt; @7</a></p>",
        ),
        ("#**denmark**", "<p>#<strong>denmark</strong></p>"),
        ("#**None>x**", "<p>#<strong>None&gt;x</strong></p>"),
    ]);
}

#[test]
fn times_are_given_in_utc_and_shown_as_typed() {
    becomes(&[
        ("<time:Jun 5th 2017, 10:30PM>", "<p><time datetime=\"2017-06-05T22:30:00Z\">Jun 5th 2017, 10:30PM</time></p>"),
        ("at <time:1496701800>.", "<p>at <time datetime=\"2017-06-05T22:30:00Z\">1496701800</time>.</p>"),
        ("<time:<alert(1)>>", "<p><span class=\"timestamp-error\">Invalid time format: &lt;alert(1)</span>&gt;</p>"),
        ("<time:**x**>", "<p><span class=\"timestamp-error\">Invalid time format: **x**</span></p>"),
        ("<time:2017", "<p>&lt;time:2017</p>"),
    ]);
}

#[test]
fn formulas_are_set_or_called_wrong() {
    let formula = html("a $$x^2$$ b");
    assert!(formula.starts_with("<p>a <span class=\"katex\"><span class=\"katex-mathml\"><math"), "{formula}");
    assert!(formula.contains("<annotation encoding=\"application/x-tex\">x^2</annotation>"), "{formula}");
    assert!(formula.ends_with("</span> b</p>"), "{formula}");
    let block = html("```math\nx\n\ny\n```");
    assert_eq!(block.matches("<p><span class=\"katex-display\"><span class=\"katex\">").count(), 2, "{block}");
    for html in [formula, block, html("$$\\text{**a**}$$ $$<script>$$ ($$x \\approx 500\\$$$)")] {
        assert_eq!(check(&html), Ok(()));
        assert!(!html.contains("<strong>"));
    }
    becomes(&[
        ("$$\\badcmd{<b>}$$", "<p><span class=\"tex-error\">$$\\badcmd{&lt;b&gt;}$$</span></p>"),
        ("~~~math\n\\badcmd{'}\n~~~", "<p><span class=\"tex-error\">\\badcmd{&#x27;}</span></p>"),
        ("$$_$$ and $$$ or $$$$!", "<p>$$_$$ and $$$ or $$$$!</p>"),
        ("$$x\ny$$", "<p>$$x<br>\ny$$</p>"),
        ("$foo is$$ a$$b$$", "<p>$foo is$$ a$$b$$</p>"),
        ("`$$a$$`", "<p><code>$$a$$</code></p>"),
    ]);
}

#[test]
fn links_are_written_or_found() {
    becomes(&[
        ("[a *b*](http://c.d)", "<p><a href=\"http://c.d\">a <em>b</em></a></p>"),
        ("[a](http://c.d \"T & t\")", "<p><a href=\"http://c.d\" title=\"T &amp; t\">a</a></p>"),
        (
            "[](http://c.d) [ ](http://c.d)",
            "<p><a href=\"http://c.d\">http://c.d</a> <a href=\"http://c.d\">http://c.d</a></p>",
        ),
        (
            "[a](foo) [b](<http://x.y>) [c](a@b.de)",
            "<p><a href=\"http://foo\">a</a> <a href=\"http://x.y\">b</a> <a href=\"mailto:a@b.de\">c</a></p>",
        ),
        ("**[a](http://c.d/(e))**", "<p><strong><a href=\"http://c.d/(e)\">a</a></strong></p>"),
        (
            "[a [b]](http://c.d) [x `]` y](http://c.d)",
            "<p><a href=\"http://c.d\">a [b]</a> <a href=\"http://c.d\">x <code>]</code> y</a></p>",
        ),
        ("[http://a.b #12](http://c.d)", "<p><a href=\"http://c.d\">http://a.b #12</a></p>"),
        ("[a](http://chat.test/#narrow/stream/1-x)", "<p><a href=\"#narrow/stream/1-x\">a</a></p>"),
        ("![a](http://c.d)", "<p>!<a href=\"http://c.d\">a</a></p>"),
        ("[a]\n\n[a]: http://c.d", "<p>[a]</p>\n<p>[a]: <a href=\"http://c.d\">http://c.d</a></p>"),
        (
            "see example.com, or (www.a.org/b).",
            "<p>see <a href=\"http://example.com\">example.com</a>, or (<a href=\"http://www.a.org/b\">www.a.org/b</a>).</p>",
        ),
        (
            "a@b.com <a@b.com> a@b.com/c",
            "<p><a href=\"mailto:a@b.com\">a@b.com</a> &lt;<a href=\"mailto:a@b.com\">a@b.com</a>&gt; a@b.com/c</p>",
        ),
        (
            "foo.py http:/x https://a.b?c&d",
            "<p>foo.py http:/x <a href=\"https://a.b?c&amp;d\">https://a.b?c&amp;d</a></p>",
        ),
        ("~~http://a.b~~ x", "<p><del>http://a.b</del> x</p>"),
        ("~~a http://a.b b~~ x", "<p><del>a <a href=\"http://a.b\">http://a.b</a> b</del> x</p>"),
    ]);
}

#[test]
fn links_of_other_schemes_stay_text() {
    becomes(&[
        ("[a](javascript:b)", "<p>[a](javascript:b)</p>"),
        ("[a](javascript:b.com)", "<p>[a](javascript:<a href=\"http://b.com\">b.com</a>)</p>"),
        ("1 [](foo://) 3", "<p>1 [](foo://) 3</p>"),
        ("javascript://foo.com itms://a.com/b", "<p>javascript://foo.com itms://a.com/b</p>"),
    ]);
}

#[test]
fn linkifiers_make_links_of_plain_text_only() {
    becomes(&[
        (
            "see #123, x#123 and `#123`",
            "<p>see <a href=\"https://trac.example.com/ticket/123\">#123</a>, x#123 and <code>#123</code></p>",
        ),
        (
            "*PR-7* [#12](http://a.b)",
            "<p><em><a href=\"https://pulls.example.com/7\">PR-7</a></em> <a href=\"http://a.b\">#12</a></p>",
        ),
        ("http://a.b/#123", "<p><a href=\"http://a.b/#123\">http://a.b/#123</a></p>"),
    ]);
}

#[test]
fn a_message_of_the_third_person_is_one_paragraph() {
    assert!(rendered("/me waves").is_me_message);
    assert_eq!(html("/me waves"), "<p>/me waves</p>");
    for text in ["/me", "/mewaves", " /me waves", "/me waves\n\nand leaves", "/me\nwaves", "/me a\n* b"] {
        assert!(!rendered(text).is_me_message, "{text:?}");
    }
}

#[test]
fn pictures_of_the_realm_follow_the_text_that_links_them() {
    let picture = |address: &str, title: &str| {
        format!("<div class=\"message_inline_image\"><a href=\"{address}\"{title}><img src=\"{address}\"></a></div>")
    };
    let (first, second) = ("/user_uploads/2/a/f.jpg", "/user_uploads/2/b/g.png");
    let link = |address: &str, label: &str| format!("<a href=\"{address}\">{label}</a>");
    becomes(&[
        (
            "**[f.jpg](/user_uploads/2/a/f.jpg)** and [g](/user_uploads/2/b/g.png)",
            &format!(
                "<p><strong>{}</strong> and {}</p>\n{}{}",
                link(first, "f.jpg"),
                link(second, "g"),
                picture(first, " title=\"f.jpg\""),
                picture(second, " title=\"g\""),
            ),
        ),
        (
            "* [](/user_uploads/2/a/f.jpg)\n* [](/user_uploads/2/a/f.jpg)",
            &format!("<ul>\n<li>{0}{1}</li>\n<li>{0}</li>\n</ul>", link(first, first), picture(first, "")),
        ),
        ("> [](/user_uploads/2/a/f.jpg)", &format!("<blockquote>\n<p>{}</p>\n</blockquote>", link(first, first))),
        (
            "[](http://other.test/f.jpg)",
            &format!("<p>{}</p>", link("http://other.test/f.jpg", "http://other.test/f.jpg")),
        ),
        (
            "[](/user_uploads/2/a/f.pdf)",
            &format!("<p>{}</p>", link("/user_uploads/2/a/f.pdf", "/user_uploads/2/a/f.pdf")),
        ),
    ]);
    let many: String =
        (0..30).flat_map(|number| [format!("[](/user_uploads/2/{number}.png)"), " ".to_owned()]).collect();
    assert_eq!(html(&many).matches("<img").count(), markdown::limits::MAX_IMAGE_PREVIEWS);
    let context = MarkdownContext { image_previews: ImagePreviews::Hide, ..context() };
    let hidden = markdown::render_message(&markdown::parse_message("[](/user_uploads/2/a/f.jpg)", &context));
    assert!(!hidden.html.contains("<img") && hidden.has_image);
}

#[test]
fn an_uploaded_video_is_shown_below_its_link() {
    let video = "/user_uploads/2/a/clip.mp4";
    let shown = |title: &str| {
        format!(
            "<div class=\"message_inline_image message_inline_video\"><a href=\"{video}\"{title}>\
             <video preload=\"metadata\" src=\"{video}\"></video></a></div>"
        )
    };
    becomes(&[
        (
            "see [clip](/user_uploads/2/a/clip.mp4)",
            &format!("<p>see <a href=\"{video}\">clip</a></p>\n{}", shown(" title=\"clip\"")),
        ),
        ("[](/user_uploads/2/a/clip.mp4)", &format!("<p><a href=\"{video}\">{video}</a></p>\n{}", shown(""))),
        ("[x](http://other.test/clip.mp4)", "<p><a href=\"http://other.test/clip.mp4\">x</a></p>"),
    ]);
    assert!(html("[](/user_uploads/2/a/CLIP.WebM)").contains("<video"));
    assert!(!html("[](/user_uploads/2/a/clip.avi)").contains("<video"));
}

#[test]
fn a_channel_whose_name_has_the_sign_of_topics_is_linked() {
    becomes(&[
        (
            "#**a > b**",
            "<p><a class=\"stream\" data-stream-id=\"6\" href=\"/#narrow/stream/6-a-.3E-b\">#a &gt; b</a></p>",
        ),
        ("#**none>b**", "<p>#<strong>none&gt;b</strong></p>"),
    ]);
}

#[test]
fn blanks_at_the_ends_of_lines_stay() {
    becomes(&[
        ("test  ", "<p>test  </p>"),
        ("one  \ntwo   ", "<p>one  <br>\ntwo   </p>"),
        ("one \n\ntwo", "<p>one </p>\n<p>two</p>"),
    ]);
}

#[test]
fn what_a_message_links_is_known() {
    let plain = rendered("no link `http://a.b/c.png`");
    assert!(!plain.has_link() && !plain.has_image && !plain.has_attachment());
    let link = rendered("http://a.b/c");
    assert!(link.has_link() && !link.has_image && !link.has_attachment());
    let image = rendered("http://a.b/c.PNG?x");
    assert!(image.has_image && !image.has_attachment());
    let upload = rendered("[f.jpg](/user_uploads/2/ab/f.jpg) [x](http://chat.test/user_uploads/2/cd/x.pdf)");
    assert!(upload.has_link() && upload.has_image);
    assert_eq!(upload.attachments.into_iter().collect::<Vec<_>>(), ["2/ab/f.jpg", "2/cd/x.pdf"]);
    assert!(!rendered("http://other.test/user_uploads/2/ab/f.jpg").has_attachment());
}
