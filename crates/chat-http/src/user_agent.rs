//! What a `User-Agent` header says about the client.

use http::HeaderMap;
use http::header::USER_AGENT;

use crate::limits::CLIENT_NAME_MAX_CHARS;

/// The name of a client that does not say it.
const UNSPECIFIED: &str = "Unspecified";
/// The one name this server refuses to work with, for clients to test their own refusal with.
const INCOMPATIBLE: &str = "ZulipInvalid";

/// The name and version of a client program, parsed from its `User-Agent` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedUserAgent {
    /// What it calls itself; never empty.
    pub name: String,
    /// Its version, where it names one.
    pub version: Option<String>,
}

impl ParsedUserAgent {
    /// Parses the `User-Agent` of these headers.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let sent = headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
        sent.map_or_else(Self::unspecified, |text| Self::parse(&text))
    }

    /// Parses the text of a `User-Agent` header: the name is the first word, and each further one up to a digit, a
    /// slash or a parenthesis; the version follows a slash.
    ///
    /// # Source
    /// The existing server's rule, by which stored messages name their client.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let first = text.find(['/', ' ']).unwrap_or(text.len());
        let (word, rest) = text.split_at(first);
        let (more, after) = further_words(rest);
        let name = format!("{word}{more}").trim().to_owned();
        let version = after.strip_prefix('/').and_then(|tail| tail.split([' ', '/']).next());
        let version = version.filter(|version| !version.is_empty()).map(str::to_owned);
        if name.is_empty() { Self::unspecified() } else { Self { name, version } }
    }

    /// Returns whether the client is incompatible with this server.
    #[must_use]
    pub fn is_incompatible(&self) -> bool {
        self.name == INCOMPATIBLE
    }

    fn unspecified() -> Self {
        Self { name: UNSPECIFIED.to_owned(), version: None }
    }
}

/// A word that a digit or a parenthesis breaks off does not belong to the name at all.
fn further_words(rest: &str) -> (&str, &str) {
    let ends = |character: char| character.is_ascii_digit() || matches!(character, '/' | '(');
    let end = rest.find(ends).unwrap_or(rest.len());
    let (words, after) = rest.split_at(end);
    if after.is_empty() || after.starts_with('/') {
        return (words, after);
    }
    words.rfind(' ').map_or(("", rest), |space| rest.split_at(space))
}

/// Returns the name kept for a client: `named` when it is given, else the header's, cut to its limit.
#[must_use]
pub fn resolve_client_name(named: Option<&str>, agent: &ParsedUserAgent) -> String {
    named.unwrap_or(&agent.name).chars().take(CLIENT_NAME_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_first_word_and_what_follows_it_in_letters() {
        let cases = [
            ("ZulipPython/0.9.1", "ZulipPython", Some("0.9.1")),
            ("MyBot (Debian GNU/Linux; 12)", "MyBot", None),
            ("node-fetch/1.0 (+https://example.org)", "node-fetch", Some("1.0")),
            ("ZulipFlutter/30.0 (Android 14)", "ZulipFlutter", Some("30.0")),
            ("My Bot", "My Bot", None),
            ("My Bot/2 x", "My Bot", Some("2")),
            ("My Bot v2", "My Bot", None),
            ("Bot2000 (x)", "Bot2000", None),
            ("a/", "a", None),
            ("ZulipInvalid", "ZulipInvalid", None),
        ];
        for (header, name, version) in cases {
            let agent = ParsedUserAgent::parse(header);
            assert_eq!((agent.name.as_str(), agent.version.as_deref()), (name, version), "{header}");
        }
    }

    #[test]
    fn a_client_that_says_nothing_is_unspecified() {
        for header in ["", " ", "/", "/1.0", " (x)"] {
            assert_eq!(ParsedUserAgent::parse(header).name, "Unspecified", "{header}");
        }
        assert_eq!(ParsedUserAgent::from_headers(&HeaderMap::new()).name, "Unspecified");
    }

    #[test]
    fn one_name_alone_is_incompatible() {
        assert!(ParsedUserAgent::parse("ZulipInvalid/5.0").is_incompatible());
        for header in ["ZulipInvalidated/1", "zulipinvalid", "ZulipMobile/1"] {
            assert!(!ParsedUserAgent::parse(header).is_incompatible(), "{header}");
        }
    }

    #[test]
    fn the_callers_own_word_wins_and_is_cut() {
        let agent = ParsedUserAgent::parse("MyBot/1");
        assert_eq!(resolve_client_name(None, &agent), "MyBot");
        assert_eq!(resolve_client_name(Some("website"), &agent), "website");
        assert_eq!(resolve_client_name(Some(&"é".repeat(40)), &agent), "é".repeat(30));
    }
}
