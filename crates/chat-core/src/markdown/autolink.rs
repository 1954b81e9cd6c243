//! URLs, domain names and e-mail addresses found in running text.
//!
//! # Source
//! `docs/decisions.md`, "Links and formulas in messages".

use super::limits::MAX_NESTED_URL_PARENTHESES;
use super::tld;
use super::url::SafeUrl;

/// What may stand between a URL and the white space after it.
const PUNCTUATION: [char; 11] = ['!', ':', ';', '?', ')', ',', '.', '\'', '"', '>', '<'];

/// What an attempt found, and how many bytes it looked at to find it.
pub(super) struct Attempt {
    /// The length in bytes of the link text, and where it leads.
    pub(super) found: Option<(usize, SafeUrl)>,
    /// Bytes looked at.
    pub(super) cost: usize,
}

/// Returns whether a URL may follow `previous`.
pub(super) fn may_follow(previous: Option<char>) -> bool {
    previous.is_none_or(|previous| previous.is_whitespace() || "'\"(,:<".contains(previous))
}

/// Tries to read a link at the start of `text`.
pub(super) fn leading(text: &str) -> Attempt {
    let mut cost = 0;
    let found = read(text, &mut cost);
    Attempt { found, cost }
}

fn read(text: &str, cost: &mut usize) -> Option<(usize, SafeUrl)> {
    let scheme = scheme_length(text);
    if scheme > 0 {
        let host = run(text, scheme, ":@", cost);
        return (host > 0)
            .then(|| end_of_url(text, scheme + host, cost))?
            .filter(|&end| end > scheme)
            .and_then(|end| linked(text, end));
    }
    let name = run(text, 0, "+", cost);
    if name == 0 {
        return None;
    }
    if text.get(name..)?.starts_with('@') {
        let host = run(text, name + 1, "", cost);
        let end = end_of_url(text, name + 1 + host, cost).filter(|&end| end <= name + 1 + host)?;
        return linked(text, end).filter(|(_, url)| url.as_str().starts_with("mailto:"));
    }
    let host = text.get(..name)?.trim_end_matches('.');
    let (domain, last) = host.rsplit_once('.')?;
    let labels = !domain.split('.').any(str::is_empty) && !domain.contains('+');
    if !labels || !tld::is_known(last) {
        return None;
    }
    let end = end_of_url(text, host.len(), cost)?;
    (end >= host.len()).then(|| linked(text, end))?
}

fn linked(text: &str, end: usize) -> Option<(usize, SafeUrl)> {
    Some((end, SafeUrl::parse(text.get(..end)?)?))
}

fn scheme_length(text: &str) -> usize {
    ["http://", "https://"]
        .iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
        .map_or(0, |scheme| scheme.len())
}

/// Bytes from `from` that are letters, digits, `_`, `-`, `.` or of `extra`.
fn run(text: &str, from: usize, extra: &str, cost: &mut usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let length = rest
        .find(|character: char| {
            !(character.is_alphanumeric() || "_-.".contains(character) || extra.contains(character))
        })
        .unwrap_or(rest.len());
    *cost += length + 1;
    length
}

/// Returns where a URL ends whose host ends at `host_end`: before the punctuation that precedes the next white space,
/// with all parentheses of its path closed. `None` when something else follows.
fn end_of_url(text: &str, host_end: usize, cost: &mut usize) -> Option<usize> {
    let rest = text.get(host_end..)?;
    let word = rest.get(..rest.find(char::is_whitespace).unwrap_or(rest.len()))?;
    *cost += 2 * word.len();
    let trimmed = word.trim_end_matches(PUNCTUATION).len();
    if trimmed == 0 {
        let host = text.get(..host_end)?;
        return Some(host.trim_end_matches([':', '.']).len());
    }
    if !word.starts_with(['/', '?', '#']) {
        return None;
    }
    let mut depth = 0;
    for (at, character) in word.char_indices() {
        if at >= trimmed && depth == 0 {
            return Some(host_end + at);
        }
        match character {
            '"' => return None,
            '(' if depth == MAX_NESTED_URL_PARENTHESES => return None,
            ')' if depth == 0 => return None,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    (depth == 0).then_some(host_end + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(&str, String)> {
        let (length, url) = leading(text).found?;
        Some((text.get(..length)?, url.as_str().to_owned()))
    }

    fn length(text: &str) -> Option<&str> {
        found(text).map(|(length, _)| length)
    }

    #[test]
    fn a_url_ends_before_the_punctuation_after_it() {
        assert_eq!(length("https://t.co. Next"), Some("https://t.co"));
        assert_eq!(length("http://foo.com/blah_blah)"), Some("http://foo.com/blah_blah"));
        assert_eq!(length("http://supervisord.org/running.html:"), Some("http://supervisord.org/running.html"));
        assert_eq!(length("is.gd/foo/\""), Some("is.gd/foo/"));
        assert_eq!(length("foo.com?"), Some("foo.com"));
    }

    #[test]
    fn parentheses_in_a_path_come_in_pairs_up_to_six_deep() {
        assert_eq!(length("http://a.org/Each-way_(bet))"), Some("http://a.org/Each-way_(bet)"));
        let six = "https://a.com/(we_like_((t(d(o(___)o)o))o_nest_)_nest)_nest";
        assert_eq!(length(six), Some(six));
        assert_eq!(length("https://a.com/(we_like_((t(d(o(_(1(2)1)__)o)o))o_nest_)_nest)_nest"), None);
        assert_eq!(length("http://a.com/a)b"), None);
    }

    #[test]
    fn without_a_scheme_only_known_domains_count() {
        assert_eq!(found("example.com url"), Some(("example.com", "http://example.com".to_owned())));
        assert_eq!(length("views.py"), None);
        assert_eq!(length("readme.md"), None);
        assert_eq!(length("love...it"), None);
        assert_eq!(length("a.commandstuff()"), None);
        assert_eq!(length("foo.com/a::trollface::b"), Some("foo.com/a::trollface::b"));
        assert_eq!(length("host.com:8080"), None);
    }

    #[test]
    fn an_address_is_linked_unless_a_path_follows() {
        assert_eq!(found("a@b.com>"), Some(("a@b.com", "mailto:a@b.com".to_owned())));
        assert_eq!(length("a@b.com/foo"), None);
        assert_eq!(length("a@b"), None);
    }

    #[test]
    fn any_host_counts_after_a_scheme() {
        assert_eq!(length("http://localhost:9991/?show_debug=1"), Some("http://localhost:9991/?show_debug=1"));
        assert_eq!(length("http://leo@foo.com/my/file"), Some("http://leo@foo.com/my/file"));
        assert_eq!(length("http://"), None);
        assert_eq!(
            length("https://metacpan.org/module/Image::Resize::OpenCV"),
            Some("https://metacpan.org/module/Image::Resize::OpenCV")
        );
    }
}
