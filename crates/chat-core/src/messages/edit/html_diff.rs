//! What an edit changed, shown in the HTML of the new text.
//!
//! Words are compared, not letters: a reader sees which words came and which went. What is shown is the new markup with
//! the words that went added as text; markup that went is left out, so the result is as well nested as the new text.

use std::ops::Range;

/// Pairs of words that are compared at most for all states of a message, after what is equal at both ends. What is left
/// is shown as changed as a whole.
pub(super) const PAIRS_MAX: usize = 4_000_000;

/// What stands around words that came.
const INSERTED: &str = "<span class=\"highlight_text_inserted\">";
/// What stands around words that went.
const DELETED: &str = "<span class=\"highlight_text_deleted\">";

/// Returns an HTML diff between two versions of a message's content.
///
/// # Source
/// Not specified; the classes and the element around it are those that existing clients style.
///
/// ```
/// use chat_core::messages::edit::html_diff;
///
/// assert_eq!(
///     html_diff("<p>one two</p>", "<p>one three</p>"),
///     "<div><p>one <span class=\"highlight_text_inserted\">three</span> \
///      <span class=\"highlight_text_deleted\">two</span></p></div>"
/// );
/// ```
#[must_use]
pub fn html_diff(before: &str, after: &str) -> String {
    html_diff_within(before, after, &mut { PAIRS_MAX })
}

/// As [`html_diff`], comparing `pairs` pairs of words at most, from which those that were compared are taken.
pub(super) fn html_diff_within(before: &str, after: &str, pairs: &mut usize) -> String {
    let (old, new) = (tokens(before), tokens(after));
    let mut html = String::with_capacity(after.len() + 64);
    html.push_str("<div>");
    let mut place = (0, 0);
    for (same_old, same_new) in matches(&old, &new, pairs) {
        changed(slice(&old, place.0..same_old), slice(&new, place.1..same_new), &mut html);
        html.push_str(new.get(same_new).copied().unwrap_or_default());
        place = (same_old + 1, same_new + 1);
    }
    changed(slice(&old, place.0..old.len()), slice(&new, place.1..new.len()), &mut html);
    html.push_str("</div>");
    html
}

/// Elements' starts and ends, and words, each with the blanks after it.
fn tokens(html: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = html;
    while let Some(first) = rest.chars().next() {
        let length = if first == '<' {
            rest.find('>').map_or(rest.len(), |end| end + 1)
        } else {
            let word = rest.find(|letter: char| letter == '<' || letter.is_whitespace()).unwrap_or(rest.len());
            let after = rest.get(word..).unwrap_or_default();
            word + after.len() - after.trim_start().len()
        };
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn is_tag(token: &str) -> bool {
    token.starts_with('<')
}

fn slice<'a, 'b>(tokens: &'a [&'b str], range: Range<usize>) -> &'a [&'b str] {
    tokens.get(range).unwrap_or_default()
}

/// Returns the places of what both have, in order: a longest common subsequence. Words that differ in the blanks after
/// them are equal.
fn matches(old: &[&str], new: &[&str], pairs: &mut usize) -> Vec<(usize, usize)> {
    let equal = |(old, new): (&&str, &&str)| old.trim_end() == new.trim_end();
    let head = old.iter().zip(new).take_while(|pair| equal(*pair)).count();
    let (old_rest, new_rest) = (slice(old, head..old.len()), slice(new, head..new.len()));
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|pair| equal(*pair)).count();
    let old_middle = slice(old_rest, 0..old_rest.len() - tail);
    let new_middle = slice(new_rest, 0..new_rest.len() - tail);
    let mut found: Vec<(usize, usize)> = (0..head).map(|place| (place, place)).collect();
    if let Some(left) = pairs.checked_sub(old_middle.len().saturating_mul(new_middle.len())) {
        *pairs = left;
        found.extend(common(old_middle, new_middle).into_iter().map(|(one, other)| (head + one, head + other)));
    }
    found.extend((0..tail).map(|place| (old.len() - tail + place, new.len() - tail + place)));
    found
}

/// A longest common subsequence of two short lists.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    // By the place in the old list and the place in the new: how much the rests have in common.
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let at = |lengths: &[u32], one: usize, other: usize| lengths.get(one * width + other).copied().unwrap_or_default();
    for (one, word) in old.iter().enumerate().rev() {
        for (other, new_word) in new.iter().enumerate().rev() {
            let length = if word.trim_end() == new_word.trim_end() {
                at(&lengths, one + 1, other + 1) + 1
            } else {
                at(&lengths, one + 1, other).max(at(&lengths, one, other + 1))
            };
            if let Some(cell) = lengths.get_mut(one * width + other) {
                *cell = length;
            }
        }
    }
    let (mut one, mut other, mut found) = (0, 0, Vec::new());
    while let (Some(word), Some(new_word)) = (old.get(one), new.get(other)) {
        if word.trim_end() == new_word.trim_end() {
            found.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if at(&lengths, one + 1, other) >= at(&lengths, one, other + 1) {
            one += 1;
        } else {
            other += 1;
        }
    }
    found
}

/// What came, with its markup, and then the words that went.
fn changed(old: &[&str], new: &[&str], html: &mut String) {
    for piece in new.chunk_by(|one, other| !is_tag(one) && !is_tag(other)) {
        match piece.first() {
            Some(tag) if is_tag(tag) => html.push_str(tag),
            _ => marked(INSERTED, &piece.concat(), html),
        }
    }
    let is_beside_words = new.last().is_some_and(|last| !is_tag(last) && last.trim_end().len() == last.len());
    if is_beside_words && old.iter().any(|token| !is_tag(token)) {
        html.push(' ');
    }
    let gone: String = old.iter().filter(|token| !is_tag(token)).copied().collect();
    marked(DELETED, &gone, html);
}

/// The blanks around the words stay outside.
fn marked(mark: &str, words: &str, html: &mut String) {
    let text = words.trim();
    if text.is_empty() {
        html.push_str(words);
        return;
    }
    let (before, after) = words.split_once(text).unwrap_or_default();
    html.extend([before, mark, text, "</span>", after]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(words: &str) -> String {
        format!("{INSERTED}{words}</span>")
    }

    fn gone(words: &str) -> String {
        format!("{DELETED}{words}</span>")
    }

    #[test]
    fn words_that_came_and_went_are_marked_and_the_rest_is_as_it_is() {
        for (before, after, expected) in [
            ("<p>same</p>", "<p>same</p>", "<p>same</p>".to_owned()),
            (
                "<p>content before edit</p>",
                "<p>content after edit</p>",
                format!("<p>content {} {} edit</p>", added("after"), gone("before")),
            ),
            ("<p>a</p>", "<p>a <strong>b c</strong></p>", format!("<p>a <strong>{}</strong></p>", added("b c"))),
            ("<p>a <em>b</em> c</p>", "<p>a c</p>", format!("<p>a {} c</p>", gone("b"))),
            ("<p>1 &lt; 2</p>", "<p>1 &gt; 2</p>", format!("<p>1 {} {} 2</p>", added("&gt;"), gone("&lt;"))),
            ("", "<p>x</p>", format!("<p>{}</p>", added("x"))),
            ("<p>x</p>", "", gone("x")),
            (
                "<p>one</p>\n<p>two</p>",
                "<p>one</p>\n<p>three</p>\n<p>two</p>",
                format!("<p>one</p>\n<p>{}</p>\n<p>two</p>", added("three")),
            ),
        ] {
            assert_eq!(html_diff(before, after), format!("<div>{expected}</div>"), "{before} -> {after}");
        }
    }

    #[test]
    fn a_difference_is_as_well_nested_as_the_new_text() {
        let before = "<ul>\n<li>one <a href=\"x\">two</a></li>\n</ul>";
        let after = "<p>two <em>three</em></p>\n<blockquote>\n<p>one</p>\n</blockquote>";
        let diff = html_diff(before, after);
        let mut open = Vec::new();
        for tag in tokens(&diff).into_iter().filter(|token| is_tag(token)) {
            match tag.strip_prefix("</") {
                Some(name) => assert_eq!(open.pop(), Some(name.trim_end_matches('>')), "{diff}"),
                None => open.push(tag.trim_start_matches('<').split([' ', '>']).next().unwrap()),
            }
        }
        assert!(open.is_empty(), "{diff}");
    }

    #[test]
    fn all_states_of_a_message_draw_from_one_limit() {
        let mut pairs = 5;
        assert_eq!(html_diff_within("a b", "c d", &mut pairs), html_diff("a b", "c d"));
        assert_eq!(pairs, 1);
        let whole = format!("<div>{} {}</div>", added("c b e"), gone("a b d"));
        assert_eq!(html_diff_within("a b d", "c b e", &mut pairs), whole);
        assert_eq!(pairs, 1);
    }

    #[test]
    fn texts_with_nothing_in_common_take_no_longer_than_the_limit() {
        let words =
            |letter: &str| (0..5_000).map(|number| format!("{letter}{number}")).collect::<Vec<_>>().join(" ") + " ";
        let (before, after) = (words("a"), words("b"));
        assert_eq!(html_diff(&before, &after), format!("<div>{} {} </div>", added(after.trim()), gone(before.trim())));
    }
}
