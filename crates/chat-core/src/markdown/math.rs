//! Formulas: TeX to the HTML and `MathML` that clients of this API read.
//!
//! The typesetter is a library that returns a string. It is not trusted: its output is read again element by
//! element, and only what is on the lists below is written, in an order of our own. The library is recursive, so
//! it runs on a thread with a stack of known size, and formulas are bounded in length and depth; a formula that
//! exceeds a limit, defines macros or makes the library fail is shown as its source in the same frame, which
//! clients know to read.

mod markup;

use super::limits::{MAX_FORMULA_BRACE_DEPTH, MAX_FORMULA_BYTES, MAX_FORMULAS_PER_MESSAGE, MAX_TOTAL_FORMULA_COST};
use super::tree::{Formula, FormulaStyle};
use katex::types::{StrictMode, StrictSetting};
use katex::{KatexContext, Settings};
pub(super) use markup::Markup;
use std::sync::LazyLock;
use std::thread;

/// Several times what the deepest formula within the limits needs in a build without optimisation. Only what is
/// used of it takes memory.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Lengths a formula may ask for, in em, so that it cannot cover its neighbours.
const MAX_SIZE_EM: f64 = 20.0;

/// Commands that give names to other commands: a few of them can make a short formula endlessly long.
const DEFINITIONS: [&str; 13] = [
    "\\def",
    "\\gdef",
    "\\edef",
    "\\xdef",
    "\\let",
    "\\futurelet",
    "\\global",
    "\\long",
    "\\newcommand",
    "\\renewcommand",
    "\\providecommand",
    "\\expandafter",
    "\\csname",
];

static TYPESETTER: LazyLock<KatexContext> = LazyLock::new(KatexContext::default);

/// What became of a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typeset {
    /// It can be shown.
    Markup(Markup),
    /// It is not TeX.
    Error,
}

/// Typesets the formulas of one message, in order.
pub(super) fn typeset(formulas: &[Formula]) -> Vec<Typeset> {
    let mut left = MAX_TOTAL_FORMULA_COST;
    let within_limits: Vec<bool> = formulas
        .iter()
        .enumerate()
        .map(|(at, formula)| {
            let after = left.checked_sub(cost(&formula.source));
            let fits = after.filter(|_| at < MAX_FORMULAS_PER_MESSAGE && is_plain(&formula.source));
            left = fits.unwrap_or(left);
            fits.is_some()
        })
        .collect();
    let all = || -> Vec<Typeset> {
        formulas
            .iter()
            .zip(&within_limits)
            .map(|(formula, &fits)| if fits { one(formula) } else { source(formula) })
            .collect()
    };
    if !within_limits.contains(&true) {
        return formulas.iter().map(source).collect();
    }
    let typeset = thread::scope(|scope| {
        let worker =
            thread::Builder::new().name("formulas".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, all).ok()?;
        worker.join().ok()
    });
    typeset.unwrap_or_else(|| formulas.iter().map(source).collect())
}

/// About the microseconds it takes; indices and commands are drawn as boxes within boxes.
fn cost(tex: &str) -> usize {
    tex.bytes().map(|byte| if b"\\_^'&".contains(&byte) { 20 } else { 2 }).sum()
}

fn is_plain(tex: &str) -> bool {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in tex.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    tex.len() <= MAX_FORMULA_BYTES
        && deepest <= MAX_FORMULA_BRACE_DEPTH
        && !DEFINITIONS.iter().any(|definition| tex.contains(definition))
}

fn one(formula: &Formula) -> Typeset {
    let settings = Settings::builder()
        .display_mode(formula.style == FormulaStyle::Display)
        .strict(StrictSetting::Mode(StrictMode::Ignore))
        .max_size(MAX_SIZE_EM)
        .build();
    match katex::render_to_string(&TYPESETTER, &formula.source, &settings) {
        Ok(html) => markup::checked(&repaired(&html)).map_or_else(|| source(formula), Typeset::Markup),
        Err(_) => Typeset::Error,
    }
}

/// How the library begins a named operator in `MathML`: with the command where its name should be.
const COMMAND: &str = "<mo>\\";
/// What applies a named operator to what follows it; nothing is drawn.
const APPLIES: &str = "<mo>\u{2061}</mo>";
/// A delimiter in the middle as the library writes it, with the sign for "divides"; before it stand the attributes, in
/// any order, with [`MIDDLE_SPACE`] among them.
const DIVIDES: &str = ">\u{2223}</mo>";
/// The bar that was typed, which stretches everywhere.
const BAR: &str = ">|</mo>";
/// The attribute of a delimiter in the middle.
const MIDDLE_SPACE: &str = "lspace=\"0.05em\"";
/// Elements whose first child has to be one element.
const WITH_BASE: [&str; 6] = ["<msub>", "<msup>", "<msubsup>", "<munder>", "<mover>", "<munderover>"];

/// Returns the `MathML` of the library with its two mistakes mended: names of operators and bars in the middle.
fn repaired(html: &str) -> String {
    let html = with_bars(html);
    let mut mended = String::with_capacity(html.len());
    let mut rest = html.as_str();
    while let Some((before, after)) = rest.split_once(COMMAND) {
        mended.push_str(before);
        let named = after.split_once("</mo>").filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphabetic()));
        let Some((name, following)) = named.filter(|(name, _)| !name.is_empty()) else {
            mended.push_str(COMMAND);
            rest = after;
            continue;
        };
        let is_base = WITH_BASE.iter().any(|element| mended.ends_with(element));
        let (begin, end) = if is_base { ("<mrow>", "</mrow>") } else { ("", "") };
        mended.extend([begin, "<mi>", name, "</mi>", APPLIES, end]);
        rest = following;
    }
    mended.push_str(rest);
    mended
}

fn with_bars(html: &str) -> String {
    let mut mended = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, after)) = rest.split_once(DIVIDES) {
        let is_middle = before.rsplit_once('<').is_some_and(|(_, tag)| tag.contains(MIDDLE_SPACE));
        mended.extend([before, if is_middle { BAR } else { DIVIDES }]);
        rest = after;
    }
    mended.push_str(rest);
    mended
}

fn source(formula: &Formula) -> Typeset {
    Typeset::Markup(markup::of_source(&formula.source, formula.style))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(source: &str, style: FormulaStyle) -> String {
        let formula = Formula { source: source.to_owned(), style };
        match typeset(&[formula]).pop() {
            Some(Typeset::Markup(markup)) => markup.as_str().to_owned(),
            _ => "error".to_owned(),
        }
    }

    #[test]
    fn a_formula_is_set_the_same_way_every_time() {
        let first = set("a^2 + \\oint_b \\frac{c}{d}", FormulaStyle::Inline);
        for _ in 0..20 {
            assert_eq!(set("a^2 + \\oint_b \\frac{c}{d}", FormulaStyle::Inline), first);
        }
        assert!(first.starts_with(
            "<span class=\"katex\"><span class=\"katex-mathml\"><math xmlns=\"http://www.w3.org/1998/Math/MathML\"><semantics>"
        ), "{first}");
        assert!(first.contains("<annotation encoding=\"application/x-tex\">a^2 + "), "{first}");
        assert!(first.contains("</span><span class=\"katex-html\" aria-hidden=\"true\">"), "{first}");
    }

    #[test]
    fn a_delimiter_in_the_middle_is_set() {
        let html = set("\\left( a \\middle| \\frac{b}{c} \\right)", FormulaStyle::Inline);
        assert!(
            html.contains("rspace=\"0.05em\">|</mo>") && !html.contains('\u{2223}') && !html.contains("unknown"),
            "{html}"
        );
    }

    #[test]
    fn a_named_operator_is_a_word_in_mathml_and_not_a_command() {
        let html = set("\\lim_{x \\to 0} f + \\lim g + \\max(a) + \\sin x", FormulaStyle::Inline);
        for expected in [
            "<msub><mrow><mi>lim</mi><mo>\u{2061}</mo></mrow><mrow><mi>x</mi>",
            "<mo>+</mo><mi>lim</mi><mo>\u{2061}</mo><mi>g</mi>",
            "<mi>max</mi><mo>\u{2061}</mo><mo stretchy=\"false\">(</mo>",
            "<mi>sin</mi><mo>\u{2061}</mo><mi>x</mi>",
        ] {
            assert!(html.contains(expected), "{expected}: {html}");
        }
        assert!(!html.contains("<mo>\\"), "{html}");
    }

    #[test]
    fn a_displayed_formula_has_the_outer_frame() {
        let html = set("a", FormulaStyle::Display);
        assert!(html.starts_with("<span class=\"katex-display\"><span class=\"katex\">"), "{html}");
        assert!(html.contains("display=\"block\""), "{html}");
    }

    #[test]
    fn every_way_of_drawing_passes_the_check() {
        for tex in [
            "\\sqrt[3]{x}",
            "\\overbrace{abc}^{n}",
            "\\begin{pmatrix}a&b\\\\c&d\\end{pmatrix}",
            "\\color{red} x",
            "\\colorbox{#ff0}{y}",
            "\\left(\\frac{1}{2}\\right)",
            "\\vec{v}\\widehat{ab}",
            "\\boxed{x}",
            "\\rule{1em}{2em}",
            "\\begin{cases}a & b\\\\ c & d\\end{cases}",
            "\\mathbb{R}\\mathcal{L}\\mathfrak{g}",
            "\\sum_{i=1}^n i",
            "\\text{where } x",
            "\\xrightarrow{abc}",
            "\\cancel{x}",
            "\\underline{x}\\overline{y}",
            "x\\tag{1}",
            "\\int_0^1",
            "\\begin{array}{c|c}a&b\\\\\\hline c&d\\end{array}",
            "\\stackrel{!}{=}",
            "\\phantom{x}y",
            "\\operatorname{id}",
        ] {
            let html = set(tex, FormulaStyle::Display);
            assert!(!html.contains("base unknown") && html != "error", "{tex}: {html}");
        }
    }

    #[test]
    fn a_link_or_a_command_that_is_not_trusted_makes_no_link() {
        for tex in [
            "\\href{javascript:alert(1)}{x}",
            "\\url{http://a.b}",
            "\\includegraphics{http://a.b/c.png}",
            "\\htmlClass{x}{y}",
        ] {
            let html = set(tex, FormulaStyle::Inline);
            assert!(!html.contains("<a ") && !html.contains("<img") && !html.contains(" href="), "{html}");
        }
    }

    #[test]
    fn what_exceeds_a_limit_is_shown_as_its_source() {
        let deep = format!("{}x{}", "{".repeat(21), "}".repeat(21));
        let long = "x".repeat(MAX_FORMULA_BYTES + 1);
        for tex in [deep.as_str(), long.as_str(), "\\def\\a{\\a\\a}\\a"] {
            let html = set(tex, FormulaStyle::Inline);
            assert!(html.contains("base unknown"), "{html}");
            assert!(html.contains(&format!("<annotation encoding=\"application/x-tex\">{tex}</annotation>")));
        }
    }

    #[test]
    fn formulas_after_the_limit_of_the_message_are_shown_as_their_source() {
        let formulas: Vec<_> = (0..=MAX_FORMULAS_PER_MESSAGE)
            .map(|_| Formula { source: "x".to_owned(), style: FormulaStyle::Inline })
            .collect();
        let typeset = typeset(&formulas);
        let plain = |at: usize| match typeset.get(at) {
            Some(Typeset::Markup(markup)) => markup.as_str().contains("base unknown"),
            _ => false,
        };
        assert!(!plain(MAX_FORMULAS_PER_MESSAGE - 1));
        assert!(plain(MAX_FORMULAS_PER_MESSAGE));
    }

    #[test]
    fn what_is_no_tex_is_an_error() {
        assert_eq!(set("\\badcmd", FormulaStyle::Inline), "error");
        assert_eq!(set("{", FormulaStyle::Inline), "error");
    }

    #[test]
    fn the_deepest_formula_the_limits_allow_fits_the_stack() {
        for (open, close) in
            [("\\bf ", ""), ("\\left(", "\\right)"), ("\\begin{matrix}", "\\end{matrix}"), ("\\not ", "")]
        {
            let times = MAX_FORMULA_BYTES / (open.len() + close.len()) - 1;
            let tex = format!("{}x{}", open.repeat(times), close.repeat(times));
            assert!(!set(&tex, FormulaStyle::Display).is_empty());
        }
    }
}
