//! Reading the typesetter's output again, and writing only what is known to be harmless.

use super::super::html::is_entity_name;
use super::super::tree::FormulaStyle;

const ELEMENTS: [&str; 28] = [
    "span",
    "math",
    "semantics",
    "annotation",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "ms",
    "mspace",
    "mfrac",
    "msup",
    "msub",
    "msubsup",
    "mover",
    "munder",
    "munderover",
    "msqrt",
    "mroot",
    "mtable",
    "mtr",
    "mtd",
    "mstyle",
    "mpadded",
    "mphantom",
    "menclose",
    "mlabeledtr",
];

/// Drawings; their elements need no end of their own.
const DRAWINGS: [&str; 3] = ["svg", "path", "line"];

/// Attributes in the order they are written.
const ATTRIBUTES: [&str; 47] = [
    "xmlns",
    "display",
    "encoding",
    "class",
    "style",
    "aria-hidden",
    "mathvariant",
    "mathsize",
    "mathcolor",
    "mathbackground",
    "fence",
    "form",
    "separator",
    "stretchy",
    "symmetric",
    "accent",
    "accentunder",
    "lspace",
    "rspace",
    "movablelimits",
    "minsize",
    "maxsize",
    "linethickness",
    "bevelled",
    "scriptlevel",
    "displaystyle",
    "rowspacing",
    "columnalign",
    "columnspacing",
    "columnlines",
    "rowlines",
    "side",
    "notation",
    "voffset",
    "width",
    "height",
    "depth",
    "viewBox",
    "preserveAspectRatio",
    "d",
    "x1",
    "x2",
    "y1",
    "y2",
    "stroke-width",
    "frame",
    "equalcolumns",
];

/// Style properties in the order they are written.
const PROPERTIES: [&str; 25] = [
    "height",
    "vertical-align",
    "top",
    "margin-left",
    "margin-right",
    "position",
    "width",
    "min-width",
    "bottom",
    "left",
    "color",
    "background-color",
    "border-color",
    "border-style",
    "border-width",
    "border-top-width",
    "border-right-width",
    "border-bottom-width",
    "border-left-width",
    "border-right-style",
    "padding-left",
    "padding-right",
    "margin-top",
    "margin",
    "text-shadow",
];

const NAMESPACES: [&str; 2] = ["http://www.w3.org/1998/Math/MathML", "http://www.w3.org/2000/svg"];

/// HTML of one formula, of which every element, attribute and style has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Markup(String);

impl Markup {
    pub(in super::super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the frame of a formula around its source.
///
/// The class `unknown` inside makes clients that lay formulas out themselves show the source.
pub(super) fn of_source(tex: &str, style: FormulaStyle) -> Markup {
    let mut source = String::with_capacity(tex.len());
    escape(tex, &mut source);
    let (before, display, after) = match style {
        FormulaStyle::Inline => ("", "", ""),
        FormulaStyle::Display => ("<span class=\"katex-display\">", " display=\"block\"", "</span>"),
    };
    Markup(format!(
        "{before}<span class=\"katex\"><span class=\"katex-mathml\">\
         <math xmlns=\"http://www.w3.org/1998/Math/MathML\"{display}><semantics><mrow><mtext>{source}</mtext></mrow>\
         <annotation encoding=\"application/x-tex\">{source}</annotation></semantics></math></span>\
         <span class=\"katex-html\" aria-hidden=\"true\"><span class=\"base unknown\">{source}</span></span></span>{after}"
    ))
}

/// The same markup with attributes and styles in a fixed order; `None` when anything in it is not on the lists.
pub(super) fn checked(html: &str) -> Option<Markup> {
    let mut out = String::with_capacity(html.len());
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while !rest.is_empty() {
        let tag_at = rest.find('<').unwrap_or(rest.len());
        let (text, tag) = rest.split_at(tag_at);
        copy_text(text, &mut out)?;
        let Some(tag) = tag.strip_prefix('<') else {
            break;
        };
        let (inside, after) = split_tag(tag)?;
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            (open.pop()? == name).then_some(())?;
            out.extend(["</", name, ">"]);
            continue;
        }
        let element = inside.trim_end_matches('/');
        let name = element.split(' ').next()?;
        start(name, element.get(name.len()..)?, &mut out)?;
        if element.len() == inside.len() {
            open.push(name);
        } else {
            out.extend(["</", name, ">"]);
        }
    }
    open.is_empty().then_some(Markup(out))
}

/// Returns the inside of a tag and what follows it; a `>` in a quoted value does not end it.
fn split_tag(tag: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let end = tag.find(|character| {
        quoted ^= character == '"';
        character == '>' && !quoted
    })?;
    Some((tag.get(..end)?, tag.get(end + 1..)?))
}

fn start(name: &str, attributes: &str, out: &mut String) -> Option<()> {
    (ELEMENTS.contains(&name) || DRAWINGS.contains(&name)).then_some(())?;
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut rest = attributes.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        let at = ATTRIBUTES.iter().position(|known| *known == key)?;
        found.push((at, attribute(key, value)?));
        rest = after.trim_start();
    }
    found.sort();
    out.extend(["<", name]);
    for (at, value) in &found {
        let key = ATTRIBUTES.get(*at)?;
        out.extend([" ", key, "=\"", value, "\""]);
    }
    out.push('>');
    Some(())
}

fn attribute(key: &str, value: &str) -> Option<String> {
    match key {
        "xmlns" => NAMESPACES.contains(&value).then(|| value.to_owned()),
        "encoding" => (value == "application/x-tex").then(|| value.to_owned()),
        "style" => style(value),
        _ => value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" -_.,#%+\n".contains(&byte))
            .then(|| value.to_owned()),
    }
}

fn style(value: &str) -> Option<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for declaration in value.split(';').filter(|declaration| !declaration.trim().is_empty()) {
        let (property, value) = declaration.split_once(':')?;
        let (property, value) = (property.trim(), value.trim());
        let at = PROPERTIES.iter().position(|known| *known == property)?;
        let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -.,#%+".contains(&byte));
        // `relative` moves a piece of a formula a little; any other position could leave the message.
        if !plain || (property == "position" && value != "relative") {
            return None;
        }
        found.push((at, format!("{property}:{value};")));
    }
    found.sort();
    Some(found.into_iter().map(|(_, declaration)| declaration).collect())
}

fn copy_text(text: &str, out: &mut String) -> Option<()> {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '>']) {
        let (before, found) = rest.split_at(at);
        let (name, after) = found.strip_prefix('&')?.split_once(';')?;
        is_entity_name(name).then_some(())?;
        out.extend([before, "&", name, ";"]);
        rest = after;
    }
    out.push_str(rest);
    Some(())
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\0' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_markup_passes_with_its_attributes_in_order() {
        let html = "<span style=\"margin-right:0.05em;top:-3em;\" class=\"a b\">x &amp; y<path d=\"M0 1z\"/></span>";
        let expected =
            "<span class=\"a b\" style=\"top:-3em;margin-right:0.05em;\">x &amp; y<path d=\"M0 1z\"></path></span>";
        assert_eq!(checked(html).map(|markup| markup.0).as_deref(), Some(expected));
    }

    #[test]
    fn anything_else_is_refused() {
        for html in [
            "<script>x</script>",
            "<span onclick=\"x\">x</span>",
            "<a href=\"x\">x</a>",
            "<span",
            "<span>",
            "</span>",
            "<span></math>",
            "<span style=\"background:url(x)\"></span>",
            "<span style=\"position:fixed\"></span>",
            "<span class=x></span>",
            "a > b",
            "a & b",
            "<img src=\"x\">",
            "<math xmlns=\"http://evil\"></math>",
            "<span class=\"a&quot;\"></span>",
            "<span class=\"é\"></span>",
            "<SPAN></SPAN>",
            "<span/onload=\"x\"/>",
        ] {
            assert_eq!(checked(html), None, "{html}");
        }
    }
}
