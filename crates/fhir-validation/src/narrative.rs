//! The text of a narrative.
//!
//! Looked at as a stream of tags and not parsed: that it is one `div` of allowed elements with something in it,
//! without anything that runs. That its tags are balanced is not judged.
//!
//! # Source
//! FHIR R4, Narrative: txt-1 and txt-2.

/// The elements of a narrative.
const ELEMENTS: [&str; 53] = [
    "a",
    "abbr",
    "acronym",
    "b",
    "big",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "q",
    "samp",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "tt",
    "ul",
    "var",
    "dir",
    "ins",
    "del",
    "kbd",
    "u",
];

/// Returns whether a text is the `div` of a narrative.
pub(crate) fn is_narrative(text: &str) -> bool {
    let text = text.trim();
    let opens = text.strip_prefix("<div").is_some_and(|rest| rest.starts_with([' ', '\n', '\r', '\t', '>']));
    opens && text.ends_with("</div>") && has_content(text)
}

/// Returns whether every tag is allowed and something stands between them.
fn has_content(text: &str) -> bool {
    let mut has_content = false;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        has_content |= !before.trim().is_empty();
        let Some(tag) = Tag::read(after) else { return false };
        if !tag.is_allowed() {
            return false;
        }
        has_content |= tag.name == "img";
        rest = tag.rest;
    }
    has_content && rest.is_empty()
}

/// What a comment begins with.
const COMMENT: &str = "!--";

struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    rest: &'a str,
}

impl<'a> Tag<'a> {
    /// Returns what stands after a `<`; a comment is a tag of that name.
    fn read(after: &'a str) -> Option<Self> {
        if let Some(comment) = after.strip_prefix(COMMENT) {
            let (_, rest) = comment.split_once("-->")?;
            return Some(Self { name: COMMENT, attributes: "", rest });
        }
        let end = end_of_tag(after)?;
        let (tag, rest) = (after.get(..end)?, after.get(end + 1..)?);
        let tag = tag.strip_prefix('/').unwrap_or(tag);
        let tag = tag.strip_suffix('/').unwrap_or(tag);
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        Some(Self { name, attributes, rest })
    }

    fn is_allowed(&self) -> bool {
        let runs = |word: &str| {
            let word = word.trim_start();
            let is_event = word.len() > 2 && word.get(..2).is_some_and(|on| on.eq_ignore_ascii_case("on"));
            is_event && word.contains('=')
        };
        (self.name == COMMENT || ELEMENTS.contains(&self.name)) && !self.attributes.split_whitespace().any(runs)
    }
}

/// Returns where the `>` is that ends a tag: not one inside of an attribute's quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'>', None) => return Some(at),
            (b'<', None) => return None,
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::is_narrative;

    #[test]
    fn a_narrative_is_a_div_with_something_in_it() {
        for text in [
            "<div>a</div>",
            "<div xmlns=\"http://www.w3.org/1999/xhtml\"><p title=\"1 > 0\">a &lt; b<br/></p></div>",
            " <div\nxmlns='x'><img src=\"#a\"/></div>\n",
            "<div><!-- <script> --><b>a</b></div>",
        ] {
            assert!(is_narrative(text), "{text}");
        }
        for text in [
            "",
            "a",
            "<div></div>",
            "<div> <p></p></div>",
            "<div/>",
            "<p>a</p>",
            "<divx>a</div>",
            "<div>a",
            "<div>a</div",
            "<div><script>a</script></div>",
            "<div><p onclick=\"x\">a</p></div>",
            "<div><SCRIPT>a</div>",
            "<div>a < b</div>",
            "<div><p title=\"a</p></div>",
            "<div>a</div>b",
            "<div><iframe src='x'/>a</div>",
            "<div><!-- a</div>",
        ] {
            assert!(!is_narrative(text), "{text}");
        }
    }
}
