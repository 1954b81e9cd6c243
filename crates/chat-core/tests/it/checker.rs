//! A strict reader of what the renderer may write. It knows the allowed elements, attributes and addresses by
//! itself, so that a mistake in the renderer's own lists is found here.

use std::collections::BTreeSet;

const VOID: [&str; 3] = ["br", "hr", "img"];

/// Elements outside of formulas, with the attributes they may have.
const ELEMENTS: [(&str, &[&str]); 31] = [
    ("a", &["href", "title", "class", "data-stream-id"]),
    ("blockquote", &[]),
    ("br", &[]),
    ("code", &[]),
    ("del", &[]),
    ("div", &["class", "aria-hidden", "data-code-language"]),
    ("em", &[]),
    ("h1", &[]),
    ("h2", &[]),
    ("h3", &[]),
    ("h4", &[]),
    ("h5", &[]),
    ("h6", &[]),
    ("hr", &[]),
    (
        "img",
        &["alt", "class", "data-animated", "data-original-content-type", "data-original-dimensions", "src", "title"],
    ),
    ("li", &[]),
    ("ol", &["start"]),
    ("p", &[]),
    ("pre", &[]),
    ("span", &["aria-label", "class", "role", "title", "data-user-id", "data-user-group-id"]),
    ("strong", &[]),
    ("table", &[]),
    ("tbody", &[]),
    ("td", &["style"]),
    ("th", &["style"]),
    ("thead", &[]),
    ("time", &["datetime"]),
    ("tr", &[]),
    ("ul", &[]),
    ("audio", &["controls", "preload", "src", "title"]),
    ("video", &["preload", "src"]),
];

const CLASSES: [&str; 24] = [
    "message-link",
    "c1",
    "cm",
    "k",
    "kc",
    "m",
    "s",
    "codehilite",
    "emoji",
    "katex",
    "katex-display",
    "message_inline_image",
    "message_inline_video",
    "silent",
    "spoiler-block",
    "spoiler-content",
    "spoiler-header",
    "stream",
    "stream-topic",
    "tex-error",
    "timestamp-error",
    "topic-mention",
    "user-group-mention",
    "user-mention",
];

/// The elements formulas are made of, and words that no attribute of theirs may hold.
const FORMULA_ELEMENTS: &str = " span math semantics annotation mrow mi mn mo mtext ms mspace mfrac msup msub msubsup \
    mover munder munderover msqrt mroot mtable mtr mtd mstyle mpadded mphantom menclose mlabeledtr svg path line ";

/// Says what is wrong with the HTML.
pub(crate) fn check(html: &str) -> Result<(), String> {
    let mut reader = Reader { rest: html, open: Vec::new() };
    while !reader.rest.is_empty() {
        reader.step().map_err(|fault| format!("{fault} before {:?}", reader.rest.get(..80).unwrap_or(reader.rest)))?;
    }
    match reader.open.last() {
        Some(open) => Err(format!("<{open}> is not closed")),
        None => Ok(()),
    }
}

struct Reader<'h> {
    rest: &'h str,
    open: Vec<&'h str>,
}

impl<'h> Reader<'h> {
    fn step(&mut self) -> Result<(), String> {
        let Some(tag) = self.rest.strip_prefix('<') else {
            let end = self.rest.find('<').unwrap_or(self.rest.len());
            let text = &self.rest[..end];
            self.rest = &self.rest[end..];
            return if text.contains('>') { Err(format!("a bare > in {text:?}")) } else { references(text) };
        };
        let end = end_of_tag(tag)?;
        let inside = &tag[..end];
        self.rest = &tag[end + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            let open = self.open.pop();
            return if open == Some(name) { Ok(()) } else { Err(format!("</{name}> closes {open:?}")) };
        }
        let name = inside.split(' ').next().unwrap_or_default();
        let in_formula = self.in_formula();
        let seen = attributes(&inside[name.len()..])?;
        if in_formula {
            formula_element(name, &seen)?;
        } else {
            element(name, &seen)?;
        }
        if name == "a" && self.open.contains(&"a") {
            return Err("a link in a link".to_owned());
        }
        let frame = seen.iter().any(|(key, value)| *key == "class" && value.starts_with("katex"));
        if frame && !in_formula {
            return self.formula(name);
        }
        if !VOID.contains(&name) {
            self.open.push(name);
        }
        Ok(())
    }

    fn in_formula(&self) -> bool {
        self.open.first() == Some(&FORMULA)
    }

    /// Reads a whole formula with a reader of its own.
    fn formula(&mut self, name: &'h str) -> Result<(), String> {
        let mut inner = Reader { rest: self.rest, open: vec![FORMULA, name] };
        while inner.open.len() > 1 {
            if inner.rest.is_empty() {
                return Err("a formula does not end".to_owned());
            }
            inner.step()?;
        }
        self.rest = inner.rest;
        Ok(())
    }
}

const FORMULA: &str = "(formula)";

fn end_of_tag(tag: &str) -> Result<usize, String> {
    let mut quoted = false;
    for (at, character) in tag.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '<' => return Err("a < in a tag".to_owned()),
            '>' if !quoted => return Ok(at),
            '>' => return Err("a > in a value".to_owned()),
            _ => {}
        }
    }
    Err("a tag does not end".to_owned())
}

fn attributes(mut rest: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut seen = Vec::new();
    let mut names = BTreeSet::new();
    while !rest.is_empty() {
        // The only attribute that has no value.
        if let Some(after) = rest.strip_prefix(" controls") {
            seen.push(("controls", ""));
            rest = after;
            continue;
        }
        let (name, after) = rest
            .strip_prefix(' ')
            .and_then(|rest| rest.split_once("=\""))
            .ok_or_else(|| format!("no attribute: {rest:?}"))?;
        let (value, after) = after.split_once('"').ok_or("a value does not end")?;
        references(value)?;
        if !names.insert(name) {
            return Err(format!("{name} twice"));
        }
        seen.push((name, value));
        rest = after;
    }
    Ok(seen)
}

/// Every `&` begins a character reference.
fn references(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('&') {
        let rest = &text[at + 1..];
        let name = rest.split(';').next().filter(|name| name.len() < rest.len()).ok_or("a bare &")?;
        let body = name.strip_prefix('#').unwrap_or(name);
        if body.is_empty() || !body.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!("no character reference: &{name};"));
        }
    }
    Ok(())
}

fn element(name: &str, seen: &[(&str, &str)]) -> Result<(), String> {
    let allowed =
        ELEMENTS.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("<{name}> is not allowed"))?.1;
    for (key, value) in seen {
        if !allowed.contains(key) {
            return Err(format!("{key} is not allowed in <{name}>"));
        }
        let fine = match *key {
            "href" | "src" => address(value),
            "class" => value.split(' ').all(class),
            "style" => ["left", "center", "right"].iter().any(|side| *value == format!("text-align: {side};")),
            "start" | "data-stream-id" | "data-user-group-id" => value.bytes().all(|byte| byte.is_ascii_digit()),
            "data-user-id" => *value == "*" || value.bytes().all(|byte| byte.is_ascii_digit()),
            "aria-hidden" => *value == "true",
            "role" => *value == "img",
            _ => true,
        };
        if !fine {
            return Err(format!("{key}={value:?}"));
        }
    }
    Ok(())
}

fn class(class: &str) -> bool {
    let emoji = class
        .strip_prefix("emoji-")
        .is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f' | b'-')));
    emoji || CLASSES.contains(&class)
}

fn address(value: &str) -> bool {
    let value = value.replace("&amp;", "&").to_ascii_lowercase();
    let clean =
        !value.chars().any(|character| character.is_control() || character.is_whitespace() || character == '\\');
    let absolute = ["http://", "https://", "ftp://", "mailto:", "tel:", "sms:"]
        .iter()
        .any(|scheme| value.len() > scheme.len() && value.starts_with(scheme));
    let relative = (value.starts_with('/') && !value.starts_with("//"))
        || value.starts_with('#')
        || value.starts_with("user_uploads/");
    clean && (absolute || relative)
}

fn formula_element(name: &str, seen: &[(&str, &str)]) -> Result<(), String> {
    if !FORMULA_ELEMENTS.contains(&format!(" {name} ")) {
        return Err(format!("<{name}> is not allowed in a formula"));
    }
    for (key, value) in seen {
        let link = matches!(*key, "href" | "src" | "id" | "xlink:href") || key.starts_with("on");
        let space = *key == "xmlns" || *key == "encoding";
        let odd = !space && value.contains([':', '/', '(', '&', '\\']) && *key != "style";
        let style = *key == "style"
            && (value.contains(['(', '/', '&', '\\']) || value.contains("fixed") || value.contains("absolute"));
        if link || odd || style {
            return Err(format!("{key}={value:?} in a formula"));
        }
    }
    Ok(())
}

#[test]
fn the_checker_accepts_what_it_should() {
    for html in [
        "<p>a &amp; b<br>\n</p>",
        "<a href=\"http://a.b/?c&amp;d\">x</a>",
        "<p><span class=\"katex\"><span class=\"strut\"></span></span></p>",
    ] {
        assert_eq!(check(html), Ok(()), "{html}");
    }
}

#[test]
fn the_checker_refuses_what_it_should() {
    for html in [
        "<script>x</script>",
        "<p>",
        "</p>",
        "<p></b>",
        "<p onclick=\"x\"></p>",
        "<a href=\"javascript:x\">y</a>",
        "a & b",
        "a > b",
        "<a href=\"data:x\">y</a>",
        "<div class=\"modal\"></div>",
        "<td style=\"color: red;\"></td>",
        "<img src=\"x\">",
        "<p><em></p></em>",
        "<a href=\"http://a.b\"><a href=\"http://a.b\">x</a></a>",
        "<a href=\"//a.b\">x</a>",
        "<span class=\"katex\"><a href=\"/x\"></a></span>",
        "<span class=\"katex\"><span style=\"position:fixed;\"></span></span>",
        "<span class=\"strut\"></span>",
        "<p class=\"a\" class=\"b\"></p>",
        "<span class=\"katex\"></span><math></math>",
    ] {
        assert!(check(html).is_err(), "{html}");
    }
}
