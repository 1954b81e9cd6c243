//! Rendered messages as plain text, for places that show no markup.
//!
//! The text is made of the HTML, not of what was typed: names are resolved there, and what is hidden in a spoiler is
//! known to be.

/// What the text of an element becomes.
enum Kind {
    Plain,
    /// Nothing, because the element was replaced when it began.
    Dropped,
    /// Lines that begin with a sign.
    Quote,
    /// A list whose next item has this number.
    Numbered(u64),
    /// Its header alone.
    Spoiler,
    SpoilerHeader,
    /// What was typed as TeX alone.
    Formula,
    FormulaSource,
}

struct Open<'a> {
    tag: &'a str,
    kind: Kind,
    text: String,
    /// The part that stands for the whole: the header of a spoiler, the source of a formula.
    kept: String,
}

/// What stands for hidden text.
const HIDDEN: &str = "(…)";

/// Converts rendered HTML to plain text: without markup, emoji as characters, spoilers as their header and "(…)".
///
/// Takes the HTML of [`super::render`]; of other HTML it makes some text and takes as long.
///
/// ```
/// use chat_core::markdown::html_to_plain_text;
///
/// let html = "<p>Hi <span class=\"user-mention\" data-user-id=\"3\">@Ann</span>, <strong>now</strong> &amp; here</p>";
/// assert_eq!(html_to_plain_text(html), "Hi @Ann, now & here");
/// ```
#[must_use]
pub fn html_to_plain_text(html: &str) -> String {
    let mut open = vec![Open { tag: "", kind: Kind::Plain, text: String::new(), kept: String::new() }];
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        add(&mut open, &unescaped(text));
        let (tag, after) = split_tag(after);
        rest = after;
        match tag.strip_prefix('/') {
            Some(name) => close(&mut open, name.trim()),
            None => begin(&mut open, tag),
        }
    }
    add(&mut open, &unescaped(rest));
    while open.len() > 1 {
        close_last(&mut open);
    }
    let text = open.pop().map(|all| all.text).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// Returns what stands between `<` and `>`, which may be in an attribute's value too, and what follows.
fn split_tag(html: &str) -> (&str, &str) {
    let mut quote = None;
    for (place, letter) in html.char_indices() {
        match (quote, letter) {
            (None, '>') => {
                return html
                    .split_at_checked(place)
                    .map_or((html, ""), |(tag, rest)| (tag, rest.get(1..).unwrap_or_default()));
            }
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    (html, "")
}

fn begin<'a>(open: &mut Vec<Open<'a>>, tag: &'a str) {
    let name = tag.split([' ', '/']).next().unwrap_or_default();
    let class = attribute(tag, "class").unwrap_or_default();
    let has = |wanted: &str| class.split(' ').any(|class| class == wanted);
    let kind = match name {
        "img" => return add(open, &unescaped(attribute(tag, "alt").unwrap_or_default())),
        "br" | "hr" => return,
        "li" => {
            number(open);
            Kind::Plain
        }
        "ol" => Kind::Numbered(attribute(tag, "start").and_then(|start| start.parse().ok()).unwrap_or(1)),
        "blockquote" => Kind::Quote,
        "div" if has("spoiler-block") => Kind::Spoiler,
        "div" if has("spoiler-header") => Kind::SpoilerHeader,
        "span" if has("emoji") => match class.split(' ').find_map(characters) {
            Some(emoji) => {
                add(open, &emoji);
                Kind::Dropped
            }
            None => Kind::Plain,
        },
        "span" if has("katex") => Kind::Formula,
        "annotation" => Kind::FormulaSource,
        _ => Kind::Plain,
    };
    if !tag.ends_with('/') {
        open.push(Open { tag: name, kind, text: String::new(), kept: String::new() });
    }
}

/// Writes the number of an item, where its list has numbers.
fn number(open: &mut [Open<'_>]) {
    let Some(list) = open.last_mut() else { return };
    if let Kind::Numbered(next) = &mut list.kind {
        let item = format!("{next}. ");
        *next = next.saturating_add(1);
        list.text.push_str(&item);
    }
}

fn add(open: &mut [Open<'_>], text: &str) {
    if let Some(last) = open.last_mut() {
        last.text.push_str(text);
    }
}

/// Closes the innermost element of that name, and what was left open in it.
fn close(open: &mut Vec<Open<'_>>, name: &str) {
    if let Some(place) = open.iter().rposition(|element| element.tag == name).filter(|place| *place > 0) {
        while open.len() > place {
            close_last(open);
        }
    }
}

fn close_last(open: &mut Vec<Open<'_>>) {
    let Some(Open { kind, text, kept, .. }) = open.pop() else { return };
    let shown = match kind {
        Kind::Plain | Kind::Numbered(_) => text,
        Kind::Dropped => String::new(),
        Kind::Quote => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines.flat_map(|line| ["> ", line, "\n"]).collect()
        }
        Kind::Spoiler => format!("{} {HIDDEN}\n", kept.trim()).trim_start().to_owned(),
        Kind::Formula => kept,
        Kind::SpoilerHeader => return keep(open, |kind| matches!(kind, Kind::Spoiler), text),
        Kind::FormulaSource => return keep(open, |kind| matches!(kind, Kind::Formula), text),
    };
    add(open, &shown);
}

/// Notes what stands for the innermost element of that kind.
fn keep(open: &mut [Open<'_>], is_meant: impl Fn(&Kind) -> bool, text: String) {
    if let Some(element) = open.iter_mut().rev().find(|element| is_meant(&element.kind)) {
        element.kept = text;
    }
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = tag.split_once(&format!(" {name}=\""))?;
    after.split_once('"').map(|(value, _)| value)
}

/// Returns the characters of an emoji, by its class: `emoji-1f937-200d-2640`.
fn characters(class: &str) -> Option<String> {
    let point = |hex: &str| u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
    class.strip_prefix("emoji-")?.split('-').map(point).collect()
}

/// The longest name or number between `&` and `;` that is read.
const ENTITY_MAX_BYTES: usize = 10;

fn unescaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        shown.push_str(before);
        let named = after.split_once(';').filter(|(name, _)| name.len() <= ENTITY_MAX_BYTES);
        let (letter, after) = named.and_then(|(name, after)| Some((entity(name)?, after))).unwrap_or(('&', after));
        shown.push(letter);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let point = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(point).filter(|letter| !letter.is_control() || *letter == '\n')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::render_context::{RenderContext, RenderSettings};
    use crate::testing;

    fn shown(typed: &str) -> String {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let render_context = RenderContext::from_realm(&realm);
        let setting = RenderSettings {
            realm_url: "https://chat.example.org",
            render_context: &render_context,
            uploads: None,
            now_s: 0,
        };
        html_to_plain_text(&setting.render_message(&realm, realm.user(crate::id::UserId(3)).unwrap(), typed).html)
    }

    #[test]
    fn markup_is_gone_and_what_it_says_is_there() {
        for (typed, expected) in [
            ("**bold** *and* ~~gone~~ `a < b`", "bold and gone a < b"),
            ("[here](https://x.org/?a=1&b=2) & there", "here & there"),
            ("@**User 4** look, @_**User 3|3**", "@User 4 look, User 3"),
            (":smile: and :working_on_it:", "🙂 and 🛠"),
            ("one\ntwo\n\nthree", "one\ntwo\nthree"),
            ("> said\n> more\n\nmy answer", "> said\n> more\nmy answer"),
            ("3. third\n4. fourth", "3. third\n4. fourth"),
            ("* a\n* b", "a\nb"),
            ("so $$x^2 < 3$$ is", "so x^2 < 3 is"),
            ("```python\nif a < b:\n    pass\n```", "if a < b:\n    pass"),
            ("1 &lt; 2 <b>", "1 < 2 <b>"),
        ] {
            assert_eq!(shown(typed), expected, "{typed}");
        }
    }

    #[test]
    fn a_spoiler_shows_its_header_and_nothing_of_what_it_hides() {
        for (typed, expected) in [
            ("before\n```spoiler The *end*\nthe butler\n\n* did it\n```\nafter", "before\nThe end (…)\nafter"),
            ("```spoiler\nthe butler\n```", "(…)"),
            ("~~~spoiler out\n```spoiler in\nthe butler\n```\n~~~", "out (…)"),
        ] {
            assert_eq!(shown(typed), expected, "{typed}");
        }
    }

    #[test]
    fn other_html_becomes_some_text() {
        for html in ["<", "<p", "</p>", "<p>a</q></p>", "&", "&;", "&#xffffffff;", "<a href=\"<>\">x</a>", "<ol><li>"] {
            let _ = html_to_plain_text(html);
        }
        assert_eq!(html_to_plain_text("<a title=\"a > b\">x</a> &unknown; &#33;"), "x &unknown; !");
    }
}
